"""Where a corpus comes from: the keys at the top of `corpora/<corpus>.yaml`."""

import re
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag, create_model, model_validator

from ..common import parts
from ..common.params import NAME, Section
from .importers import interface

PartName = Annotated[str, StringConstraints(pattern=NAME)]


def check_language(code: str) -> str:
    """A code with two or three letters, perhaps with a script or region."""
    if not re.fullmatch(r"[A-Za-z]{2,3}([_-][A-Za-z0-9]+)*", code):
        raise ValueError(f"must be a code, such as de or pt_BR, got {code!r}")
    return code


Language = Annotated[str, AfterValidator(check_language)]

if TYPE_CHECKING:
    Source = interface.BaseSource

    class Bitext(interface.BaseSource):
        """One of several texts that make the training part."""

        name: str

else:
    kinds = [interface.find(kind).Source for kind in interface.names()]
    Source = Annotated[reduce(or_, kinds), Field(discriminator="kind")]
    # sacreBLEU's test sets have a name of their own.
    named = [
        create_model("Bitext", __base__=kind, __doc__=kind.__doc__, name=PartName)
        for kind in kinds
        if "name" not in kind.model_fields
    ]
    Bitext = Annotated[reduce(or_, named), Field(discriminator="kind")]

Part = Annotated[
    Annotated[Source, Tag("[one]")] | Annotated[list[Bitext], Tag("[list]"), Field(min_length=1)],
    Discriminator(lambda value: "[list]" if isinstance(value, list) else "[one]"),
]


class Download(Section):
    """The languages of a corpus, and where each part comes from."""

    source_language: Language
    target_language: Language
    parts: dict[PartName, Part]

    @model_validator(mode="after")
    def check_parts(self) -> Self:
        """There must be a training part, which alone may be a list."""
        if parts.TRAIN not in self.parts:
            raise ValueError(f"parts must have {parts.TRAIN}, got {', '.join(self.parts) or 'none'}")
        for part, source in self.parts.items():
            if part != parts.TRAIN and (isinstance(source, list) or source.at_most or source.licence):
                raise ValueError(
                    f"parts.{part}: must be one source; only {parts.TRAIN} has a list, at_most and licence"
                )
        if isinstance(train := self.parts[parts.TRAIN], list) and len(self.bitexts) < len(train):
            names = ", ".join(bitext.name for bitext in train)
            raise ValueError(f"parts.{parts.TRAIN}: must have different names, got {names}")
        return self

    @model_validator(mode="after")
    def check_languages(self) -> Self:
        """Every source must have the languages."""
        single = {part: source for part, source in self.parts.items() if not isinstance(source, list)}
        listed = {} if parts.TRAIN in single else {f"{parts.TRAIN}.{name}": one for name, one in self.bitexts.items()}
        for where, source in (single | listed).items():
            try:
                source.check_languages(self.languages)
            except ValueError as error:
                raise ValueError(f"parts.{where}.{error}") from None
        return self

    @property
    def bitexts(self) -> dict[str, Source]:
        """The sources of the training part by their names, in order of trust; a single one is called `train`."""
        train = self.parts[parts.TRAIN]
        return {bitext.name: bitext for bitext in train} if isinstance(train, list) else {parts.TRAIN: train}

    def sources(self, part: str) -> list[Source]:
        """The source of a part; of the training part those of all bitexts."""
        content = self.parts[part]
        return [*content] if isinstance(content, list) else [content]

    @property
    def languages(self) -> interface.Languages:
        """The codes of both languages."""
        return self.source_language, self.target_language
