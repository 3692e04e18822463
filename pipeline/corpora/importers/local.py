"""A user's own files: in the folder `my/`, which DVC watches."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from ...common.files import DataError
from .. import archives
from ..fetching import Downloads
from ..readers import TextFile
from .interface import Bitext, Languages, NonEmpty, ParallelSource

FOLDER = Path("my")


class Source(ParallelSource[NonEmpty]):
    """The user's own files, plain or packed alone (.gz, .bz2, .xz), by path from the project's root."""

    kind: Literal["local"]

    @model_validator(mode="after")
    def check_paths(self) -> Self:
        """Files in `my/`, and no archives with members: a user can unpack them."""
        for path in self.files:
            if archives.archive_kind(path) != "file":
                raise ValueError(f"must be text, plain, .gz, .bz2 or .xz, got {path!r}; unpack {Path(path).name} first")
            if Path(os.path.normpath(path)).parts[:1] != FOLDER.parts:
                expected = f"{FOLDER / Path(path).name}, or a link there"
                raise ValueError(f"must be in {FOLDER}/, which DVC watches, got {path!r}; expected {expected}")
        return self


def bitexts(source: Source, languages: Languages, downloads: Downloads) -> Iterator[Bitext]:
    """The pairs of the files.

    Raises: DataError if one is missing, or in a linked folder, into which DVC does not look.
    """
    yield source.bitext(languages, text_of)


def text_of(path: str) -> TextFile:
    """The text at a path."""
    if not Path(path).is_file():
        raise DataError(f"{path}: no such file; expected a text that is there")
    if linked := next((folder for folder in Path(path).parents if folder.is_symlink()), None):
        raise DataError(f"{linked}: DVC does not look into a linked folder; expected a folder with links to files")
    return TextFile(path, Path(path))
