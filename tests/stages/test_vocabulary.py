"""`python -m stages.vocabulary <corpus> <vocabulary>` on a readable corpus."""

import os
import subprocess
import sys

import pytest

from pipeline import files
from pipeline.vocabularies.vocabulary import Vocabulary

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
def project(tmp_path):
    """A folder with params.yaml and the split corpus `toy`."""
    (tmp_path / "params.yaml").write_text(PARAMS, encoding="utf-8")
    for part in ("train", "test"):
        files.write_lines(tmp_path / f"data/split/toy/{part}.source.txt", SOURCE if part == "train" else ["猫"])
        files.write_lines(tmp_path / f"data/split/toy/{part}.target.txt", TARGET if part == "train" else ["木"])
    languages = {"source_language": "fr", "target_language": "en"}
    files.write_json(tmp_path / "data/split/toy/languages.json", languages)
    return tmp_path


@pytest.fixture
def run(project, project_root):
    """Run the stage there."""

    def run_there(*axes: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(project_root)}
        command = [sys.executable, "-m", "stages.vocabulary", *axes]
        return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)

    return run_there


@pytest.mark.parametrize(("name", "size"), [("joint", 50), ("separate", 24)])
def test_a_vocabulary_of_the_training_part(project, run, name, size):
    done = run("toy", name)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    folder = project / f"data/vocabulary/toy-{name}"
    models = ["joint.model"] if name == "joint" else ["source.model", "target.model"]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*models, "vocabulary.json"])
    assert folder.with_name(f"toy-{name}.seen_words.txt").exists()
    trained = Vocabulary.load(folder)
    assert (trained.joint, trained.source_size, trained.target_size) == (name == "joint", size, size)
    assert trained.decode_target(trained.encode_target(TARGET)) == TARGET
    assert trained.target_pieces(trained.encode_target(["木"])[0]) == ["▁", "<unk>"]  # the test part is not seen


def test_a_vocabulary_of_whole_words(project, run):
    done = run("toy", "word_8")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    folder = project / "data/vocabulary/toy-word_8"
    assert sorted(path.name for path in folder.iterdir()) == [
        "source.words.json",
        "target.words.json",
        "vocabulary.json",
    ]
    words = ["le", "chat", "chien", "est", "la", "maison", "voit", "où"]  # petit and rouge are as frequent as où
    assert files.read_json(folder / "source.words.json") == {"language": "fr", "words": words}
    assert files.read_json(folder / "vocabulary.json") == {
        "kind": "word",
        "joint": False,
        "pairs": 40,
        "source_language": "fr",
        "source_size": 12,
        "source_coverage": round(17 / 19, 6),
        "target_language": "en",
        "target_size": 12,
        "target_coverage": round(18 / 19, 6),
    }
    trained = Vocabulary.load(folder)
    known = ["the cat sees the house", "the dog sees the cat", "the house is red"]
    assert trained.decode_target(trained.encode_target(known)) == known
    assert trained.target_pieces(trained.encode_target(["where is 木"])[0]) == ["<unk>", "is", "<unk>"]


def test_more_words_than_the_data_have_is_one_line_and_leaves_nothing(project, run):
    done = run("toy", "word_30k")
    expected = (
        "error: vocabularies.word_30k.words: 30000 is more than the data supports "
        "(at most 10 for data/split/toy/train.source.txt); expected fewer words or more training pairs\n"
    )
    assert (done.returncode, done.stderr) == (1, expected)
    assert not list((project / "data/vocabulary").iterdir())


def test_a_size_beyond_the_data_is_one_line_and_leaves_nothing(project, run):
    done = run("toy", "large")
    assert done.returncode == 1
    assert done.stderr.startswith("error: vocabularies.large.size: 8000 is more than the data supports (at most ")
    assert done.stderr.endswith(
        " for data/split/toy/train.source.txt and data/split/toy/train.target.txt); "
        "expected a smaller size or more training pairs\n"
    )
    assert not list((project / "data/vocabulary").iterdir())


def test_an_unknown_vocabulary_is_named(run):
    done = run("toy", "seperate")
    expected = "error: params.yaml: vocabularies.seperate: no such section; nearest is 'separate'\n"
    assert (done.returncode, done.stderr) == (1, expected)
