"""The choice in `params.yaml`: which systems `dvc repro` builds."""

import itertools
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from pipeline.params import NAME, Section


def each_once(names: list[str]) -> list[str]:
    """The names, none of them twice: two stages would write the same files."""
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"must name each once, got {', '.join(twice)} more than once")
    return names


Name = Annotated[str, StringConstraints(pattern=NAME)]
Names = Annotated[list[Name], Field(min_length=1), AfterValidator(each_once)]


class Build(Section):
    """Section `build`: a system is one combination of the four lists."""

    corpora: Names
    vocabularies: Names
    models: Names
    sizes: Names

    def combinations(self) -> list[tuple[str, str, str, str]]:
        """(corpus, vocabulary, model, size) of every system chosen, in the order of the lists."""
        return list(itertools.product(self.corpora, self.vocabularies, self.models, self.sizes))

    def systems(self) -> list[str]:
        """Ids of every system chosen, in the order of the lists."""
        return ["-".join(combination) for combination in self.combinations()]
