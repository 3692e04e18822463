"""The parts of a corpus on disk: two parallel text files each, `<part>.source.txt` and `<part>.target.txt`."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import files

Pair = tuple[str, str]

TRAIN, VALIDATION, TEST = "train", "validation", "test"


def paths(folder: Path, part: str) -> tuple[Path, Path]:
    """The source and the target file of a part."""
    return folder / f"{part}.source.txt", folder / f"{part}.target.txt"


def is_test(part: str) -> bool:
    """Whether a part is scored: every part but those that training sees."""
    return part not in (TRAIN, VALIDATION)


def names(folder: Path) -> list[str]:
    """The parts in a folder, sorted; one without its source or target counts too, and fails when it is read.

    Raises: DataError if there is none.
    """
    sides = (".source.txt", ".target.txt")
    parts = sorted({path.name.removesuffix(side) for side in sides for path in folder.glob(f"*{side}")})
    if not parts:
        raise files.DataError(f"{folder}: holds no part; expected <part>.source.txt and <part>.target.txt")
    return parts


def read(folder: Path, part: str) -> Iterator[Pair]:
    """The pairs of a part, one at a time.

    Raises: DataError if a line is not UTF-8 or the two files are not parallel.
    """
    return files.read_pairs(*paths(folder, part))


def read_tests(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Every test part in a folder: its name, its source lines and its target lines.

    Raises: DataError as `names` and `read` do.
    """
    for part in filter(is_test, names(folder)):
        pairs = list(read(folder, part))
        yield part, [source for source, _ in pairs], [target for _, target in pairs]


def write(folder: Path, part: str, pairs: Iterable[Pair]) -> int:
    """Write the pairs of a part, one at a time; returns how many."""
    source, target = paths(folder, part)
    count = 0
    with files.new_file(source) as left, files.new_file(target) as right:
        for count, pair in enumerate(pairs, 1):  # noqa: B007 (the count is the result)
            left.write(pair[0] + "\n")
            right.write(pair[1] + "\n")
    return count


def copy(part: str, old: Path, new: Path) -> int:
    """Read all of a part, then copy it byte for byte; returns how many pairs it has.

    Raises: DataError if a line is not UTF-8, the two files are not parallel, or there is no pair.
    """
    count = sum(1 for _ in read(old, part))
    if not count:
        raise files.DataError(f"{paths(old, part)[0]}: is empty, got 0 pairs; expected at least one")
    for path, copied in zip(paths(old, part), paths(new, part), strict=True):
        shutil.copyfile(path, copied)
    return count
