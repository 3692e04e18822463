"""Lines translated one by one; those of a long file in shards, so that a killed translation goes on."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ..common import files, work
from ..compute import ids
from ..console import progress
from ..console.printing import printable
from ..decoding.markup import MARK
from ..decoding.settings import Decoding
from ..decoding.translator import Translator
from ..vocabularies.equals import listed

CAPITALS = 1.5  # times as many pieces as lower case takes: next to no such word was in the training text
TOGETHER = 200  # lines read from a file or a pipe before the first answer, so that batches have similar lengths
MANY = 1_000_000  # lines; a file with more is translated in shards
SHARD = 1000 * TOGETHER  # lines, so that batches are those of the file in one go


class Lines(NamedTuple):
    """Lines to translate."""

    lines: Iterator[str]
    total: int | None = None  # how many there are, if known
    at_once: bool = False  # each is answered before the next is read
    first: int = 1  # the number of the first

    @property
    def are_many(self) -> bool:
        """Whether they are translated in shards."""
        return (self.total or 0) > MANY


class Notes(NamedTuple):
    """What to warn of once all lines are translated."""

    missing: Counter[str]  # characters that no piece spells, and how many lines have them
    capitals: list[int]  # numbers of lines in strange capitals

    def warn(self) -> None:
        """Print a line of each kind."""
        if self.missing:
            what = f"no piece of the vocabulary spells {listed(self.missing)}; such characters come back as they are"
            print(printable(f"warning: {what}"), file=sys.stderr)
        if self.capitals:
            what = f"{len(self.capitals):,} lines in capitals (first: {self.capitals[0]:,}), of which training saw"
            print(f"warning: {what} next to none; expected them in lower case", file=sys.stderr)


Translate = Callable[[Lines, Notes], Iterator[str]]


def translations(
    load: Callable[[], Translator], decoding: Decoding, n_best: int | None, given: Lines, notes: Notes
) -> Iterator[str]:
    """The output of each input line: its best translation, or numbered ones with scores; tabs in them become spaces."""
    translator, numbered = load(), enumerate(given.lines, given.first)
    while block := list(islice(numbered, 1 if given.at_once else TOGETHER)):
        ranked = translator.ranked([line for _, line in block], decoding, n_best or 1)
        for (number, line), ranks in zip(block, ranked, strict=True):
            notes.missing.update(translator.vocabulary.unwritable(MARK.sub(" ", line)))
            notes.capitals.extend([number] if are_strange_capitals(line, translator) else [])
            if n_best is None:
                yield f"{ranks[0][0]}\n"
            else:
                yield "".join(f"{number}\t{score:.4f}\t{text.replace(chr(9), ' ')}\n" for text, score, _ in ranks)


def are_strange_capitals(line: str, translator: Translator) -> bool:
    """Whether a line is all in capitals that take many more pieces, or unknown ones, than the same in lower case."""
    if not line.isupper() or len(line.split()) < 3:
        return False
    upper, lower = (
        len(pieces) + pieces.count(ids.UNK) for pieces in translator.vocabulary.encode_source([line, line.lower()])
    )
    return upper >= CAPITALS * lower


def in_shards(
    translate: Translate, read: Callable[[], Iterator[str]], total: int, folder: Path, notes: Notes
) -> Iterator[str]:
    """The output of each of the lines that `read` gives, shard by shard; `folder` keeps those that are done.

    They are translated here, or by the workers of a Dask cluster.
    """
    progress.say("translate", f"{total:,} lines in shards of {SHARD:,}; if it is killed, the same command goes on")
    work_on = partial(translate_shard, translate, read, total, folder)
    shards = range(-(-total // SHARD))
    for shard, found in zip(shards, work.map_shards(work_on, shards, folder, "notes", processes=1), strict=True):
        notes.missing.update(found[0])
        notes.capitals.extend(found[1])
        with path_of(folder, shard).open(encoding="utf-8", newline="\n") as file:
            yield from file


def translate_shard(
    translate: Translate, read: Callable[[], Iterator[str]], total: int, folder: Path, shard: int
) -> tuple[Counter[str], list[int]]:
    """Translate a shard into its file; returns what to warn of."""
    begin, notes = shard * SHARD, Notes(Counter(), [])
    own = Lines(islice(read(), begin, begin + SHARD), first=begin + 1)
    what = f"translate from line {begin + 1:,}"
    outputs = progress.track(translate(own, notes), what, total=min(SHARD, total - begin), unit="lines")
    with files.new_file(path_of(folder, shard)) as file:
        file.writelines(outputs)
    return notes.missing, notes.capitals


def path_of(folder: Path, shard: int) -> Path:
    """The file of a shard's translations."""
    return folder / work.DATA / f"{shard:05}.txt"
