"""The bundled corpus: French and English sentences of everyday life, in phrasebook.tsv.gz beside this file."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from ..common.files import DataError

TABLE = Path(__file__).with_name("phrasebook.tsv.gz")  # part, French, English


def pairs(part: str, num_pairs: int, languages: tuple[str, str]) -> Iterator[tuple[bytes, bytes]]:
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
