"""The bundled corpus: French and English sentences of everyday life, in phrasebook.tsv.gz beside this file."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ...common.files import DataError
from ..fetching import Downloads
from ..readers import RawPair
from .interface import BaseSource, Bitext, Languages

TABLE = Path(__file__).with_name("phrasebook.tsv.gz")  # part, French, English


class Source(BaseSource):
    """The first pairs of a part of the bundled corpus; French and English, either direction."""

    kind: Literal["phrasebook"]
    part: Literal["train", "validation", "test", "compositional"]
    num_pairs: Annotated[int, Field(ge=1)]

    def check_languages(self, languages: Languages) -> None:
        """It has two."""
        if {*languages} != {"fr", "en"}:
            raise ValueError(f"kind: the phrasebook is in fr and en, got {languages[0]} and {languages[1]}")


def bitexts(source: Source, languages: Languages, downloads: Downloads) -> Iterator[Bitext]:
    """The pairs, of no file."""
    yield (), pairs(source.part, source.num_pairs, languages)


def pairs(part: str, num_pairs: int, languages: Languages) -> Iterator[RawPair]:
    """The first `num_pairs` pairs of a part, French to English or English to French.

    Raises: DataError if the part has fewer.
    """
    count = 0
    with gzip.open(TABLE) as file:
        for line in file:
            name, french, english = line.rstrip(b"\n").split(b"\t")
            if name.decode() == part and count < num_pairs:
                count += 1
                yield (french, english) if languages == ("fr", "en") else (english, french)
    if count < num_pairs:
        raise DataError(f"phrasebook {part}: num_pairs must be at most {count}, got {num_pairs}")
