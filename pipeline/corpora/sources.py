"""Where a corpus comes from: the classes of `corpora/<corpus>.yaml`."""

from itertools import chain
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Discriminator, Field, PositiveInt, StringConstraints, Tag, model_validator

from ..common import parts
from ..common.params import NAME, Section
from . import archives, sacrebleu_sets
from .tables import Quoting

PartName = Annotated[str, StringConstraints(pattern=NAME)]
Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}([_-][A-Za-z0-9]+)*$")]
Text = Annotated[str, StringConstraints(min_length=1)]
Column = Annotated[int, Field(ge=1, le=1000)]  # counted from 1
# Of the hub, and paths of a mirror's folder: no part of one may be `..`.
DatasetId = Annotated[str, StringConstraints(pattern=r"^\w[\w.-]{0,95}(/\w[\w.-]{0,95})?$")]
Revision = Annotated[str, StringConstraints(pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$")]

T = TypeVar("T")
# One, or a list of those that are read one after the other.
Several = Annotated[
    Annotated[T, Tag("[one]")] | Annotated[list[T], Tag("[list]"), Field(min_length=1)],
    Discriminator(lambda value: "[list]" if isinstance(value, list) else "[one]"),
]


class Phrasebook(Section):
    """The first pairs of a part of the bundled corpus; French and English, either direction."""

    kind: Literal["phrasebook"]
    part: Literal["train", "validation", "test", "compositional"]
    num_pairs: Annotated[int, Field(ge=1)]


class Address(Section):
    """A public file: plain, .gz, or the member of a .zip, .tgz or .tar.gz; verified if a sha256 is given."""

    address: Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+/\S+$")]
    member: Text | None = None
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None

    @model_validator(mode="after")
    def check_member(self) -> Self:
        """An archive needs a member; any other file has none, and is plain or .gz."""
        kind = archives.archive_kind(self.address)
        if kind == "unsupported":
            raise ValueError(f"must be plain, .gz, .zip, .tgz or .tar.gz, got {self.address}")
        if kind in ("zip", "tar") and self.member is None:
            raise ValueError(f"must name the member of the archive to read, got only {self.address}")
        if kind not in ("zip", "tar") and self.member is not None:
            raise ValueError(f"must have no member, got {self.member!r}; {self.address} is no .zip, .tgz or .tar.gz")
        return self


class Parallel(Section):
    """Two parallel files, or two columns of a table; or several of them."""

    source_column: Column | None = None
    target_column: Column | None = None
    quoting: Quoting | None = None  # of the table; without it all its quotes decide

    @model_validator(mode="after")
    def check_choice(self) -> Self:
        """Either files of two sides, as many of one as of the other, or tables."""
        check_either(self, ("source", "target"), ("table", "source_column", "target_column"))
        source, target = len(self.files("source")), len(self.files("target"))
        if source != target:
            raise ValueError(f"must have as many files of source as of target, got {source} and {target}")
        if self.quoting and not getattr(self, "table", None):
            raise ValueError(f"quoting: must be that of a table, got {self.quoting!r} and no table")
        return self

    def files(self, key: str) -> list[Any]:
        """What stands at `source`, `target` or `table`."""
        value = getattr(self, key)
        return value if isinstance(value, list) else [] if value is None else [value]

    @property
    def groups(self) -> list[tuple[Any, ...]]:
        """What is read together, a source and a target or a table, in order."""
        pairs = zip(self.files("source"), self.files("target"), strict=True)
        return [*pairs, *((table,) for table in self.files("table"))]

    @property
    def columns(self) -> tuple[int, int]:
        """The two columns of a table."""
        assert self.source_column is not None, self
        assert self.target_column is not None, self
        return self.source_column, self.target_column


def check_either(section: Any, one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """Check that a section has all keys of one group and none of the other, and two different columns, if any.

    Raises: ValueError.
    """
    given = tuple(key for key in (*one, *other) if getattr(section, key) is not None)
    if given not in (one, other):
        raise ValueError(
            f"must have either {' and '.join(one)} or {' and '.join(other)}, got {' and '.join(given) or 'neither'}"
        )
    if "source_column" in given and section.source_column == section.target_column:
        raise ValueError(f"must have two different columns, got {section.source_column!r} twice")


class Files(Parallel):
    """Public files by address."""

    kind: Literal["files"]
    source: Several[Address] | None = None
    target: Several[Address] | None = None
    table: Several[Address] | None = None


class Local(Parallel):
    """The user's own files, plain or .gz, by path from the project's root; in `my/`."""

    kind: Literal["local"]
    source: Several[Text] | None = None
    target: Several[Text] | None = None
    table: Several[Text] | None = None

    @model_validator(mode="after")
    def check_packing(self) -> Self:
        """No archives with members: a user can unpack them."""
        for path in chain(*self.groups):
            if archives.archive_kind(path) not in ("plain", "gz"):
                raise ValueError(f"must be plain or .gz files, got {path!r}; unpack {PurePosixPath(path).name} first")
        return self


class Hub(Section):
    """A data set of the Hugging Face hub: two text columns, or one field that holds {language: text}."""

    kind: Literal["hub"]
    dataset: DatasetId
    revision: Revision
    split: Text
    config: Text | None = None
    source_column: Text | None = None
    target_column: Text | None = None
    translation_field: Text | None = None
    quoting: Quoting | None = None  # of tables with tabs or commas; without it all their quotes decide

    @model_validator(mode="after")
    def check_choice(self) -> Self:
        """Either two columns or a field."""
        check_either(self, ("source_column", "target_column"), ("translation_field",))
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The two columns, or the field."""
        return tuple(name for name in (self.source_column, self.target_column, self.translation_field) if name)


class Sacrebleu(Section):
    """A test set by the name the sacrebleu package gives it, in either direction."""

    kind: Literal["sacrebleu"]
    name: Text
    reference: PositiveInt | None = None  # of several, counted from 1; without it the first


Source = Annotated[Phrasebook | Files | Local | Hub | Sacrebleu, Field(discriminator="kind")]


class Download(Section):
    """Keys at the top of `corpora/<corpus>.yaml`: the languages of a corpus and where each part comes from."""

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
        """The languages must be those of the bundled corpus or of the test sets."""
        pair = (self.source_language, self.target_language)
        for name, source in self.parts.items():
            if isinstance(source, Phrasebook) and set(pair) != {"fr", "en"}:
                raise ValueError(f"parts.{name}: the phrasebook is in fr and en, got {pair[0]} and {pair[1]}")
            if isinstance(source, Sacrebleu):
                try:
                    sacrebleu_sets.find(source.name, *pair)
                except ValueError as error:
                    raise ValueError(f"parts.{name}.{error}") from None
        return self
