"""Stage split on thirty-six readable pairs: parts that are carved or brought, apart from each other and counted."""

import json
import re

import pytest

from pipeline.common import cores, files, parts
from pipeline.preparation.comparison import folded
from stages import split

SUBJECTS = {"Le chat": "The cat", "La fille": "The girl", "Le garçon": "The boy", "Mon ami": "My friend", "Léa": "Lea"}
VERBS = {"dort": "sleeps", "chante": "sings", "mange": "eats", "arrive": "arrives", "danse": "dances", "rit": "laughs"}
GOOD = [(f"{a} {b}.", f"{c} {d}.") for a, c in SUBJECTS.items() for b, d in VERBS.items()]
PAIRS = GOOD + [(source, f"{target} Again.") for source, target in GOOD[::5]]  # sources with two translations
BROUGHT = {
    "validation": [("LE CHAT dort.", "A cat is asleep."), ("Il neige.", "It snows.")],
    "test": [("Il pleut.", "It rains."), ("Elle rit.", "THE GIRL LAUGHS.")],
    "news": [("Il  neige.", "Snow falls."), ("Elle dort.", "She sleeps.")],
}
NONE_CARVED = {"validation_share": 0.0, "test_share": 0.0}


@pytest.fixture
def run(project, monkeypatch):
    """Splits a corpus of the parts given by a section; the pairs of each part, and their counts."""
    folder = project.root / "data/clean/toy"
    monkeypatch.setattr(parts, "SHARD_PAIRS", 10)

    def run_stage(train, held_out, **section):
        counts = {part: parts.write(folder, part, pairs) for part, pairs in held_out.items()}
        shards = [s for name, pairs in train.items() for s in parts.write_shards(folder, name, parts.encoded(pairs))]
        parts.write_bitexts(folder, shards)
        about = {"pairs": counts | {"train": sum(map(len, train.values()))}}
        about["bitexts"] = {name: {"licence": None, "read": 9, "dropped": {}} for name in train}
        files.write_json(folder / "clean.json", files.read_json(folder / "clean.json") | about)
        usual = {"validation_share": 0.2, "test_share": 0.2, "leakage": "drop", "near_leakage": "drop", "seed": 3}
        project.edit("corpora/toy.yaml:split", usual | section)
        split.main("toy")
        out = project.root / "data/split/toy"
        read = {part: list(parts.read(out, part)) for part in ["train", *parts.names(out)]}
        return read, files.read_json(out.with_suffix(".json"))

    return run_stage


def overlap(**counts):
    """The counts of two parts, 0 for those not given."""
    return dict.fromkeys(("exact_source", "exact_target", "near_source", "near_target", "dropped"), 0) | counts


def test_carved_parts_are_apart_and_counted(run):
    written, counts = run({"train": PAIRS}, {})
    assert counts["pairs"] == {part: len(pairs) for part, pairs in written.items()}
    assert set(counts["pairs"]) == {"train", "validation", "test"}
    dropped = sum(sum(levels.values()) for levels in counts["dropped"].values())
    assert sum(counts["pairs"].values()) + dropped == len(PAIRS)
    for one, other in (("train", "test"), ("train", "validation"), ("validation", "test")):
        for side in (0, 1):
            assert not {folded(pair[side]) for pair in written[one]} & {folded(pair[side]) for pair in written[other]}


def test_two_bitexts_are_split_as_the_text_of_both(run, monkeypatch):
    """In any number of processes."""
    whole, _ = run({"train": PAIRS}, {})
    monkeypatch.setattr(cores, "count", lambda: 3)
    assert run({"memory": PAIRS[:15], "web": PAIRS[15:]}, {}, validation_share=0.2000001)[0] == whole


def test_a_bitext_that_is_not_carved_stays_in_training(run):
    memory, web = PAIRS[:15], PAIRS[15:]
    written, _ = run({"memory": memory, "web": web}, {}, carve_from=["memory"])
    assert {*written["validation"], *written["test"]} <= {*memory}


def test_brought_parts_by_hand(run, project):
    written, counts = run({"memory": PAIRS[:15], "web": PAIRS[15:]}, BROUGHT, **NONE_CARVED)
    lost = [pair for pair in PAIRS if pair[0] == "Le chat dort."] + [("La fille rit.", "The girl laughs.")]
    by_bitext = counts.pop("bitexts")
    assert {name: (bitext["pairs"], bitext["dropped"]["exact"]) for name, bitext in by_bitext.items()} == {
        "memory": (13, 2),
        "web": (len(PAIRS) - 16, 1),
    }
    assert by_bitext["web"]["leakage"]["validation"] == overlap(exact_source=1, dropped=1)
    assert counts == {
        "files": {part: [] for part in ("train", "validation", "test", "compositional")},  # of the phrasebook
        "pairs": {"test": 2, "news": 2, "validation": 1, "train": len(PAIRS) - 3},
        "dropped": {"validation": {"exact": 1, "near": 0}, "train": {"exact": 3, "near": 0}},
        "leakage": {
            "validation/test": overlap(),
            "validation/news": overlap(exact_source=1, dropped=1),
            "train/test": overlap(exact_target=1, dropped=1),
            "train/news": overlap(),
            "train/validation": overlap(exact_source=2, dropped=2),
        },
    }
    metrics = json.loads((project.root / "metrics/toy.json").read_text())
    assert metrics["leakage"]["validation"] == {"exact": 2, "near": 0}
    assert written == BROUGHT | {"validation": BROUGHT["validation"][:1]} | {
        "train": [pair for pair in PAIRS if pair not in lost]
    }


@pytest.mark.parametrize(
    ("brought", "section", "message"),
    [
        (BROUGHT, NONE_CARVED | {"leakage": "fail"}, "data/clean/toy: parts share sentences, got validation/news 1 "),
        (BROUGHT, {"validation_share": 0.0}, "corpora/toy.yaml: split.test_share: the corpus brings a test part, got"),
        ({}, {"carve_from": ["trian"]}, "corpora/toy.yaml: split.carve_from.trian: no such bitext; nearest is 'train'"),
        ({}, {"test_share": 1e-9}, "corpora/toy.yaml: split.test_share: carves no pair from 36, got 1e-09; expected"),
        (
            {"validation": PAIRS[:3], "test": PAIRS[:4]},
            NONE_CARVED,
            "data/clean/toy: no pair is left in validation, got 3 with a sentence of test; expected others too",
        ),
    ],
)
def test_bad_input_is_named(brought, section, message, run):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        run({"train": PAIRS}, brought, **section)
