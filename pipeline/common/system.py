"""A system: one corpus, vocabulary, model, size and seed. Its id, its paths, and which are chosen."""

import itertools
import re
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from pydantic import AfterValidator, Field, PositiveInt, StringConstraints

from .params import NAME, Section

# The section of `build` that lists the values of each axis.
AXES = {"corpora": "corpus", "vocabularies": "vocabulary", "models": "model", "sizes": "size", "seeds": "seed"}

# A package that a system starts from: in data/decode/<system> and data/score/<system>, and behind the size in reports.
BEFORE = "before"

T = TypeVar("T", str, int)

SPLIT = "data/split/{corpus}"
VOCABULARY, ENCODED = "data/vocabulary/{corpus}-{vocabulary}", "data/encode/{corpus}-{vocabulary}"


class SystemFields(NamedTuple):
    """The fields of a system."""

    corpus: str
    vocabulary: str
    model: str
    size: str
    seed: int  # of the weights, the order of the data and dropout


class Place:
    """A path of a system, whose id and names are filled in."""

    def __init__(self, template: str) -> None:
        self.template = template

    def __get__(self, system: "System", kind: type["System"]) -> Path:
        return Path(self.template.format(id=system.id, **system._asdict()))


class System(SystemFields):
    """One combination of the five lists of `build`."""

    split = Place(SPLIT)  # sentences of all parts
    languages = Place(f"{SPLIT}/languages.json")  # their codes
    split_summary = Place(f"{SPLIT}.json")  # how many pairs each part has, and what was dropped
    vocabulary_folder = Place(VOCABULARY)  # trained on the corpus
    encoded = Place(ENCODED)  # ids of all parts
    trained = Place("runs/{id}/train")  # checkpoints, curves and a summary
    training_summary = Place("runs/{id}/train/training.json")  # of the finished training
    averaged = Place("runs/{id}/average")  # the averaged weights, and the list of their checkpoints
    weights = Place("runs/{id}/average/model.safetensors")
    decoded = Place("data/decode/{id}")  # translations of the test parts
    scored = Place("data/score/{id}")  # how the scores were computed, and scores by length
    attended = Place("data/attend/{id}")  # attention over some sentences of the test parts
    packaged = Place("models/{id}")  # all that translation needs, in one folder
    metrics = Place("metrics/{id}.json")  # the scores

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


def corpus_file(corpus: str) -> Path:
    """The file that describes a corpus."""
    return Path("corpora", f"{corpus}.yaml")


def config_file(model: str) -> Path:
    """The file of the sizes of a model."""
    return Path("configs", f"{model}.yaml")


def split_folder(corpus: str) -> Path:
    """Sentences of all parts of a corpus."""
    return Path(SPLIT.format(corpus=corpus))


def vocabulary_folder(corpus: str, vocabulary: str) -> Path:
    """A vocabulary trained on a corpus."""
    return Path(VOCABULARY.format(corpus=corpus, vocabulary=vocabulary))


def encoded_folder(corpus: str, vocabulary: str) -> Path:
    """Ids of all parts of a corpus."""
    return Path(ENCODED.format(corpus=corpus, vocabulary=vocabulary))


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
