"""A system: one corpus, vocabulary, model and size. Its id, its paths, and which systems are chosen."""

import itertools
import re
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, StringConstraints

from pipeline.params import NAME, Section

# The section of `build` that lists the names of each axis.
AXES = {"corpora": "corpus", "vocabularies": "vocabulary", "models": "model", "sizes": "size"}


class System(NamedTuple):
    """One combination of the four lists of `build`."""

    corpus: str
    vocabulary: str
    model: str
    size: str

    @classmethod
    def parse(cls, text: str) -> "System":
        """The system of an id.

        Raises: ValueError if the text is not an id.
        """
        names = text.split("-")
        if len(names) != len(cls._fields) or not all(re.fullmatch(NAME, name) for name in names):
            raise ValueError(f"must be <{'>-<'.join(cls._fields)}>, got {text!r}")
        return cls(*names)

    @property
    def id(self) -> str:
        """Its name everywhere: in DVC's stages, in the folders, in MLflow and in the report."""
        return "-".join(self)

    @property
    def split(self) -> Path:
        """Sentences of all parts."""
        return split_folder(self.corpus)

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

    @property
    def log(self) -> Path:
        """Local logs of the stages that track."""
        return Path("work/logs", self.id)


def corpus_file(corpus: str) -> Path:
    """The file that describes a corpus."""
    return Path("corpora", f"{corpus}.yaml")


def split_folder(corpus: str) -> Path:
    """Sentences of all parts of a corpus."""
    return Path("data/split", corpus)


def targets_folder(corpus: str) -> Path:
    """Which target sentences a corpus is trained on: its own, and those of a teacher if it has one."""
    return Path("data/targets", corpus)


def distilled_folder(corpus: str) -> Path:
    """A teacher's translations of the training part of a corpus."""
    return targets_folder(corpus) / "distilled"


def vocabulary_folder(corpus: str, vocabulary: str) -> Path:
    """A vocabulary trained on a corpus."""
    return Path("data/vocabulary", f"{corpus}-{vocabulary}")


def encoded_folder(corpus: str, vocabulary: str) -> Path:
    """Ids of all parts of a corpus."""
    return Path("data/encode", f"{corpus}-{vocabulary}")


def each_once(names: list[str]) -> list[str]:
    """The names, checked to be different: otherwise two stages would write the same files."""
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"must name each once, got {', '.join(twice)} more than once")
    return names


Name = Annotated[str, StringConstraints(pattern=NAME)]
Names = Annotated[list[Name], Field(min_length=1), AfterValidator(each_once)]


class Build(Section):
    """Section `build`: `dvc repro` builds every combination of the four lists."""

    corpora: Names
    vocabularies: Names
    models: Names
    sizes: Names

    def systems(self) -> list[System]:
        """Every system chosen, in the order of the lists."""
        lists = self.corpora, self.vocabularies, self.models, self.sizes
        return [System(*names) for names in itertools.product(*lists)]


class Teacher(Section):
    """A system whose translations other systems are trained on."""

    corpus: Name  # another one of `build.corpora`
    vocabulary: Name  # one of `build.vocabularies`
    model: Name  # one of `build.models`
    size: Name  # one of `build.sizes`

    @property
    def system(self) -> System:
        """The system."""
        return System(self.corpus, self.vocabulary, self.model, self.size)


class Distillation(Section):
    """Section `distill`: corpora whose training part gets its target sentences from a teacher.

    Source: Kim and Rush 2016, sequence-level knowledge distillation.
    """

    teachers: dict[Name, Teacher]
