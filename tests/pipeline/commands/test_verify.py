"""`nmt verify`, in the toy build of the report's tests: `good` scores 30, `poor` 20 BLEU, both 80 chrF, loss 1.25."""

import pytest

from pipeline.commands.verify import EXPECTED
from pipeline.common import files
from pipeline.common.system import System
from tests.toys import results

SIGNATURES = {"bleu": "tok:13a", "chrf": "nc:6"}


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A build of both systems with these seeds, and the file of what is expected; to which the test goes."""
    monkeypatch.chdir(tmp_path)

    def write(expected, good=(30.0,), signatures=SIGNATURES):
        results.write_project(tmp_path, {"good": list(good), "poor": [20.0] * len(good)})
        for seed in range(2, len(good) + 1):
            files.write_json(System("toy", "bpe", "good", "tiny", seed).scored / "scores.json", {})
        entries = {}
        for model, bleu in expected.items():
            scores = [{"validation": {"loss": 1.25}, "test": {"bleu": one, "chrf": 80.0}} for one in bleu]
            entries[f"toy-bpe-{model}-tiny"] = {"signatures": signatures, "runs": [{"scores": one} for one in scores]}
        files.write_json(EXPECTED, entries)

    return write


def verdict(said, part, measure):
    """Score and verdict of a measure, behind `<mean> ± <margin> (<trainings>)`."""
    [row] = [line for line in said.out.splitlines() if f" {part} " in line and f" {measure} " in line]
    got, _, words = row.partition(")")[2].strip().partition(" ")
    return float(got), words.strip()


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ([31.9], "passes"),  # of one training: two BLEU
        ([32.1], "worse"),
        ([27.9], "suspiciously better"),
        ([30.0, 31.0, 35.0, 36.0], "passes"),  # 33.0, widely spread
        ([32.0, 32.01, 32.0, 32.01], "worse"),
    ],
)
def test_a_score_passes_within_the_spread_of_the_trainings(build, run, expected, words):
    build({"good": expected})
    said = run("verify")
    assert verdict(said, "test", "bleu") == (30.0, words)
    assert verdict(said, "test", "chrf") == (80.0, "passes")
    assert said.status == (words != "passes")
    assert [line.split()[1:] for line in said.out.splitlines() if "poor" in line] == [["no", "expectation"]]


@pytest.mark.parametrize(("loss", "words"), [(1.36, "worse"), (1.14, "suspiciously better")])
def test_a_lower_loss_is_better(build, run, loss, words):
    build({"good": [30.0]})
    scores = {"validation": {"loss": loss}, "test": {"bleu": 30.0, "chrf": 80.0}}
    files.write_json(System("toy", "bpe", "good", "tiny", 1).metrics, scores)
    said = run("verify")
    assert (verdict(said, "validation", "loss"), said.status) == ((loss, words), 1)


def test_several_seeds_count_by_their_mean(build, run):
    build({"good": [33.0]}, good=[30.0, 34.0])
    assert verdict(run("verify"), "test", "bleu") == (32.0, "passes")


def test_an_expected_system_that_is_not_built_fails(build, run):
    build({"good": [30.0], "poor": [20.0]})
    assert run("verify").status == 0
    System("toy", "bpe", "poor", "tiny", 1).metrics.unlink()
    said = run("verify")
    assert said.status == 1
    assert [line.split()[1:] for line in said.out.splitlines() if "poor" in line] == [["not", "built"]]


def test_a_measure_that_was_not_scored_fails(build, run):
    build({"good": [30.0]})
    files.write_json(System("toy", "bpe", "good", "tiny", 1).metrics, {"test": {"bleu": 30.0, "chrf": 80.0}})
    said = run("verify")
    assert said.status == 1
    assert " loss " in next(line for line in said.out.splitlines() if "nan" in line)


def test_another_signature_is_said(build, run):
    build({"good": [30.0]}, signatures=SIGNATURES | {"bleu": "tok:intl"})
    said = run("verify")
    assert "toy-bpe-good-tiny, test bleu: scored in another way, got tok:13a; expected tok:intl\n" in said.out
    assert said.status == 0


def test_nothing_to_compare_is_a_fault(build, fails):
    build({"other": [30.0]})
    assert fails("verify") == f"{EXPECTED}: has none of the finished systems; expected some of toy-bpe-other-tiny"
    for model in ("good", "poor"):
        System("toy", "bpe", model, "tiny", 1).metrics.unlink()
    assert fails("verify").startswith("nmt verify: no system of `build` is finished; ")
