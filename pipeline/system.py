"""A system: one corpus, vocabulary, model and size, and maybe a seed. Its id, its paths, and which are chosen."""

import itertools
import re
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from pydantic import AfterValidator, Field, PositiveInt, StringConstraints

from pipeline.params import NAME, Section

# The section of `build` that lists the names of each axis.
AXES = {"corpora": "corpus", "vocabularies": "vocabulary", "models": "model", "sizes": "size"}
SEED = "_seed"  # at the end of a stage's name: the same script, for a further seed

T = TypeVar("T", str, int)


class System(NamedTuple):
    """One combination of the four lists of `build`, trained with the seed of `training` or with a further one."""

    corpus: str
    vocabulary: str
    model: str
    size: str
    seed: str = ""  # one of `build.more_seeds`; empty: that of `training`

    @classmethod
    def parse(cls, text: str) -> "System":
        """The system of an id.

        Raises: ValueError if the text is not an id.
        """
        *names, last = text.split("-")
        seed = [last] if len(names) == len(AXES) and re.fullmatch("[1-9][0-9]*", last) else []
        names += [] if seed else [last]
        if len(names) != len(AXES) or not all(re.fullmatch(NAME, name) for name in names):
            raise ValueError(f"must be <{'>-<'.join(AXES.values())}>[-<seed>], got {text!r}")
        return cls(*names, *seed)

    @property
    def id(self) -> str:
        """Its name everywhere: in DVC's stages, in the folders, in MLflow and in the report."""
        return "-".join(filter(None, self))

    @property
    def axes(self) -> dict[str, str]:
        """Its four names, by what each is the name of."""
        return dict(zip(AXES.values(), self, strict=False))

    def stage(self, name: str) -> str:
        """What DVC calls the stage of this system that runs the script `name`."""
        return f"{name}{SEED if self.seed else ''}@{self.id}"

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
    """Which target sentences a corpus is trained on: its own, those of a teacher if it has one, or both."""
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


def each_once(names: list[T]) -> list[T]:
    """The names or seeds, checked to be different: otherwise two stages would write the same files."""
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"must name each once, got {', '.join(map(str, twice))} more than once")
    return names


Name = Annotated[str, StringConstraints(pattern=NAME)]
Names = Annotated[list[Name], Field(min_length=1), AfterValidator(each_once)]


class Build(Section):
    """Section `build`: `dvc repro` builds every combination of the four lists of names, once more with each seed."""

    corpora: Names
    vocabularies: Names
    models: Names
    sizes: Names
    more_seeds: Annotated[list[PositiveInt], AfterValidator(each_once)]

    def systems(self) -> list[System]:
        """Every combination of names, in the order of the lists, with the seed of `training`."""
        lists = self.corpora, self.vocabularies, self.models, self.sizes
        return [System(*names) for names in itertools.product(*lists)]

    def more_systems(self) -> list[System]:
        """The same with every further seed, all of one seed together."""
        return [system._replace(seed=str(seed)) for seed in self.more_seeds for system in self.systems()]

    def all_systems(self) -> list[System]:
        """Every training: with the seed of `training`, then with each further one."""
        return self.systems() + self.more_systems()


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
    keep_references: Annotated[list[Name], AfterValidator(each_once)]  # taught corpora that learn from both
