"""Writes a packaged system: a folder with all that translation needs, and the checksums of its files."""

import shutil
from pathlib import Path

from ..common import files
from .sealed import CHECKSUMS, CONFIG, VOCABULARY, WEIGHTS, Config, copy_vocabulary, list_files


def write(folder: Path, config: Config, *, weights: Path, vocabulary: Path) -> None:
    """Copy what translation needs into `folder`, beside config.json."""
    shutil.copyfile(weights, folder / WEIGHTS)
    copy_vocabulary(vocabulary, folder / VOCABULARY)
    files.write_json(folder / CONFIG, config.model_dump())


def seal(folder: Path) -> None:
    """Write checksums.json, of all files that are there."""
    sizes = list_files(folder)
    sizes.pop(CHECKSUMS, None)
    sums = {name: {"size": size, "sha256": files.sha256(folder / name)} for name, size in sizes.items()}
    files.write_json(folder / CHECKSUMS, sums)
