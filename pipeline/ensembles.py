"""Section `ensembles`: pairs of systems that translate together; without torch, so that the report can read it too."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from pipeline.params import Section
from pipeline.system import Name, System


def check_member(text: str) -> str:
    """The end of a system's id, behind its corpus and its vocabulary."""
    try:
        System.parse(f"corpus-vocabulary-{text}")
    except ValueError:
        raise ValueError(f"must be <model>-<size>[-<seed>], got {text!r}") from None
    return text


Member = Annotated[str, AfterValidator(check_member)]


class Pair(Section):
    """Two systems of one corpus and vocabulary that choose each piece together, by the mean of their probabilities."""

    corpus: Name  # one of `build.corpora`
    vocabulary: Name  # one of `build.vocabularies`
    first: Member  # `<model>-<size>`, with a further seed `<model>-<size>-<seed>`
    second: Member  # another one

    @property
    def systems(self) -> list[System]:
        """The two systems."""
        return [System.parse(f"{self.corpus}-{self.vocabulary}-{member}") for member in (self.first, self.second)]


class Ensembles(Section):
    """Section `ensembles`: what `dvc repro` translates and scores with two systems together."""

    pairs: dict[Name, Pair]  # by the name of each ensemble


def decoded_folder(name: str) -> Path:
    """The translations of an ensemble."""
    return Path("data/decode", name)


def metrics_file(name: str) -> Path:
    """The scores of an ensemble."""
    return Path("metrics", f"{name}.json")
