"""Public files by their addresses."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import StringConstraints, model_validator

from ...common.params import Section
from .. import archives
from ..fetching import Downloads
from ..readers import TextFile
from .interface import Bitext, Languages, NonEmpty, ParallelSource

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Address(Section):
    """A public file: plain, .gz, .bz2, .xz, or the member of a .zip or a tar; verified if a sha256 is given."""

    address: Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+/\S+$")]
    member: NonEmpty | None = None
    sha256: Sha256 | None = None

    @model_validator(mode="after")
    def check_member(self) -> Self:
        """An archive needs a member; any other file has none."""
        kind = archives.archive_kind(self.address)
        if kind == "unsupported":
            raise ValueError(f"must be plain, .gz, .bz2, .xz, .zip or a tar, got {self.address}")
        if (kind == "file") != (self.member is None):
            raise ValueError(f"must have a member if it is an archive, got {self.address} and member {self.member}")
        return self


class Source(ParallelSource[Address]):
    """Parallel files or a table at public addresses."""

    kind: Literal["files"]
    is_public = True

    def unpinned(self, record: dict[str, Any]) -> tuple[str, str] | None:
        """A file whose checksum the corpus does not give."""
        is_pinned = record["sha256"] in {file.sha256 for file in self.files}
        return None if is_pinned else (record["address"], f"sha256: {record['sha256']}")


def bitexts(source: Source, languages: Languages, downloads: Downloads) -> Iterator[Bitext]:
    """The pairs of the files.

    Raises: DataError if one cannot be fetched.
    """

    def text_of(file: Address) -> TextFile:
        return TextFile(file.address, downloads.fetch(file.address, file.sha256), file.member)

    yield source.bitext(languages, text_of)
