"""Seals a packaged system: a folder with all that translation needs gets the checksums of its files."""

from pathlib import Path

from ..common import files
from .sealed import CHECKSUMS, list_files


def seal(folder: Path) -> None:
    """Write checksums.json, of all files that are there."""
    sizes = list_files(folder)
    sizes.pop(CHECKSUMS, None)
    sums = {name: {"size": size, "sha256": files.sha256(folder / name)} for name, size in sizes.items()}
    files.write_json(folder / CHECKSUMS, sums)
