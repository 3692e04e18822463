"""Broken tables of a data set of the hub: pairs of text, or one clean line."""

import csv
import io
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline import files
from pipeline.corpora import hub
from pipeline.corpora.fetching import Store

ROWS = [{"fr": f"phrase {number}", "en": f"sentence {number}"} for number in range(40)]


def parquet() -> bytes:
    """The rows as a parquet file."""
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), out)
    return out.getvalue()


def comma_separated() -> bytes:
    """The rows as a CSV file."""
    out = io.StringIO()
    table = csv.DictWriter(out, ["fr", "en"])
    table.writeheader()
    table.writerows(ROWS)
    return out.getvalue().encode()


SOUND = {
    "parquet": parquet(),
    "csv": comma_separated(),
    "jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
}


def broken(draw: random.Random, content: bytes) -> bytes:
    """The file with a few bytes changed, taken out or put in, or cut off."""
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(changed))
        match draw.randrange(4):
            case 0:
                changed[at] ^= 1 << draw.randrange(8)
            case 1:
                changed[at : at + draw.randrange(1, 30)] = b""
            case 2:
                changed[at:at] = draw.randbytes(draw.randrange(1, 30))
            case _ if draw.random() < 0.3 and at:
                del changed[at:]
    return bytes(changed)


@pytest.mark.filterwarnings("ignore")
def test_broken_tables_are_a_line(campaign, tmp_path: Path) -> None:
    draw = random.Random(18)
    for number in range(campaign.trials(full=300, short=6)):
        kind = list(SOUND)[number % len(SOUND)]
        mirror = tmp_path / str(number)  # the library remembers a path
        folder = mirror / hub.HOST / "datasets/toy/pairs"
        folder.mkdir(parents=True)
        (folder / f"train.{kind}").write_bytes(broken(draw, SOUND[kind]))
        with campaign.trying("a broken table of the hub"):
            try:
                store = Store(mirror / "downloads", str(mirror))
                found = list(hub.pairs("toy/pairs", "main", None, "train", ("fr", "en"), store))
            except files.DataError as error:
                said = str(error)
                assert said.startswith(f"{hub.HOST}/datasets/toy/pairs"), said
                assert said.isprintable(), said
                assert len(said) < 1500, said
            else:
                assert all(isinstance(text, bytes) and b"\n" not in text for pair in found for text in pair)
                assert sum(len(text) for pair in found for text in pair) < 1 << 16
