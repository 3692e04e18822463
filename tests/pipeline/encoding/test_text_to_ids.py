"""Every pair is encoded and counted, in the same bytes whatever the processes, which end with their parent."""

import os
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import psutil
import pytest

from pipeline.common import files
from pipeline.encoding import text_to_ids
from pipeline.encoding.shards import Encoded
from pipeline.vocabularies import subwords
from pipeline.vocabularies.subwords import Subwords
from pipeline.vocabularies.vocabulary import Vocabulary

SOURCE = ["le chat voit", "", "la maison", "le 猫 voit la maison", "le chien"] * 8
TARGET = ["the cat sees", "a tree", "", "the cat sees the house", "a 木 and a 木"] * 8
TOY = Subwords(
    kind="bpe", size=40, joint=True, byte_fallback=False, split_digits=True, character_coverage=1.0, sentences=9, seed=1
)

# Encodes without end; says the ids of its workers once they work.
ENDLESS = """
import itertools, pathlib, sys, psutil
from pipeline.encoding import text_to_ids
if __name__ == "__main__":
    pairs = itertools.repeat([("a", "b")] * 10)
    for number, _ in enumerate(text_to_ids.encode_blocks(pathlib.Path(sys.argv[1]), pairs, 2)):
        if number == 10:
            print(*(child.pid for child in psutil.Process().children()), flush=True)
"""


@pytest.fixture
def split(tmp_path) -> Path:
    """A folder of the stage split with a train part."""
    files.write_lines(tmp_path / "train.source.txt", SOURCE)
    files.write_lines(tmp_path / "train.target.txt", TARGET)
    return tmp_path


@pytest.fixture
def trained(tmp_path) -> Path:
    """The folder of a vocabulary that knows neither of two characters."""
    folder = tmp_path / "vocabulary"
    folder.mkdir()
    for side, lines in (("source", SOURCE), ("target", TARGET)):
        known = [line.replace("猫", "chat").replace("木", "tree") for line in lines]
        files.write_lines(folder / f"{side}.txt", known)
    subwords.train(TOY, folder / "source.txt", folder / "target.txt", folder, where="vocabularies.toy")
    return folder


def encode(trained: Path, split: Path, folder: Path) -> dict[str, int]:
    """The counts of the train part, encoded into `folder`."""
    return text_to_ids.encode_part(trained, split / "train.source.txt", split / "train.target.txt", folder)


def test_rows_are_the_vocabularys_ids_and_are_counted(trained, split, tmp_path):
    counts, loaded = encode(trained, split, tmp_path / "out"), Vocabulary.load(trained)
    part = Encoded.open(tmp_path / "out")
    assert [row.tolist() for row in part.source] == loaded.encode_source(SOURCE)
    assert [row.tolist() for row in part.target] == loaded.encode_target(TARGET)
    assert counts == {
        "pairs": 40,
        "source_tokens": sum(map(len, loaded.encode_source(SOURCE))),
        "target_tokens": sum(map(len, loaded.encode_target(TARGET))),
        "source_unknown": 8,
        "target_unknown": 16,
    }


def test_blocks_and_processes_leave_no_trace(trained, split, tmp_path, monkeypatch):
    counts = encode(trained, split, tmp_path / "one")
    monkeypatch.setattr(text_to_ids, "BLOCK_PAIRS", 3)
    monkeypatch.setattr(text_to_ids, "POOL_PAIRS", 1)
    monkeypatch.setattr(text_to_ids.cores, "count", lambda: 2)
    assert encode(trained, split, tmp_path / "two") == counts
    for path in (tmp_path / "one").iterdir():
        assert (tmp_path / "two" / path.name).read_bytes() == path.read_bytes()


def test_little_is_read_ahead(trained):
    numbers = count()
    read = ([("le chat", "the cat")] for _ in numbers)
    encoded = text_to_ids.encode_blocks(trained, read, 2)
    next(encoded)
    encoded.close()
    assert next(numbers) <= 6


def test_workers_end_with_a_killed_parent(trained, project_root):
    command = [sys.executable, "-c", ENDLESS, str(trained)]
    environment = os.environ | {"PYTHONPATH": str(project_root), "DVC_STAGE": "encode"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        workers = [int(pid) for pid in process.stdout.readline().split()]
        process.send_signal(signal.SIGKILL)
    assert len(workers) >= 2
    deadline = time.monotonic() + 10
    while any(map(psutil.pid_exists, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    alive = [pid for pid in workers if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]
    assert not alive


def test_files_that_are_not_parallel_are_refused(trained, split, tmp_path):
    files.write_lines(split / "train.target.txt", TARGET[1:])
    with pytest.raises(files.DataError, match=r"has 40 lines, .*train\.target\.txt 39: the two files must be parallel"):
        encode(trained, split, tmp_path / "out")
