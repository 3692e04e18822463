"""The test parts of a corpus beside a system's translations of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..common import files, parts


class Translated(NamedTuple):
    """One test part: texts of the same number of lines."""

    sources: list[str]
    references: list[list[str]]  # the part's own, then those of other parts
    translations: list[str]


def read(split: Path, decoded: Path, references: Mapping[str, Sequence[str]]) -> dict[str, Translated]:
    """Every test part by name, `test` first; `references` names the parts whose references count for another one too.

    Raises: DataError if a part has no translation, or one with more or fewer lines, or if two parts have other sources.
    """
    texts = {}
    for part, sources, targets in sorted(parts.read_tests(split), key=lambda read: (read[0] != parts.TEST, read[0])):
        lines = list(files.read_lines(decoded / f"{part}.txt"))
        if len(lines) != len(sources):
            raise files.not_parallel(decoded / f"{part}.txt", parts.paths(split, part)[1], files.read_lines)
        texts[part] = Translated(sources, [targets], lines)
    for part, others in references.items():
        for other in others:
            if part not in texts or other not in texts or texts[part].sources != texts[other].sources:
                raise files.DataError(
                    f"score.references.{part}: must be test parts with the same sources, got {other}; "
                    f"expected some of {', '.join(texts)}"
                )
        texts[part].references.extend(texts[other].references[0] for other in others)
    return texts
