"""`python -m stages.encode <corpus> <vocabulary>` on a readable corpus."""

import os
import subprocess
import sys

import pytest

from pipeline import files
from pipeline.encoding.shards import Encoded
from pipeline.vocabularies import subwords
from pipeline.vocabularies.subwords import Subwords
from pipeline.vocabularies.vocabulary import Vocabulary

SOURCE = ["le chat voit la maison", "le chien voit le chat", "la maison est rouge", "où est le petit chien"] * 10
TARGET = ["the cat sees the house", "the dog sees the cat", "the house is red", "where is the small dog"] * 10
TEST = (["le petit 猫", "", "la maison"], ["the small cat", "the red dog", ""])
NO_TEACHER = "distill: {teachers: {}, keep_references: []}"
TEACHER = "{corpus: other, vocabulary: separate, model: rnnsearch, size: tiny}"
TAUGHT = f"distill: {{teachers: {{toy: {TEACHER}}}, keep_references: []}}"
TOY = Subwords(kind="bpe", size=45, joint=False, byte_fallback=False, character_coverage=1.0, sentences=99, seed=1)


@pytest.fixture
def project(tmp_path):
    """A folder with the split corpus `toy` and its vocabulary `separate`."""
    for part, (source, target) in {"train": (SOURCE, TARGET), "test": TEST, "hard_test": TEST}.items():
        files.write_lines(tmp_path / f"data/split/toy/{part}.source.txt", source)
        files.write_lines(tmp_path / f"data/split/toy/{part}.target.txt", target)
    files.write_json(tmp_path / "data/split/toy/languages.json", {})
    files.write_lines(tmp_path / "params.yaml", [NO_TEACHER])
    train = tmp_path / "data/split/toy"
    with files.new_folder(tmp_path / "data/vocabulary/toy-separate") as folder:
        subwords.train(TOY, train / "train.source.txt", train / "train.target.txt", folder, where="toy")
    return tmp_path


@pytest.fixture
def run(project, project_root):
    """Run the stage there."""

    def run_there(*axes: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(project_root)}
        command = [sys.executable, "-m", "stages.encode", *axes]
        return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)

    return run_there


def test_every_part_is_encoded(project, run):
    done = run("toy", "separate")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    out, loaded = project / "data/encode/toy-separate", Vocabulary.load(project / "data/vocabulary/toy-separate")
    assert sorted(path.name for path in out.iterdir()) == ["encode.json", "hard_test", "test", "train"]
    for part, (source, target) in {"train": (SOURCE, TARGET), "test": TEST, "hard_test": TEST}.items():
        encoded = Encoded.open(out / part)
        assert [row.tolist() for row in encoded.source] == loaded.encode_source(source)
        assert [row.tolist() for row in encoded.target] == loaded.encode_target(target)


def test_the_counts_stand_beside_the_ids(project, run):
    run("toy", "separate")
    counts = files.read_json(project / "data/encode/toy-separate/encode.json")
    loaded = Vocabulary.load(project / "data/vocabulary/toy-separate")
    assert list(counts) == ["hard_test", "test", "train"]
    assert counts["test"] == {
        "pairs": 3,
        "source_tokens": sum(map(len, loaded.encode_source(TEST[0]))),
        "target_tokens": sum(map(len, loaded.encode_target(TEST[1]))),
        "source_unknown": 1,
        "target_unknown": 0,
    }


def test_the_training_part_of_a_corpus_with_a_teacher_has_the_teachers_translations(project, run):
    """And those alone, or the references after them; without the teacher, what it translated is removed.

    DVC would count it among the inputs, and a clone does not have it.
    """
    files.write_json(project / "data/targets/toy/corpus.json", {})
    translations = [f"the {line}" for line in TARGET]
    files.write_lines(project / "data/targets/toy/distilled/train.target.txt", translations)
    files.write_lines(project / "params.yaml", [TAUGHT])
    assert run("toy", "separate").returncode == 0
    out, loaded = project / "data/encode/toy-separate", Vocabulary.load(project / "data/vocabulary/toy-separate")

    def targets(part: str) -> list[list[int]]:
        return [row.tolist() for row in Encoded.open(out / part).target]

    assert targets("train") == loaded.encode_target(translations)
    assert targets("test") == loaded.encode_target(TEST[1])
    files.write_lines(project / "params.yaml", [TAUGHT.replace("[]", "[toy]")])
    assert run("toy", "separate").returncode == 0
    assert targets("train") == loaded.encode_target(translations + TARGET)
    assert targets("test") == loaded.encode_target(TEST[1])
    assert [row.tolist() for row in Encoded.open(out / "train").source] == loaded.encode_source(SOURCE) * 2
    assert (project / "data/targets/toy/distilled").exists()
    files.write_lines(project / "params.yaml", [NO_TEACHER])
    assert run("toy", "separate").returncode == 0
    assert targets("train") == loaded.encode_target(TARGET)
    assert os.listdir(project / "data/targets/toy") == ["corpus.json"]


def test_translations_that_are_not_one_for_each_source_are_refused(project, run):
    files.write_lines(project / "data/targets/toy/distilled/train.target.txt", TARGET[1:])
    files.write_lines(project / "params.yaml", [TAUGHT])
    done = run("toy", "separate")
    assert done.returncode == 1
    expected = "data/split/toy/train.source.txt has 40 lines, data/targets/toy/distilled/train.target.txt 39"
    assert done.stderr == f"error: {expected}: the two files must be parallel\n"


def test_invalid_utf8_is_one_line_and_leaves_nothing(project, run):
    (project / "data/split/toy/train.target.txt").write_bytes(b"the cat\nthe \xff\n")
    done = run("toy", "separate")
    where = "data/split/toy/train.target.txt line 2"
    expected = f"error: {where}: invalid UTF-8, got byte 0xff at column 5; expected text in UTF-8\n"
    assert (done.returncode, done.stderr) == (1, expected)
    assert not list((project / "data/encode").iterdir())


def test_a_corpus_that_is_not_there_is_named(run):
    done = run("tory", "separate")
    expected = "error: data/split/tory: holds no part; expected <part>.source.txt and <part>.target.txt\n"
    assert (done.returncode, done.stderr) == (1, expected)
