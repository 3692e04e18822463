"""Kinds of sources: `importers/<kind>.py` defines `Source`, its keys, and `bitexts`, which gives its pairs."""

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from pydantic import Field, PositiveInt, StringConstraints, field_validator, model_validator

from ...common import files
from ...common.params import Section
from .. import importers, tables, tmx
from ..fetching import Downloads
from ..readers import RawPair, TextFile

NonEmpty = Annotated[str, StringConstraints(min_length=1)]
Column = Annotated[int, Field(ge=1, le=1000)] | NonEmpty  # counted from 1, or its name in the first row
Languages = tuple[str, str]  # codes of source and target
Bitext = tuple[tuple[TextFile, ...], Iterator[RawPair]]  # the texts that are read together, none if bundled; the pairs

T = TypeVar("T")


class Stated(NamedTuple):
    """How much text a source says that it has."""

    pairs: int
    words: int | None  # of the target language; None if it does not say


class BaseSource(Section):
    """Where a part of a corpus comes from."""

    kind: str
    at_most: PositiveInt | None = None  # pairs, drawn by their hash
    licence: NonEmpty | None = None  # without it, that of the corpus
    is_public: ClassVar[bool] = False  # of files that others may change

    def check_languages(self, languages: Languages) -> None:
        """Raises: ValueError if the source lacks one of these languages."""

    def stated(self, languages: Languages, downloads: Downloads) -> Stated | None:
        """How much text it says that it has, without reading all of it; None if it does not say."""
        return None

    def unpinned(self, record: dict[str, Any]) -> tuple[str, str] | None:
        """The address of a file that may change, and the key and value that pin it; None if it is pinned."""
        return None


class ParallelSource(BaseSource, Generic[T]):
    """Two parallel files, two columns of a table, or a translation memory."""

    source: T | None = None
    target: T | None = None
    table: T | None = None
    tmx: T | None = None
    source_column: Column | None = None
    target_column: Column | None = None
    quoting: tables.Quoting | None = None  # of the table; without it its quotes decide

    @field_validator("source", "target", "table", "tmx", mode="before")
    @classmethod
    def check_one_file(cls, value: Any) -> Any:
        """Several files were a list here once."""
        if isinstance(value, list):
            raise ValueError(
                f"must be one file, got {len(value)}; expected a list at parts.train, with an item for each"
            )
        return value

    @model_validator(mode="after")
    def check_choice(self) -> Self:
        """Either files of two sides, a table or a translation memory."""
        check_either(self, ("source", "target"), ("table", "source_column", "target_column"), ("tmx",))
        if self.quoting and self.table is None:
            raise ValueError(f"quoting: must be that of a table, got {self.quoting!r} and no table")
        return self

    @property
    def files(self) -> tuple[T, ...]:
        """A source and a target, or the one that has both."""
        return tuple(file for file in (self.source, self.target, self.table, self.tmx) if file is not None)

    def bitext(self, languages: Languages, text_of: Callable[[T], TextFile]) -> Bitext:
        """The files and their pairs; `text_of` gives the text of a file."""
        texts = tuple(map(text_of, self.files))
        if self.tmx is not None:
            return texts, tmx.pairs(texts[0], languages)
        if self.source_column is None or self.target_column is None:
            return texts, files.parallel(texts[0], texts[-1], TextFile.lines)
        columns = self.source_column, self.target_column
        return texts, tables.columns(texts[0], *columns, languages, quoting=self.quoting)


def check_either(section: Section, *groups: tuple[str, ...]) -> None:
    """Check that a section has all keys of one group and no other, and two different columns, if any.

    Raises: ValueError.
    """
    given = tuple(key for group in groups for key in group if getattr(section, key) is not None)
    if given not in groups:
        expected = " or ".join(" and ".join(group) for group in groups)
        raise ValueError(f"must have either {expected}, got {' and '.join(given) or 'neither'}")
    columns = [getattr(section, key) for key in given if key.endswith("_column")]
    if len({*columns}) < len(columns):
        raise ValueError(f"must have two different columns, got {columns[0]!r} twice")


def names() -> list[str]:
    """Every kind of source."""
    return [module.name for module in pkgutil.iter_modules(importers.__path__) if module.name != "interface"]


def find(kind: str) -> ModuleType:
    """The module of a kind: its `Source`, and `bitexts(source, languages, downloads)`, an iterator of `Bitext`."""
    return import_module(f"{importers.__name__}.{kind}")  # the wheel has another name for the package
