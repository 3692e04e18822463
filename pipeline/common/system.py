"""A system: one corpus, vocabulary, model, size and seed. Its id, its paths, and which are chosen."""

import itertools
import re
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from pydantic import AfterValidator, Field, PositiveInt, StringConstraints

from .params import NAME, Section

# The section of `build` that lists the values of each axis.
AXES = {"corpora": "corpus", "vocabularies": "vocabulary", "models": "model", "sizes": "size", "seeds": "seed"}

T = TypeVar("T", str, int)


class System(NamedTuple):
    """One combination of the five lists of `build`."""

    corpus: str
    vocabulary: str
    model: str
    size: str
    seed: int  # of the weights, the order of the data and dropout

    @classmethod
    def parse(cls, text: str) -> "System":
        """The system of an id.

        Raises: ValueError if the text is not an id.
        """
        *names, seed = text.split("-")
        named = len(names) == len(AXES) - 1 and all(re.fullmatch(NAME, name) for name in names)
        if not named or not re.fullmatch("[1-9][0-9]*", seed):
            raise ValueError(f"must be <{'>-<'.join(AXES.values())}>, got {text!r}")
        corpus, vocabulary, model, size = names
        return cls(corpus, vocabulary, model, size, int(seed))

    @property
    def id(self) -> str:
        """Its name everywhere: in DVC's stages, in the folders, in MLflow and in the report."""
        return "-".join(map(str, self))

    @property
    def axes(self) -> dict[str, str]:
        """The name of its value on each axis."""
        return dict(zip(AXES.values(), map(str, self), strict=True))

    def stage(self, name: str) -> str:
        """What DVC calls the stage `name` of this system."""
        return f"{name}@{self.id}"

    @property
    def split(self) -> Path:
        """Sentences of all parts."""
        return split_folder(self.corpus)

    @property
    def languages(self) -> Path:
        """The codes of the two languages."""
        return self.split / "languages.json"

    @property
    def split_summary(self) -> Path:
        """How many pairs each part has, and what was dropped."""
        return Path("data/split", f"{self.corpus}.json")

    @property
    def vocabulary_folder(self) -> Path:
        """The vocabulary, trained on the corpus."""
        return vocabulary_folder(self.corpus, self.vocabulary)

    @property
    def encoded(self) -> Path:
        """Ids of all parts."""
        return encoded_folder(self.corpus, self.vocabulary)

    @property
    def trained(self) -> Path:
        """The outputs of stage `train`: checkpoints, curves and a summary."""
        return Path("runs", self.id, "train")

    @property
    def training_summary(self) -> Path:
        """The summary of the finished training."""
        return self.trained / "training.json"

    @property
    def averaged(self) -> Path:
        """The averaged weights, and the list of their checkpoints."""
        return Path("runs", self.id, "average")

    @property
    def weights(self) -> Path:
        """The averaged weights."""
        return self.averaged / "model.safetensors"

    @property
    def decoded(self) -> Path:
        """Translations of the test parts."""
        return Path("data/decode", self.id)

    @property
    def scored(self) -> Path:
        """How the scores were computed, and scores by length."""
        return Path("data/score", self.id)

    @property
    def attended(self) -> Path:
        """Attention over some sentences of the test parts."""
        return Path("data/attend", self.id)

    @property
    def packaged(self) -> Path:
        """All that translation needs, in one folder."""
        return Path("models", self.id)

    @property
    def metrics(self) -> Path:
        """The scores."""
        return Path("metrics", f"{self.id}.json")


def corpus_file(corpus: str) -> Path:
    """The file that describes a corpus."""
    return Path("corpora", f"{corpus}.yaml")


def config_file(model: str) -> Path:
    """The file of the sizes of a model."""
    return Path("configs", f"{model}.yaml")


def split_folder(corpus: str) -> Path:
    """Sentences of all parts of a corpus."""
    return Path("data/split", corpus)


def vocabulary_folder(corpus: str, vocabulary: str) -> Path:
    """A vocabulary trained on a corpus."""
    return Path("data/vocabulary", f"{corpus}-{vocabulary}")


def encoded_folder(corpus: str, vocabulary: str) -> Path:
    """Ids of all parts of a corpus."""
    return Path("data/encode", f"{corpus}-{vocabulary}")


def each_once(names: list[T]) -> list[T]:
    """The names or seeds, checked to be different: otherwise two stages would write the same files."""
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"must name each once, got {', '.join(map(str, twice))} more than once")
    return names


Name = Annotated[str, StringConstraints(pattern=NAME)]
Names = Annotated[list[Name], Field(min_length=1), AfterValidator(each_once)]


class Build(Section):
    """Section `build`: `dvc repro` builds every combination of the five lists."""

    corpora: Names
    vocabularies: Names
    models: Names
    sizes: Names
    seeds: Annotated[list[PositiveInt], Field(min_length=1), AfterValidator(each_once)]

    def systems(self) -> list[System]:
        """Every combination, in the order of the lists, all of one seed together."""
        names = itertools.product(self.corpora, self.vocabularies, self.models, self.sizes)
        return [System(*name, seed) for seed, name in itertools.product(self.seeds, list(names))]
