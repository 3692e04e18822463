"""Kinds of sources: `importers/<kind>.py` defines `Source`, its keys, and `bitexts`, which gives its pairs."""

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from ...common import files
from ...common.params import Section
from .. import importers, tables
from ..readers import RawPair, TextFile

NonEmpty = Annotated[str, StringConstraints(min_length=1)]
Column = Annotated[int, Field(ge=1, le=1000)] | NonEmpty  # counted from 1, or its name in the first row
Languages = tuple[str, str]  # codes of source and target
Bitext = tuple[tuple[TextFile, ...], Iterator[RawPair]]  # the texts that are read together, none if bundled; the pairs

T = TypeVar("T")
# One, or a list of those that are read one after the other.
Several = Annotated[
    Annotated[T, Tag("[one]")] | Annotated[list[T], Tag("[list]"), Field(min_length=1)],
    Discriminator(lambda value: "[list]" if isinstance(value, list) else "[one]"),
]


class BaseSource(Section):
    """Where a part of a corpus comes from."""

    kind: str
    is_public: ClassVar[bool] = False  # of files that others may change

    def check_languages(self, languages: Languages) -> None:
        """Raises: ValueError if the source lacks one of these languages."""

    def unpinned(self, record: dict[str, Any]) -> tuple[str, str] | None:
        """The address of a file that may change, and the key and value that pin it; None if it is pinned."""
        return None


class ParallelSource(BaseSource, Generic[T]):
    """Two parallel files, or two columns of a table; or several of them."""

    source: Several[T] | None = None
    target: Several[T] | None = None
    table: Several[T] | None = None
    source_column: Column | None = None
    target_column: Column | None = None
    quoting: tables.Quoting | None = None  # of the table; without it its quotes decide

    @model_validator(mode="after")
    def check_choice(self) -> Self:
        """Either files of two sides, as many of one as of the other, or tables."""
        check_either(self, ("source", "target"), ("table", "source_column", "target_column"))
        source, target = len(listed(self.source)), len(listed(self.target))
        if source != target:
            raise ValueError(f"must have as many files of source as of target, got {source} and {target}")
        if self.quoting and self.table is None:
            raise ValueError(f"quoting: must be that of a table, got {self.quoting!r} and no table")
        return self

    @property
    def groups(self) -> list[tuple[T, ...]]:
        """The files that are read together, a source and a target or a table, in order."""
        return [*zip(listed(self.source), listed(self.target), strict=True), *((one,) for one in listed(self.table))]

    def bitexts(self, languages: Languages, text_of: Callable[[T], TextFile]) -> Iterator[Bitext]:
        """The pairs of one group of files after the other; `text_of` gives the text of a file."""
        for texts in (tuple(map(text_of, group)) for group in self.groups):
            if self.source_column is None or self.target_column is None:
                yield texts, files.parallel(texts[0], texts[-1], TextFile.lines)
            else:
                columns = self.source_column, self.target_column
                yield texts, tables.columns(texts[0], *columns, languages, quoting=self.quoting)


def listed(value: T | list[T] | None) -> list[T]:
    """The files at a key."""
    return value if isinstance(value, list) else [] if value is None else [value]


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
