"""The stage `vocabulary` on a readable corpus."""

import os
import re
import subprocess
import sys

import pytest

from pipeline import files
from pipeline.vocabularies.vocabulary import Vocabulary
from stages import vocabulary

SOURCE = ["le chat voit la maison", "le chien voit le chat", "la maison est rouge", "où est le petit chien"] * 10
TARGET = ["the cat sees the house", "the dog sees the cat", "the house is red", "where is the small dog"] * 10
REST = "byte_fallback: false, character_coverage: 1.0, seed: 1"
PARAMS = f"""
vocabularies:
  joint: {{kind: bpe, size: 50, joint: true, sentences: 1000, {REST}}}
  separate: {{kind: unigram, size: 24, joint: false, sentences: 30, {REST}}}
  large: {{kind: bpe, size: 8000, joint: true, sentences: 1000, {REST}}}
  word_8: {{kind: word, words: 8, sentences: 1000, seed: 1}}
  word_30k: {{kind: word, words: 30000, sentences: 1000, seed: 1}}
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The working directory, with params.yaml and the split corpus `toy`."""
    (tmp_path / "params.yaml").write_text(PARAMS, encoding="utf-8")
    for part, source, target in (("train", SOURCE, TARGET), ("test", ["猫"], ["木"])):
        files.write_lines(tmp_path / f"data/split/toy/{part}.source.txt", source)
        files.write_lines(tmp_path / f"data/split/toy/{part}.target.txt", target)
    languages = {"source_language": "fr", "target_language": "en"}
    files.write_json(tmp_path / "data/split/toy/languages.json", languages)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_writes_the_vocabulary_and_the_words_beside_it(project, project_root):
    environment = os.environ | {"PYTHONPATH": str(project_root)}
    command = [sys.executable, "-m", "stages.vocabulary", "toy-joint"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.name for path in (project / "data/vocabulary").rglob("*.*")} == {
        *("joint.model", "vocabulary.json", "toy-joint.seen_words.txt")
    }


@pytest.mark.parametrize(("name", "size"), [("joint", 50), ("separate", 24), ("word_8", 12)])
def test_a_vocabulary_of_the_training_part(project, name, size):
    vocabulary.main(f"toy-{name}")
    trained = Vocabulary.load(project / f"data/vocabulary/toy-{name}")
    assert (trained.joint, trained.source_size, trained.target_size) == (name == "joint", size, size)
    text = ["the cat sees the house", "the dog sees the cat"]
    assert trained.decode_target(trained.encode_target(text)) == text
    assert "<unk>" in trained.target_pieces(trained.encode_target(["木"])[0])  # the test part is not seen


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "word_30k",
            "vocabularies.word_30k.words: 30000 is more than the data supports (at most 10 for data/split/toy/",
        ),
        ("large", "vocabularies.large.size: 8000 is more than the data supports (at most "),
        ("seperate", "params.yaml: vocabularies.seperate: no such section; nearest is 'separate'"),
    ],
)
def test_a_vocabulary_that_cannot_be_is_named_and_leaves_nothing(project, name, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        vocabulary.main(f"toy-{name}")
    assert not list((project / "data").glob("vocabulary/*"))
