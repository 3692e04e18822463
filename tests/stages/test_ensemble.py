"""`python -m stages.ensemble <name>` with two small random systems."""

import pytest
from ruamel.yaml import YAML

from pipeline import files
from tests.toys import packages, systems

SCORE = {"metrics": ["bleu", "chrf"], "tokenize": "13a", "length_buckets": [5], "bootstrap_samples": 40, "seed": 1}
FIRST, SECOND = systems.SYSTEM, systems.SYSTEM.replace("prenorm", "postnorm")
PARTS = ("test", "other")
PAIR = {
    "corpus": "toy",
    "vocabulary": "bpe_toy",
    "first": "transformer_prenorm-tiny",
    "second": "transformer_postnorm-tiny",
}


@pytest.fixture
def project(tmp_path):
    """Two built systems, and the ensemble `two` of them."""
    for model in ("transformer_prenorm", "transformer_postnorm"):
        systems.lay_out(tmp_path, model)
    params, yaml = tmp_path / "params.yaml", YAML(typ="safe")
    yaml.dump(yaml.load(params) | {"ensembles": {"pairs": {"two": PAIR}}, "score": SCORE}, params)
    return tmp_path


def test_the_two_translate_together_as_on_the_command_line(project, run, python):
    done = run("ensemble", "two")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    source, decoded = "data/split/toy/other.source.txt", project / "data/decode"
    nmt = ("-c", "from pipeline.commands.nmt import app; app()")
    typed = python(*nmt, "translate", "--system", FIRST, "--system", SECOND, "--file", source)
    assert (decoded / "two/other.txt").read_text() == typed.stdout, typed.stderr
    assert len((decoded / "two/test.txt").read_text().splitlines()) == len(systems.PARTS["test"])
    together = {part: (decoded / "two" / f"{part}.txt").read_text() for part in PARTS}
    for system in (FIRST, SECOND):
        assert run("decode", *system.split("-")).returncode == 0
        assert any((decoded / system / f"{part}.txt").read_text() != together[part] for part in PARTS)


def test_what_it_writes(project, run):
    assert run("ensemble", "two").returncode == 0
    about = files.read_json(project / "data/decode/two/ensemble.json")
    assert about["members"] == [FIRST, SECOND]
    assert (about["decoding"]["beam_size"], about["score"]) == (packages.DECODING["beam_size"], SCORE)
    scores = files.read_json(project / "metrics/two.json")
    assert {part: set(found) for part, found in scores.items()} == {part: {"bleu", "chrf"} for part in PARTS}


def test_a_system_that_is_not_built_is_named(project, run):
    (project / "runs" / SECOND / "train/training.json").unlink()
    done = run("ensemble", "two")
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: runs/{SECOND}/train/training.json: no such file")
    assert done.stderr.count("\n") == 1
    assert not (project / "data/decode/two").exists()
    assert not (project / "metrics/two.json").exists()
