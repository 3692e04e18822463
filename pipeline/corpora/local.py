"""A user's own files: in the folder `my/`, which DVC watches."""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from ..common import files
from .sources import Download, Local

FOLDER = Path("my")


def faults(download: Download) -> Iterator[str]:
    """A line for each of the user's own files that DVC does not watch, with its part."""
    for name, part in download.parts.items():
        for path in chain(*part.groups) if isinstance(part, Local) else ():
            if Path(os.path.normpath(path)).parts[:1] != FOLDER.parts:
                link = FOLDER / Path(path).name
                yield (
                    f"parts.{name}: must be in {FOLDER}/, which DVC watches, got {path!r}; "
                    f"expected {link}, or a link there"
                )


def checked(path: Path) -> Path:
    """A file of the user's.

    Raises: DataError if it is missing, or in a linked folder, into which DVC does not look.
    """
    if not path.is_file():
        raise files.DataError(f"{path}: no such file; expected the one that the corpus's file names")
    linked = next((folder for folder in path.parents if folder.is_symlink()), None)
    if linked and path.parts[:1] == FOLDER.parts:
        raise files.DataError(
            f"{linked}: DVC does not look into a linked folder; expected a folder with links to files"
        )
    return path
