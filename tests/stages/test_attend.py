"""`python -m stages.attend <system>` with a random model."""

import os
import subprocess
import sys

import pytest

from pipeline import files
from pipeline.decoding.translator import Translator
from pipeline.system import System
from stages import attend
from tests.toys import systems


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The folder with the built systems, to which the test goes."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command(project, project_root):
    system = systems.lay_out(project)
    command = [sys.executable, "-m", "stages.attend", system]
    environment = os.environ | {"PYTHONPATH": str(project_root)}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    out = project / "data/attend" / system
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    assert sorted(first) == ["other.json", "test.json"]
    attend.main(system)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first


def test_some_sentences_of_every_test_part(project):
    system = systems.lay_out(project)
    attend.main(system)
    out = project / "data/attend" / system
    test = files.read_json(out / "test.json")
    assert [one["line"] for one in test] == [1, 3, 6]  # the lines of 2 to 6 words
    layers = {"encoder": 2, "decoder": 3, "cross": 3}
    for one in test:
        assert "".join(one["source"]).replace("▁", " ") == f" {systems.PARTS['test'][one['line'] - 1]}</s>"
        assert set(one["weights"]) == {f"{kind} {n}" for kind, most in layers.items() for n in range(1, most + 1)}
        heights = {"encoder": one["source"], "decoder": one["target"], "cross": one["target"]}
        widths = {"encoder": one["source"], "decoder": one["target"], "cross": one["source"]}
        for name, heads in one["weights"].items():
            kind = name.split()[0]
            assert len(heads) == 4
            assert {len(head) for head in heads} == {len(heights[kind])}
            assert {len(row) for head in heads for row in head} == {len(widths[kind])}
    assert [one["line"] for one in files.read_json(out / "other.json")] == [1, 2]


def test_a_model_without_attention_has_sentences_too(project):
    system = systems.lay_out(project, "rnn_encdec")
    attend.main(system)
    assert [one["weights"] for one in files.read_json(project / "data/attend" / system / "test.json")] == [{}] * 3


def test_a_line_longer_than_in_training_is_shown_in_part_and_named(project, capsys):
    system, most = systems.lay_out(project), systems.MAX_LENGTH - 1
    for side in ("source", "target"):
        files.write_lines(project / f"data/split/toy/test.{side}.txt", ["le chat dort", systems.WORDS, "le chat"])
    attend.main(system)
    [fits, cut, _] = files.read_json(project / "data/attend" / system / "test.json")
    assert len(fits["source"]) < len(cut["source"]) == most + 1
    [source] = Translator.built(System.parse(system)).read([systems.WORDS])
    assert capsys.readouterr().err == (
        "warning: data/split/toy/test.source.txt line 2: longer than in training, "
        f"got {source.num_pieces} pieces; only the first {most} are shown\n"
    )
