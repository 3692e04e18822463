"""A user's own files: the folder `my/`, which DVC watches, and the files in it that a corpus names."""

import os
from collections.abc import Iterator
from pathlib import Path

from pipeline import files
from pipeline.corpora.sources import Download, Local

FOLDER = Path("my")
EXPERIMENTS = ".dvc/tmp/exps"  # where DVC runs queued and temporary experiments, each in a folder of its own


def paths(download: Download) -> dict[str, str]:
    """Key in the corpus's file -> path of each of the user's own files, in the order of the corpus's file."""
    return {
        f"parts.{name}.{key}": path
        for name, source in download.parts.items()
        if isinstance(source, Local)
        for key, path in (("source", source.source), ("target", source.target), ("table", source.table))
        if path is not None
    }


def faults(download: Download) -> Iterator[str]:
    """A line for each of the user's own files that DVC does not watch."""
    for key, path in paths(download).items():
        if Path(os.path.normpath(path)).parts[:1] != FOLDER.parts:
            link = FOLDER / Path(path).name
            yield f"{key}: must be in {FOLDER}/, which DVC watches, got {path!r}; expected {link}, or a link there"


def checksums(download: Download) -> dict[str, str]:
    """Path -> SHA-256 of each of the user's own files.

    Raises: DataError if one is missing, or in a linked folder, into which DVC does not look.
    """
    found = {}
    for path in map(Path, paths(download).values()):
        if not path.is_file():
            raise files.DataError(f"{path}: no such file; expected the one that the corpus's file names")
        if linked := next((folder for folder in path.parents if folder.is_symlink()), None):
            raise files.DataError(
                f"{linked}: DVC looks into no folder that is a link, got one for {path}; "
                "expected a folder, with links to files"
            )
        found[str(path)] = files.sha256(path)
    return found


def link_into_experiment(folder: Path = FOLDER) -> None:
    """In a queued or temporary experiment of DVC, link the files of `folder`, which git ignores, into its copy."""
    here = Path.cwd()
    root = origin(here)
    if root == here:
        return
    for path in sorted((root / folder).rglob("*")):
        link = here / path.relative_to(root)
        if path.is_file() and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)


def origin(here: Path) -> Path:
    """The project from which DVC copied the experiment in the folder `here`; elsewhere `here` itself."""
    before, found, _ = here.as_posix().partition(f"/{EXPERIMENTS}/")
    return Path(before) if found else here
