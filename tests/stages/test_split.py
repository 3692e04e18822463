"""The stage `split` on forty readable pairs."""

import json
import os
import re
import subprocess
import sys

import pytest

from pipeline.corpora import parts
from pipeline.preparation.comparison import folded
from stages import split

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
NONE_CARVED = {"validation_share": 0.0, "test_share": 0.0}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Splits a corpus of the parts given by a section; the pairs of each part, and their counts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpora").mkdir()
    (clean := tmp_path / "data/clean/toy").mkdir(parents=True)

    def run_there(pairs, stage=split.main, **section):
        counts = {part: parts.write(clean, part, pairs) for part, pairs in pairs.items()}
        languages = {"source_language": "fr", "target_language": "en"}
        (clean / "clean.json").write_text(json.dumps({**languages, "pairs": counts}))
        usual = {"carve_by": "source", "validation_share": 0.2, "test_share": 0.2, "leakage": "drop", "seed": 3}
        (tmp_path / "params.yaml").write_text(json.dumps({"split": usual | {"near_leakage": "drop"}}))
        (tmp_path / "corpora/toy.yaml").write_text(json.dumps({"split": section}))
        stage("toy")
        out = tmp_path / "data/split/toy"
        written = {part: list(parts.read(out, part)) for part in parts.names(out)}
        return written, json.loads(out.with_suffix(".json").read_text())

    return run_there


def overlap(**counts):
    """The counts of two parts, 0 where nothing else is said."""
    return dict.fromkeys(("exact_source", "exact_target", "near_source", "near_target", "dropped"), 0) | counts


def test_carved_parts_are_apart_and_counted(run, tmp_path):
    written, counts = run({"train": PAIRS})
    assert counts["pairs"] == {part: len(pairs) for part, pairs in written.items()}
    assert set(counts["pairs"]) == {"train", "validation", "test"}
    assert all(counts["pairs"].values())
    dropped = sum(sum(levels.values()) for levels in counts["dropped"].values())
    assert sum(counts["pairs"].values()) + dropped == len(PAIRS) == 40
    for one, other in (("train", "test"), ("train", "validation"), ("validation", "test")):
        for side in (0, 1):
            assert not {folded(pair[side]) for pair in written[one]} & {folded(pair[side]) for pair in written[other]}
    languages = json.loads((tmp_path / "data/split/toy/languages.json").read_text())
    assert languages == {"source_language": "fr", "target_language": "en"}


def test_brought_parts_by_hand(run, tmp_path, project_root):
    def command(corpus):
        environment = os.environ | {"PYTHONPATH": str(project_root)}
        done = subprocess.run(
            [sys.executable, "-m", "stages.split", corpus], env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")

    written, counts = run({"train": PAIRS, **BROUGHT}, command, **NONE_CARVED)
    assert counts == {
        "pairs": {"test": 2, "news": 2, "validation": 1, "train": 37},
        "dropped": {"validation": {"exact": 1, "near": 0}, "train": {"exact": 3, "near": 0}},
        "leakage": {
            "validation/test": overlap(),
            "validation/news": overlap(exact_source=1, dropped=1),
            "train/test": overlap(exact_target=1, dropped=1),
            "train/news": overlap(),
            "train/validation": overlap(exact_source=2, dropped=2),
        },
    }
    nothing = {"exact": 0, "near": 0}
    assert json.loads((tmp_path / "metrics/toy.json").read_text()) == {
        "pairs": counts["pairs"],
        "dropped": counts["dropped"],
        "leakage": {"test": nothing, "news": nothing, "validation": {"exact": 2, "near": 0}},
    }
    assert written["validation"] == BROUGHT["validation"][:1]
    assert {part: written[part] for part in ("test", "news")} == {part: BROUGHT[part] for part in ("test", "news")}
    lost = [("Le chat dort.", "The cat sleeps."), ("Le chat dort.", "The cat sleeps now.")]
    assert written["train"] == [pair for pair in PAIRS if pair not in (*lost, ("La fille rit.", "The girl laughs."))]


def test_a_brought_test_part_and_a_carved_validation_part(run):
    written, counts = run({"train": PAIRS, "news": BROUGHT["news"]}, test_share=0.0)
    assert set(written) == {"train", "validation", "news"}
    assert set(counts["leakage"]) == {"train/news", "train/validation", "validation/news"}


def test_order_and_more_pairs_move_none_and_runs_repeat(run):
    before = run({"train": PAIRS})
    assert run({"train": PAIRS}) == before
    after = run({"train": [("Encore une phrase.", "One more sentence."), *reversed(PAIRS)]})[0]
    assert all(set(before[0][part]) <= set(after[part]) for part in after)


@pytest.mark.parametrize(
    ("brought", "section", "message"),
    [
        (BROUGHT, NONE_CARVED | {"leakage": "fail"}, "data/clean/toy: parts share sentences, got validation/news 1 "),
        (BROUGHT, {"validation_share": 0.0}, "corpora/toy.yaml: split.test_share: the corpus brings a test part, got"),
        ({}, {"test_share": 1e-9}, "corpora/toy.yaml: split.test_share: carves no pair from 40, got 1e-09; expected"),
        (
            {"validation": PAIRS[:3], "test": PAIRS[:4]},
            NONE_CARVED,
            "data/clean/toy: no pair is left in validation, got 3 dropped for leakage; expected at least one",
        ),
    ],
)
def test_bad_input_is_named_and_leaves_nothing(brought, section, message, run, tmp_path):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        run({"train": PAIRS, **brought}, **section)
    assert not list((tmp_path / "data").glob("split/*"))
