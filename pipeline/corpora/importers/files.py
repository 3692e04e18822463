"""Public files by their addresses."""

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any, Literal, Self

from pydantic import StringConstraints, model_validator

from ...common.params import Section
from .. import archives
from ..fetching import Downloads
from ..readers import TextFile
from .interface import Bitext, Languages, NonEmpty, ParallelSource


class Address(Section):
    """A public file: plain, .gz, .bz2, .xz, or the member of a .zip or a tar; verified if a sha256 is given."""

    address: Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+/\S+$")]
    member: NonEmpty | None = None
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None

    @model_validator(mode="after")
    def check_member(self) -> Self:
        """An archive needs a member; any other file has none."""
        kind = archives.archive_kind(self.address)
        if kind == "unsupported":
            raise ValueError(f"must be plain, .gz, .bz2, .xz, .zip or a tar, got {self.address}")
        if kind in ("zip", "tar") and self.member is None:
            raise ValueError(f"must name the member of the archive to read, got only {self.address}")
        if kind not in ("zip", "tar") and self.member is not None:
            raise ValueError(f"must have no member, got {self.member!r}; {self.address} is no .zip or tar")
        return self


class Source(ParallelSource[Address]):
    """Parallel files or tables at public addresses."""

    kind: Literal["files"]
    is_public = True

    def unpinned(self, record: dict[str, Any]) -> tuple[str, str] | None:
        """A file whose checksum the corpus does not give."""
        is_pinned = record["sha256"] in {file.sha256 for file in chain(*self.groups)}
        return None if is_pinned else (record["address"], f"sha256: {record['sha256']}")


def bitexts(source: Source, languages: Languages, downloads: Downloads) -> Iterator[Bitext]:
    """The pairs of one file or pair of files after the other.

    Raises: DataError if one cannot be fetched.
    """
    for group in source.groups:
        paths = [downloads.fetch(file.address, file.sha256) for file in group]
        texts = (TextFile(file.address, path, file.member) for file, path in zip(group, paths, strict=True))
        yield source.bitext(languages, *texts)
