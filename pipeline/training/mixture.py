"""How often a pass over the training part takes each pair, by its bitext."""

from collections.abc import Collection, Mapping
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field
from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

from ..common.params import ParamsError, Section, name_faults
from ..common.parts import Shard, read_bitexts
from ..common.seeding import generator
from ..common.system import Name, System, corpus_file
from ..console.progress import console, say
from ..encoding.shards import Encoded

TITLES = "pairs used", "times a pass", "target tokens", "passes"


class Mixing(Section):
    """The key `mixture` of a corpus: times a pass for each bitext, 1.0 for one that it does not name.

    0.5 is another half each pass, 0 leaves a bitext out.
    """

    mixture: dict[Name, Annotated[float, Field(ge=0)]]

    def bitext_faults(self, bitexts: Collection[str], where: str) -> list[str]:
        """A line for each fault of the key at `where`, given the bitexts of the corpus."""
        if all(self.mixture.get(bitext) == 0 for bitext in bitexts):
            return [f"{where}: leaves every bitext out, got 0 for all; expected a weight above 0"]
        return name_faults(self.mixture, bitexts, where)

    def open(self, system: System) -> Encoded:
        """The training part of a system without the bitexts of weight 0.

        Raises: ParamsError listing every fault of the names; DataError if a file is missing.
        """
        bitexts, where = {shard.bitext for shard in read_bitexts(system.encoded)}, corpus_file(system.corpus)
        if faults := self.bitext_faults(bitexts, f"{where}: mixture"):
            raise ParamsError("\n".join(faults))
        return Encoded.open_bitexts(system.encoded, [bitext for bitext, weight in self.mixture.items() if not weight])


class Portion(NamedTuple):
    """A bitext in a training."""

    pairs: int  # that are used: not empty and not too long
    weight: float  # times a pass
    share: float  # of the target tokens of all updates
    passes: float  # over its pairs, in the whole training


def show(name: str, portions: Mapping[str, Portion]) -> None:
    """Show what the training called `name` sees of each bitext: a line of one, a table of several."""
    if len(portions) == 1:
        [portion] = portions.values()
        say(name, f"{portion.pairs:,} pairs, {portion.passes:,.1f} passes")
        return
    table = Table("bitext", *(Column(title, justify="right") for title in TITLES), box=SIMPLE_HEAD)
    for bitext, portion in portions.items():
        cells = f"{portion.pairs:,}", f"{portion.weight:g}", f"{portion.share:.1%}", f"{portion.passes:,.1f}"
        table.add_row(bitext, *cells)
    console.print(table)


def times(weight: float, seed: int, shard: Shard, epoch: int) -> np.ndarray:
    """How often a pass takes each pair of a shard: floor(u + (epoch + 1) w) - floor(u + epoch w), u drawn for a pair.

    So each pair of weight 0.5 is in every second pass, and half of them in each.
    """
    draw = generator(seed, f"mixture {shard.bitext}", shard.number).random(shard.pairs)
    return (np.floor(draw + (epoch + 1) * weight) - np.floor(draw + epoch * weight)).astype(np.int64)
