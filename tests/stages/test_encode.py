"""The stage `encode` on a readable corpus."""

import os
import subprocess
import sys

import pytest

from pipeline import files
from pipeline.encoding.shards import Encoded
from pipeline.vocabularies import subwords
from pipeline.vocabularies.subwords import Subwords
from pipeline.vocabularies.vocabulary import Vocabulary
from stages import encode

SOURCE = ["le chat voit la maison", "le chien voit le chat", "la maison est rouge", "où est le petit chien"] * 10
TARGET = ["the cat sees the house", "the dog sees the cat", "the house is red", "where is the small dog"] * 10
PARTS = {"train": (SOURCE, TARGET), "test": (["le petit 猫", "", "la maison"], ["the small cat", "the red dog", ""])}
TOY = Subwords(kind="bpe", size=45, joint=False, byte_fallback=False, character_coverage=1.0, sentences=99, seed=1)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The working directory, with the split corpus `toy` and its vocabulary `separate`."""
    for part, sides in PARTS.items():
        for side, lines in zip(("source", "target"), sides, strict=True):
            files.write_lines(tmp_path / f"data/split/toy/{part}.{side}.txt", lines)
    train = tmp_path / "data/split/toy"
    with files.new_folder(tmp_path / "data/vocabulary/toy-separate") as folder:
        subwords.train(TOY, train / "train.source.txt", train / "train.target.txt", folder, where="toy")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_part_is_encoded_and_counted(project, project_root):
    environment = os.environ | {"PYTHONPATH": str(project_root)}
    command = [sys.executable, "-m", "stages.encode", "toy-separate"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    out, vocabulary = project / "data/encode/toy-separate", Vocabulary.load(project / "data/vocabulary/toy-separate")
    assert sorted(path.name for path in out.iterdir()) == ["encode.json", "test", "train"]
    for part, (source, target) in PARTS.items():
        encoded = Encoded.open(out / part)
        assert [row.tolist() for row in encoded.source] == vocabulary.encode_source(source)
        assert [row.tolist() for row in encoded.target] == vocabulary.encode_target(target)
    assert files.read_json(out / "encode.json")["test"] == {
        "pairs": 3,
        "source_tokens": sum(map(len, vocabulary.encode_source(PARTS["test"][0]))),
        "target_tokens": sum(map(len, vocabulary.encode_target(PARTS["test"][1]))),
        "source_unknown": 1,
        "target_unknown": 0,
    }


def test_invalid_utf8_is_named_and_leaves_nothing(project):
    (project / "data/split/toy/train.target.txt").write_bytes(b"the cat\nthe \xff\n")
    with pytest.raises(files.DataError, match=r"train\.target\.txt line 2: invalid UTF-8, got byte 0xff at column 5;"):
        encode.main("toy-separate")
    assert not list((project / "data").glob("encode/*"))


def test_a_corpus_that_is_not_there_is_named(project):
    with pytest.raises(files.DataError, match=r"^data/split/tory: holds no part; expected <part>\.source\.txt and"):
        encode.main("tory-separate")
