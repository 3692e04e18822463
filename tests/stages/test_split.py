"""The stage `split` as dvc.yaml runs it, on forty readable pairs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.corpora import parts
from pipeline.preparation.comparison import folded, sentences

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
    usual = {"leakage": "drop", "near_leakage": "drop", "seed": 3}
    section = {"carve_by": "source", "validation_share": 0.2, "test_share": 0.2} | section
    (folder / "params.yaml").write_text(json.dumps({"split": usual}))
    (folder / "corpora").mkdir(exist_ok=True)
    (folder / "corpora/toy.yaml").write_text(json.dumps({"split": section}))
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


def dropped(metric):
    """The pairs dropped, of each part and level."""
    return [count for levels in metric["dropped"].values() for count in levels.values()]


def overlap(**counts):
    """The counts of two parts, 0 where nothing else is said."""
    return dict.fromkeys(("exact_source", "exact_target", "near_source", "near_target", "dropped"), 0) | counts


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "data/split").rglob("*.*"))}


def test_carved_parts_are_apart_and_counted(tmp_path):
    lay(tmp_path, train=PAIRS)
    assert split(tmp_path) == (0, "")
    found, metric = outcome(tmp_path)
    assert set(found) == {"train", "validation", "test"}
    assert metric["pairs"] == {part: len(pairs) for part, pairs in found.items()}
    assert all(metric["pairs"].values())
    assert sum(metric["pairs"].values()) + sum(dropped(metric)) == len(PAIRS) == 40
    for one, other in (("train", "test"), ("train", "validation"), ("validation", "test")):
        for side in (0, 1):
            assert not {folded(pair[side]) for pair in found[one]} & {folded(pair[side]) for pair in found[other]}
    assert set(metric["leakage"]) == {"train/test", "train/validation", "validation/test"}
    assert all(overlap["exact_source"] == 0 for overlap in metric["leakage"].values())
    assert metric["line_split"]["held_out"] == 40 - metric["pairs"]["train"] - sum(metric["dropped"]["train"].values())
    assert metric["line_split"]["share"] == round(metric["line_split"]["seen"] / metric["line_split"]["held_out"], 6)
    targets = json.loads((tmp_path / "data/targets/toy/corpus.json").read_text())
    assert targets == {"pairs": len(outcome(tmp_path)[0]["train"])}
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
    assert dropped(metric) == [0, 0, 0, 0]
    assert metric["leakage"]["train/test"] == overlap(exact_target=metric["pairs"]["train"])
    assert metric["line_split"]["share"] == 1.0


def test_brought_parts_by_hand(tmp_path):
    clean = lay(tmp_path, train=PAIRS, **BROUGHT)
    assert split(tmp_path, validation_share=0.0, test_share=0.0) == (0, "")
    found, metric = outcome(tmp_path)
    assert metric == {
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
    assert json.loads((tmp_path / "metrics/toy.json").read_text()) == {
        "pairs": metric["pairs"],
        "dropped": metric["dropped"],
        "leakage": {
            "test": {"exact": 0, "near": 0},
            "news": {"exact": 0, "near": 0},
            "validation": {"exact": 2, "near": 0},
        },
    }
    assert found["validation"] == BROUGHT["validation"][:1]
    cat, girl = ("Le chat dort.", "The cat sleeps."), ("La fille rit.", "The girl laughs.")
    lost = [cat, ("Le chat dort.", "The cat sleeps now."), girl]
    assert found["train"] == [pair for pair in PAIRS if pair not in lost]
    for part in ("test", "news"):
        for copied, path in zip(parts.paths(tmp_path / "data/split/toy", part), parts.paths(clean, part), strict=True):
            assert copied.read_bytes() == path.read_bytes()


TWINS = [
    ("Il pleut !", "Rain falls."),  # of test
    ("Regarde : il neige. Viens !", "Look at that."),  # of news, among others
    ("Mais non.", "She said: “Snow falls.”"),  # of news
    ("Il pleut souvent.", "It rains a lot."),  # none
]


def test_near_twins_are_dropped_and_counted_apart(tmp_path):
    lay(tmp_path, train=[*PAIRS, *TWINS], **BROUGHT)
    shares = {"validation_share": 0.0, "test_share": 0.0}
    assert split(tmp_path, **shares) == (0, "")
    found, metric = outcome(tmp_path)
    assert metric["dropped"] == {"validation": {"exact": 1, "near": 0}, "train": {"exact": 3, "near": 3}}
    assert metric["leakage"]["train/test"] == overlap(exact_target=1, near_source=1, dropped=2)
    assert metric["leakage"]["train/news"] == overlap(near_source=1, near_target=1, dropped=2)  # `Il neige` too
    assert metric["leakage"]["train/validation"] == overlap(exact_source=2, dropped=2)
    assert [pair for pair in TWINS if pair in found["train"]] == TWINS[3:]
    held_out = {"".join(sentences(side)) for part in BROUGHT for pair in found[part] for side in pair}
    assert not {one for pair in found["train"] for side in pair for one in sentences(side)} & held_out
    assert split(tmp_path, **shares, near_leakage="report") == (0, "")
    found, metric = outcome(tmp_path)
    assert set(TWINS) <= set(found["train"])
    assert metric["dropped"]["train"] == {"exact": 3, "near": 0}
    assert metric["leakage"]["train/test"] == overlap(exact_target=1, near_source=1, dropped=1)
    assert split(tmp_path, **shares, near_leakage="fail") == (
        1,
        "error: data/clean/toy: parts share sentences, got train/test 1 sources and 0 targets (near), train/news 1 "
        "sources and 1 targets (near); expected none\n",
    )


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
            "data/clean/toy: parts share sentences, got validation/news 1 sources and 0 targets (exact), train/test 0 "
            "sources and 1 targets (exact), train/validation 2 sources and 0 targets (exact); expected none",
        ),
        (
            BROUGHT,
            {"validation_share": 0.0},
            "corpora/toy.yaml: split.test_share: the corpus brings a test part, got 0.2; expected 0.0",
        ),
        (
            {},
            {"validation_share": 0.0},
            "corpora/toy.yaml: split.validation_share: the corpus brings no validation part, got 0; expected above 0",
        ),
        (
            {},
            {"test_share": 1e-9},
            "corpora/toy.yaml: split.test_share: carves no pair from 40, got 1e-09; expected a larger share",
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
