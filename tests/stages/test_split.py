"""The stage `split` as dvc.yaml runs it, on forty readable pairs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.data import parts
from pipeline.data.splits import normalise

ROOT = Path(__file__).parents[2]
SUBJECTS = {"Le chat": "The cat", "La fille": "The girl", "Le garçon": "The boy", "Mon ami": "My friend", "Léa": "Lea"}
VERBS = {"dort": "sleeps", "chante": "sings", "mange": "eats", "arrive": "arrives", "danse": "dances", "rit": "laughs"}
GOOD = [(f"{a} {b}.", f"{c} {d}.") for a, c in SUBJECTS.items() for b, d in VERBS.items()]
AGAIN = [(f"{a} {b}.", f"{c} {d} now.") for a, c in SUBJECTS.items() for b, d in list(VERBS.items())[:2]]
PAIRS = GOOD + AGAIN  # ten sources have two translations
BROUGHT = {
    "validation": [("LE CHAT dort.", "A cat is asleep."), ("Il neige.", "It snows.")],
    "test": [("Il pleut.", "It rains."), ("Elle rit.", "THE GIRL LAUGHS.")],
    "news": [("Il  neige.", "Snow falls."), ("Elle dort.", "She sleeps.")],
}


def split(folder, **section):
    """Run the command; its return code and what it wrote to stderr."""
    section = {"carve_by": "source", "validation_share": 0.2, "test_share": 0.2, "leakage": "drop", "seed": 3} | section
    (folder / "params.yaml").write_text(json.dumps({"corpora": {"toy": {"split": section}}}))
    command = [sys.executable, "-m", "stages.split", "toy"]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    return done.returncode, done.stderr


def lay(folder, **pairs):
    """A clean corpus of the parts given."""
    (clean := folder / "data/clean/toy").mkdir(parents=True, exist_ok=True)
    counts = {part: parts.write(clean, part, found) for part, found in pairs.items()}
    about = {"source_language": "fr", "target_language": "en", "pairs": counts}
    (clean / "clean.json").write_text(json.dumps(about))
    return clean


def outcome(folder):
    """The pairs of each part, and the metric."""
    out = folder / "data/split/toy"
    names = sorted(path.name.removesuffix(".source.txt") for path in out.glob("*.source.txt"))
    return {part: list(parts.read(out, part)) for part in names}, json.loads(out.with_suffix(".json").read_text())


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "data/split").rglob("*.*"))}


def test_carved_parts_are_apart_and_counted(tmp_path):
    lay(tmp_path, train=PAIRS)
    assert split(tmp_path) == (0, "")
    found, metric = outcome(tmp_path)
    assert set(found) == {"train", "validation", "test"}
    assert metric["pairs"] == {part: len(pairs) for part, pairs in found.items()}
    assert all(metric["pairs"].values())
    assert sum(metric["pairs"].values()) + sum(metric["dropped"].values()) == len(PAIRS) == 40
    for one, other in (("train", "test"), ("train", "validation"), ("validation", "test")):
        for side in (0, 1):
            assert not {normalise(pair[side]) for pair in found[one]} & {normalise(pair[side]) for pair in found[other]}
    assert set(metric["leakage"]) == {"train/test", "train/validation", "validation/test"}
    assert all(overlap["source"] == 0 for overlap in metric["leakage"].values())
    assert metric["line_split"]["held_out"] == 40 - metric["pairs"]["train"] - metric["dropped"]["train"]
    assert metric["line_split"]["share"] == round(metric["line_split"]["seen"] / metric["line_split"]["held_out"], 6)
    languages = json.loads((tmp_path / "data/split/toy/languages.json").read_text())
    assert languages == {"source_language": "fr", "target_language": "en"}


def test_targets_that_stand_in_a_carved_part_are_dropped(tmp_path):
    """All targets are the same, so that nothing can be left beside a test part."""
    lay(tmp_path, train=[(source, "Yes.") for source, _ in GOOD])
    code, said = split(tmp_path)
    assert code == 1
    assert "data/clean/toy: no pair is left in validation, got " in said
    assert split(tmp_path, leakage="report") == (0, "")
    metric = outcome(tmp_path)[1]
    assert metric["dropped"] == {"validation": 0, "train": 0}
    assert metric["leakage"]["train/test"] == {"source": 0, "target": metric["pairs"]["train"], "dropped": 0}
    assert metric["line_split"]["share"] == 1.0


def test_brought_parts_by_hand(tmp_path):
    clean = lay(tmp_path, train=PAIRS, **BROUGHT)
    assert split(tmp_path, validation_share=0.0, test_share=0.0) == (0, "")
    found, metric = outcome(tmp_path)
    assert metric == {
        "pairs": {"test": 2, "news": 2, "validation": 1, "train": 37},
        "dropped": {"validation": 1, "train": 3},
        "leakage": {
            "validation/test": {"source": 0, "target": 0, "dropped": 0},
            "validation/news": {"source": 1, "target": 0, "dropped": 1},
            "train/test": {"source": 0, "target": 1, "dropped": 1},
            "train/news": {"source": 0, "target": 0, "dropped": 0},
            "train/validation": {"source": 2, "target": 0, "dropped": 2},
        },
    }
    assert found["validation"] == BROUGHT["validation"][:1]
    cat, girl = ("Le chat dort.", "The cat sleeps."), ("La fille rit.", "The girl laughs.")
    lost = [cat, ("Le chat dort.", "The cat sleeps now."), girl]
    assert found["train"] == [pair for pair in PAIRS if pair not in lost]
    for part in ("test", "news"):
        for copied, path in zip(parts.paths(tmp_path / "data/split/toy", part), parts.paths(clean, part), strict=True):
            assert copied.read_bytes() == path.read_bytes()


def test_a_brought_test_part_and_a_carved_validation_part(tmp_path):
    lay(tmp_path, train=PAIRS, news=BROUGHT["news"])
    assert split(tmp_path, test_share=0.0) == (0, "")
    found, metric = outcome(tmp_path)
    assert set(found) == {"train", "validation", "news"}
    assert set(metric["leakage"]) == {"train/news", "train/validation", "validation/news"}


def test_order_and_more_pairs_move_none_and_runs_repeat(tmp_path):
    lay(tmp_path, train=PAIRS)
    assert split(tmp_path) == (0, "")
    first, before = bytes_of(tmp_path), outcome(tmp_path)[0]
    assert split(tmp_path) == (0, "")
    assert bytes_of(tmp_path) == first
    lay(tmp_path, train=[("Encore une phrase.", "One more sentence."), *reversed(PAIRS)])
    assert split(tmp_path) == (0, "")
    after = outcome(tmp_path)[0]
    assert all(set(before[part]) <= set(after[part]) for part in before)
    assert sum(map(len, after.values())) - sum(map(len, before.values())) in (0, 1)


@pytest.mark.parametrize(
    ("brought", "section", "message"),
    [
        (
            BROUGHT,
            {"validation_share": 0.0, "test_share": 0.0, "leakage": "fail"},
            "data/clean/toy: parts share sentences, got validation/news 1 sources and 0 targets, train/test 0 sources "
            "and 1 targets, train/validation 2 sources and 0 targets; expected none",
        ),
        (
            BROUGHT,
            {"validation_share": 0.0},
            "params.yaml: corpora.toy.split.test_share: the corpus brings a test part, got 0.2; expected 0.0",
        ),
        (
            {},
            {"validation_share": 0.0},
            "params.yaml: corpora.toy.split.validation_share: the corpus brings no validation part, got 0; "
            "expected above 0",
        ),
        (
            {},
            {"test_share": 1e-9},
            "params.yaml: corpora.toy.split.test_share: carves no pair from 40, got 1e-09; expected a larger share",
        ),
        (
            {"validation": PAIRS[:3], "test": PAIRS[:4]},
            {"validation_share": 0.0, "test_share": 0.0},
            "data/clean/toy: no pair is left in validation, got 3 dropped for leakage; expected at least one",
        ),
    ],
    ids=["leakage", "share of a part brought", "no share", "small share", "emptied"],
)
def test_bad_input_is_one_line_and_leaves_nothing(brought, section, message, tmp_path):
    lay(tmp_path, train=PAIRS, **brought)
    assert split(tmp_path, **section) == (1, f"error: {message}\n")
    assert not list((tmp_path / "data").glob("split/*"))
