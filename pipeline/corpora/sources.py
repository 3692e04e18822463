"""Where a corpus comes from: the keys at the top of `corpora/<corpus>.yaml`."""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from ..common import parts
from ..common.params import NAME, Section
from .importers import interface

PartName = Annotated[str, StringConstraints(pattern=NAME)]
Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}([_-][A-Za-z0-9]+)*$")]

if TYPE_CHECKING:
    Source = interface.BaseSource
else:
    kinds = [interface.find(kind).Source for kind in interface.names()]
    Source = Annotated[reduce(or_, kinds), Field(discriminator="kind")]


class Download(Section):
    """The languages of a corpus, and where each part comes from."""

    source_language: Language
    target_language: Language
    parts: dict[PartName, Source]

    @model_validator(mode="after")
    def check_parts(self) -> Self:
        """There must be a training part; if there are test parts, one must be called `test`."""
        tests = [name for name in self.parts if parts.is_test(name)]
        if parts.TRAIN not in self.parts:
            raise ValueError(f"parts must have {parts.TRAIN}, got {', '.join(self.parts) or 'none'}")
        if tests and parts.TEST not in tests:
            raise ValueError(f"parts must call one of the test parts {parts.TEST}, got {', '.join(tests)}")
        return self

    @model_validator(mode="after")
    def check_languages(self) -> Self:
        """Every source must have the languages."""
        for name, source in self.parts.items():
            try:
                source.check_languages(self.languages)
            except ValueError as error:
                raise ValueError(f"parts.{name}.{error}") from None
        return self

    @property
    def languages(self) -> interface.Languages:
        """The codes of both languages."""
        return self.source_language, self.target_language
