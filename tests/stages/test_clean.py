"""The stage `clean` on forty readable pairs."""

import json
import os
import re
import subprocess
import sys

import pytest

from pipeline.corpora import parts
from pipeline.files import DataError
from stages import clean

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
TRAIN = [(source.encode(), target.encode()) for source, target in GOOD + SPOILT]
TRAIN += [(b"L'\xe9t\xe9.", b"The summer."), (b"Bonjour.", b"Hello\xff.")]


@pytest.fixture
def downloaded(tmp_path, monkeypatch):
    """Writes a download of the parts given, as bytes, into the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(
        "clean: {max_characters: 60, max_words: 100, max_length_ratio: 2.0, examples: 1}\n"
    )
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora/toy.yaml").write_text("clean: {max_words: 10}\n")
    (raw := tmp_path / "data/download/toy").mkdir(parents=True)

    def write(**pairs):
        for part, lines in pairs.items():
            for side, path in enumerate(parts.paths(raw, part)):
                path.write_bytes(b"".join(pair[side] + b"\n" for pair in lines))
        about = {part: {"pairs": len(lines), "files": []} for part, lines in pairs.items()}
        languages = {"source_language": "fr", "target_language": "en"}
        (raw / "download.json").write_text(json.dumps({**languages, "parts": about}))
        return raw

    return write


def test_forty_pairs(downloaded, tmp_path, project_root):
    raw = downloaded(train=TRAIN, test=[("Il  pleut\u00a0!".encode(), b"It rains!"), (b"", b""), (b"Non\r", b"No")])
    environment = os.environ | {"PYTHONPATH": str(project_root)}
    command = [sys.executable, "-m", "stages.clean", "toy"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
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
    examples = {
        "invalid_utf8": ["L'\\xe9t\\xe9.", "The summer."],
        "control_characters": ["Un bruit\x07.", "A noise."],
        "empty": ["", "Nothing stands here."],
        "too_long_characters": ["a" * 61, "Just one letter."],
        "too_long_words": ["Le mot" + " long" * 9, "The word long"],
        "length_ratio": ["Oui.", "Yes, yes, yes, of course, my friend."],
        "source_equals_target": ["Paris", "Paris"],
        "duplicate": ["Le chat dort.", "The cat sleeps."],
    }
    assert json.loads((out / "clean.json").read_text()) == {
        "source_language": "fr",
        "target_language": "en",
        "pairs": {"test": 3, "train": 28},
        "read": 40,
        "kept": 28,
        "changed": 4,
        "dropped": dict(zip(examples, (2, 2, 2, 1, 1, 1, 1, 2), strict=True)),
        "examples": {rule: [pair] for rule, pair in examples.items()},
    }


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (
            {"train": [(b"", b"one"), (b"un", b"un")]},
            "train.source.txt: cleaning dropped every pair, got empty 1, source_equals_target 1 ",
        ),
        ({"train": TRAIN, "test": []}, "test.source.txt: is empty, got 0 pairs; expected at least one"),
        ({"train": TRAIN, "test": [(b"No\xe9l.", b"Christmas.")]}, "test.source.txt line 1: invalid UTF-8, got byte "),
    ],
)
def test_bad_input_is_named_and_leaves_nothing(pairs, message, downloaded, tmp_path):
    downloaded(**pairs)
    with pytest.raises(DataError, match=f"^data/download/toy/{re.escape(message)}"):
        clean.main("toy")
    assert not list((tmp_path / "data").glob("clean/*"))
