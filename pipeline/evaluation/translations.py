"""The test parts of a corpus beside a system's translations of them."""

from pathlib import Path
from typing import NamedTuple

from ..common import files, parts


class Translated(NamedTuple):
    """One test part: three texts of the same number of lines."""

    sources: list[str]
    references: list[str]
    translations: list[str]


def read(split: Path, decoded: Path) -> dict[str, Translated]:
    """Every test part by name, `test` first.

    Raises: DataError if a part has no translation, or one with more or fewer lines.
    """
    found = {}
    for part in sorted(filter(parts.is_test, parts.names(split)), key=lambda part: (part != parts.TEST, part)):
        pairs, lines = list(parts.read(split, part)), list(files.read_lines(decoded / f"{part}.txt"))
        if len(lines) != len(pairs):
            raise files.not_parallel(decoded / f"{part}.txt", parts.paths(split, part)[1])
        found[part] = Translated([source for source, _ in pairs], [target for _, target in pairs], lines)
    return found
