"""The training text that a vocabulary is made from, and the tags of its bitexts: pieces that no text gives."""

import re
from collections.abc import Mapping
from itertools import compress
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from ..common import parts
from ..common.files import DataError
from ..common.params import ParamsError, Section, name_faults
from ..common.seeding import sample
from ..common.system import Name
from ..console.progress import track

SIDES = ("source", "target")
RESERVED = re.compile("<(?:pad|unk|/?s|0x[0-9A-F]{2})>")


def as_piece(tag: str) -> str:
    """A tag, checked to be one piece that no other is called."""
    if tag.split() != [tag] or RESERVED.fullmatch(tag):
        raise ValueError(f"must be a word such as <back>, none of <pad> <unk> <s> </s>, got {tag!r}")
    return tag


class Tagging(Section):
    """The key `tags` of a corpus: the piece in front of each source of a bitext."""

    tags: dict[Name, Annotated[str, AfterValidator(as_piece)]]

    @classmethod
    def read(cls, corpus: str, split: Path) -> dict[str, str]:
        """The tags of a corpus whose text is in `split`.

        Raises: ParamsError listing every fault; DataError if there is no text.
        """
        place = f"corpora/{corpus}.yaml"
        tags = cls.load_own(f"{place}:").tags
        if faults := name_faults(tags, {shard.bitext for shard in parts.read_bitexts(split)}, f"{place}: tags"):
            raise ParamsError("\n".join(faults))
        return tags


class Sample(NamedTuple):
    """Pairs that are drawn, and the characters of the others, by the side."""

    lines: dict[str, list[str]]
    others: dict[str, set[str]]
    tags: list[str]  # pieces of the source that no text gives

    @property
    def pairs(self) -> int:
        """How many are drawn."""
        return len(self.lines["source"])


def read(split: Path, sentences: int, seed: int, tags: Mapping[str, str], *, has_others: bool) -> Sample:
    """A sample of `sentences` pairs, all if there are no more, in one pass over the training part in `split`.

    The characters of the others are noted if it `has_others`.

    Raises: DataError if a text holds one of the bitexts' tags.
    """
    shards = parts.read_bitexts(split)
    chosen = sample(sum(shard.pairs for shard in shards), sentences, seed)
    drawn = Sample({side: [] for side in SIDES}, {side: set() for side in SIDES}, list(dict.fromkeys(tags.values())))
    begin = 0
    for shard in track(shards, "sample", total=len(shards), unit="shards"):
        is_drawn = chosen[begin : begin + shard.pairs]
        begin += shard.pairs
        for side, path, lines in zip(SIDES, shard.paths(split), shard.lines(split), strict=True):
            for bitext, tag in tags.items():
                if number := next((number for number, line in enumerate(lines, 1) if tag in line), 0):
                    where = f"{path} line {number}"
                    raise DataError(f"tags.{bitext}: {where} holds it, got {tag!r}; expected a tag that no text holds")
            drawn.lines[side] += compress(lines, is_drawn)
            if has_others:
                drawn.others[side].update(*compress(lines, ~is_drawn))
    return drawn
