"""The parts of a corpus on disk, as parallel text: the training part in shards by bitext, the others in two files each.

`<part>.source.txt` and `<part>.target.txt`; of the training part `train/<bitext>/00000.source.txt` and so on, with the
bitexts in order of trust, and the pairs of each shard, in `train/bitexts.json`.
"""

import shutil
from collections.abc import Iterable, Iterator
from itertools import chain, count, islice
from pathlib import Path
from typing import NamedTuple

from . import files

Pair = tuple[str, str]
RawPair = tuple[bytes, bytes]  # lines without their ends, not decoded

TRAIN, VALIDATION, TEST = "train", "validation", "test"
SHARD_PAIRS = 200_000  # with fewer, another process costs more time than it saves
BITEXTS = "bitexts.json"


class Shard(NamedTuple):
    """Pairs of one bitext that are prepared together, `SHARD_PAIRS` at most before any is dropped."""

    bitext: str
    number: int  # from 0, in its bitext
    pairs: int

    @property
    def name(self) -> str:
        """Its name in file names."""
        return f"{self.bitext}/{self.number:05}"

    def paths(self, folder: Path) -> tuple[Path, Path]:
        """The source and the target file in the folder of a corpus."""
        return paths(folder / TRAIN, self.name)

    def read(self, folder: Path) -> Iterator[Pair]:
        """Its pairs; raises as `lines`."""
        return zip(*self.lines(folder), strict=True)

    def write(self, folder: Path, pairs: Iterable[Pair]) -> int:
        """Write its pairs; returns how many."""
        return write_lines(self.paths(folder), encoded(pairs))

    def lines(self, folder: Path) -> tuple[list[str], list[str]]:
        """Its source and its target lines.

        Raises: DataError if a file is missing; NotParallel.
        """
        source, target = self.raw_lines(folder)
        return [*map(bytes.decode, source)], [*map(bytes.decode, target)]

    def raw_lines(self, folder: Path) -> tuple[list[bytes], list[bytes]]:
        """The same, not decoded."""
        source, target = map(files.all_lines, self.paths(folder))
        if not len(source) == len(target) == self.pairs:
            got = f"{len(source)} and {len(target)} lines"
            raise files.NotParallel(f"{' and '.join(map(str, self.paths(folder)))}: must have {self.pairs}, got {got}")
        return source, target


def write_shards(folder: Path, bitext: str, pairs: Iterable[RawPair]) -> Iterator[Shard]:
    """Write the pairs of a bitext into the folder of a corpus, cut at `SHARD_PAIRS`; yields each shard."""
    pairs = iter(pairs)
    for number in count():
        if (first := next(pairs, None)) is None:
            return
        shard = Shard(bitext, number, 0)
        num_pairs = write_lines(shard.paths(folder), chain([first], islice(pairs, SHARD_PAIRS - 1)))
        yield shard._replace(pairs=num_pairs)


def write_bitexts(folder: Path, shards: Iterable[Shard]) -> None:
    """Write the list of the training part's shards, bitexts in order of trust, into the folder of a corpus."""
    counts: dict[str, list[int]] = {}
    for shard in shards:
        counts.setdefault(shard.bitext, []).append(shard.pairs)
    files.write_json(folder / TRAIN / BITEXTS, counts)


def read_bitexts(folder: Path) -> list[Shard]:
    """The shards of the training part, bitexts in order of trust.

    Raises: DataError if the list is missing.
    """
    counts = files.read_json(folder / TRAIN / BITEXTS)
    return [Shard(name, number, pairs) for name, each in counts.items() for number, pairs in enumerate(each)]


def paths(folder: Path, part: str) -> tuple[Path, Path]:
    """The source and the target file of a part that is not the training part."""
    return folder / f"{part}.source.txt", folder / f"{part}.target.txt"


def is_test(part: str) -> bool:
    """Whether a part is scored: every part but those that training sees."""
    return part not in (TRAIN, VALIDATION)


def names(folder: Path) -> list[str]:
    """The parts in a folder but the training part, sorted; one without its source or target fails when it is read.

    Raises: DataError if there is none.
    """
    sides = (".source.txt", ".target.txt")
    parts = sorted({path.name.removesuffix(side) for side in sides for path in folder.glob(f"*{side}")})
    if not parts:
        raise files.DataError(f"{folder}: holds no part; expected <part>.source.txt and <part>.target.txt")
    return parts


def read(folder: Path, part: str) -> Iterator[Pair]:
    """The pairs of a part, one at a time; of the training part one bitext after the other.

    Raises: DataError if a line is not UTF-8 or the two files are not parallel.
    """
    if part == TRAIN:
        return chain.from_iterable(shard.read(folder) for shard in read_bitexts(folder))
    return files.parallel(*paths(folder, part), files.read_lines)


def read_tests(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Every test part in a folder: its name, its source lines and its target lines.

    Raises: DataError as `names` and `read` do.
    """
    for part in filter(is_test, names(folder)):
        pairs = list(read(folder, part))
        yield part, [source for source, _ in pairs], [target for _, target in pairs]


def write(folder: Path, part: str, pairs: Iterable[Pair]) -> int:
    """Write the pairs of a part but the training part, one at a time; returns how many."""
    return write_lines(paths(folder, part), encoded(pairs))


def encoded(pairs: Iterable[Pair]) -> Iterator[RawPair]:
    """The pairs in UTF-8."""
    return ((source.encode(), target.encode()) for source, target in pairs)


def write_lines(paths: tuple[Path, Path], pairs: Iterable[RawPair]) -> int:
    """Write the pairs into a source and a target file, one at a time; returns how many."""
    num_pairs = 0
    with files.new_file(paths[0], "wb") as left, files.new_file(paths[1], "wb") as right:
        for num_pairs, (source, target) in enumerate(pairs, 1):  # noqa: B007 (the count is the result)
            left.write(source + b"\n")
            right.write(target + b"\n")
    return num_pairs


def copy(part: str, old: Path, new: Path) -> int:
    """Read all of a part but the training part, then copy it byte for byte; returns how many pairs it has.

    Raises: DataError if a line is not UTF-8, the two files are not parallel, or there is no pair.
    """
    count = sum(1 for _ in read(old, part))
    if not count:
        raise files.DataError(f"{paths(old, part)[0]}: is empty, got 0 pairs; expected at least one")
    for path, copied in zip(paths(old, part), paths(new, part), strict=True):
        shutil.copyfile(path, copied)
    return count
