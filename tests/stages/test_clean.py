"""The stage `clean` as dvc.yaml runs it, on forty readable pairs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.corpora import parts

ROOT = Path(__file__).parents[2]
SUBJECTS = {"Le chat": "The cat", "La fille": "The girl", "Le garçon": "The boy", "Mon ami": "My friend"}
VERBS = {"dort": "sleeps", "chante": "sings", "mange": "eats", "arrive": "arrives", "danse": "dances", "rit": "laughs"}
GOOD = [(f"{a} {b}.", f"{c} {d}.") for a, c in SUBJECTS.items() for b, d in VERBS.items()]  # 24
SPOILT = [
    ("Le  chat\tdort. ", "The cat sleeps."),  # again, once its spaces are folded
    ("La fille chante.", "The girl sings."),
    ("L'e\u0301te\u0301 arrive.", "Summer is coming."),  # kept, composed
    ("Un chat noir.", "A black\u00a0cat."),  # kept, folded
    ("", "Nothing stands here."),
    ("Rien ici.", "   "),
    ("Le mot" + " long" * 9, "The word long"),  # 11 words
    ("a" * 61, "Just one letter."),
    ("Oui.", "Yes, yes, yes, of course, my friend."),  # 7 words for one
    ("Paris", "Paris"),
    ("Un bruit\x07.", "A noise."),
    ("Le chat \x00 dort.", "The cat sleeps."),
    ("Oui, bien sûr.", "Yes, of course."),
    ("Où vas-tu ?", "Where are you going?"),
]
INVALID = [(b"L'\xe9t\xe9.", b"The summer."), (b"Bonjour.", b"Hello\xff.")]
PARAMS = "clean: {max_characters: 60, max_words: 100, max_length_ratio: 2.0, examples: 1}\n"
CORPUS = "clean: {max_words: 10}\n"


def clean(folder):
    """Run the command; its return code and what it wrote to stderr."""
    command = [sys.executable, "-m", "stages.clean", "toy"]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    return done.returncode, done.stderr


def lay(folder, **pairs):
    """A download of the parts given, as bytes."""
    raw = folder / "data/download/toy"
    raw.mkdir(parents=True)
    for part, found in pairs.items():
        for side, path in enumerate(parts.paths(raw, part)):
            path.write_bytes(b"".join(pair[side] + b"\n" for pair in found))
    about = {part: {"pairs": len(found), "files": []} for part, found in pairs.items()}
    (raw / "download.json").write_text(json.dumps({"source_language": "fr", "target_language": "en", "parts": about}))
    (folder / "params.yaml").write_text(PARAMS)
    (folder / "corpora").mkdir()
    (folder / "corpora/toy.yaml").write_text(CORPUS)
    return raw


def encoded(pairs):
    return [(source.encode(), target.encode()) for source, target in pairs]


TRAIN = encoded(GOOD) + encoded(SPOILT) + INVALID


def test_forty_pairs(tmp_path):
    test = [("Il  pleut\u00a0!".encode(), b"It rains!"), (b"", b""), (b"Non\r", b"No")]
    raw = lay(tmp_path, train=TRAIN, test=test)
    assert len(TRAIN) == 40
    assert clean(tmp_path) == (0, "")
    out = tmp_path / "data/clean/toy"
    assert list(parts.read(out, "train")) == [
        *GOOD,
        ("L'été arrive.", "Summer is coming."),
        ("Un chat noir.", "A black cat."),
        ("Oui, bien sûr.", "Yes, of course."),
        ("Où vas-tu ?", "Where are you going?"),
    ]
    for copied, path in zip(parts.paths(out, "test"), parts.paths(raw, "test"), strict=True):
        assert copied.read_bytes() == path.read_bytes()
    assert json.loads((out / "clean.json").read_text()) == {
        "source_language": "fr",
        "target_language": "en",
        "pairs": {"test": 3, "train": 28},
        "read": 40,
        "kept": 28,
        "changed": 4,
        "dropped": {
            "invalid_utf8": 2,
            "control_characters": 2,
            "empty": 2,
            "too_long_characters": 1,
            "too_long_words": 1,
            "length_ratio": 1,
            "source_equals_target": 1,
            "duplicate": 2,
        },
        "examples": {
            "invalid_utf8": [["L'\\xe9t\\xe9.", "The summer."]],
            "control_characters": [["Un bruit\x07.", "A noise."]],
            "empty": [["", "Nothing stands here."]],
            "too_long_characters": [["a" * 61, "Just one letter."]],
            "too_long_words": [["Le mot" + " long" * 9, "The word long"]],
            "length_ratio": [["Oui.", "Yes, yes, yes, of course, my friend."]],
            "source_equals_target": [["Paris", "Paris"]],
            "duplicate": [["Le chat dort.", "The cat sleeps."]],
        },
    }


def test_the_same_bytes_again(tmp_path):
    lay(tmp_path, train=TRAIN)
    outs = []
    for _ in range(2):
        assert clean(tmp_path) == (0, "")
        outs.append({path.name: path.read_bytes() for path in (tmp_path / "data/clean/toy").iterdir()})
    assert outs[0] == outs[1]
    assert set(outs[0]) == {"train.source.txt", "train.target.txt", "clean.json"}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({"train": []}, "data/download/toy/train.source.txt: is empty, got 0 pairs; expected at least one"),
        (
            {"train": encoded([("", "one"), ("Paris", "Paris"), ("deux", "")])},
            "data/download/toy/train.source.txt: cleaning dropped every pair, got empty 2, source_equals_target 1 of 3 "
            "read; expected at least one kept",
        ),
        (
            {"train": TRAIN, "test": []},
            "data/download/toy/test.source.txt: is empty, got 0 pairs; expected at least one",
        ),
        (
            {"train": TRAIN, "validation": [(b"Oui.", b"Yes."), (b"No\xe9l.", b"Christmas.")]},
            "data/download/toy/validation.source.txt line 2: invalid UTF-8, got byte 0xe9 at column 3; expected text "
            "in UTF-8",
        ),
        ({"test": TRAIN}, "data/download/toy/download.json: has no training part, got test; expected 'train'"),
    ],
    ids=["empty", "emptied", "empty test", "invalid UTF-8", "no train"],
)
def test_bad_input_is_one_line_and_leaves_nothing(pairs, message, tmp_path):
    lay(tmp_path, **pairs)
    assert clean(tmp_path) == (1, f"error: {message}\n")
    assert not (tmp_path / "data/clean/toy").exists()
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.parametrize("part", ["train", "test"])
def test_files_that_are_not_parallel(part, tmp_path):
    raw = lay(tmp_path, train=TRAIN, test=TRAIN[:24])
    path = parts.paths(raw, part)[1]
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    where = f"data/download/toy/{part}.source.txt has {len(lines)} lines, {part}.target.txt {len(lines) - 1}"
    assert clean(tmp_path) == (1, f"error: {where}: the two files must be parallel\n")
    assert not list((tmp_path / "data/clean").iterdir())
