"""The same model bytes each time, no character rewritten, and one clear line where the data do not support a size."""

import random
import re
from itertools import compress
from pathlib import Path

import pytest

from pipeline import files, ids
from pipeline.vocabularies import subwords
from pipeline.vocabularies.sampling import sample
from pipeline.vocabularies.subwords import Pieces, Subwords

NAMES = ["Anne", "Paul", "Rome", "2024"]  # in both languages
FRENCH = [
    "le",
    "la",
    "chat",
    "chien",
    "maison",
    "arbre",
    "rouge",
    "voit",
    "prend",
    "dans",
    "sous",
    "jamais",
    "été",
    "où",
    *NAMES,
]
ENGLISH = [
    "the",
    "a",
    "cat",
    "dog",
    "house",
    "tree",
    "red",
    "small",
    "sees",
    "takes",
    "under",
    "never",
    "summer",
    "where",
    *NAMES,
]
ORDINARY = Subwords(
    kind="bpe", size=100, joint=True, byte_fallback=False, character_coverage=1.0, sentences=1000, seed=1
)


def lines(words: list[str], num_lines: int = 80) -> list[str]:
    """Sentences of six words drawn from `words`."""
    draw = random.Random(len(words[1]))
    return [" ".join(draw.choices(words, k=6)) for _ in range(num_lines)]


def section(**changes: object) -> Subwords:
    """Ordinary settings, some changed."""
    return Subwords.model_validate(ORDINARY.model_dump() | changes)


def train(folder: Path, source: list[str], target: list[str], **changes: object) -> Path:
    """The folder of a vocabulary trained on these lines."""
    files.write_lines(folder / "train.source.txt", source)
    files.write_lines(folder / "train.target.txt", target)
    out = folder / "out"
    out.mkdir(exist_ok=True)
    paths = folder / "train.source.txt", folder / "train.target.txt"
    subwords.train(section(**changes), *paths, out, where="vocabularies.toy")
    return out


def load(folder: Path, **changes: object) -> Pieces:
    """The pieces of both languages, trained on ordinary lines."""
    return Pieces.load(train(folder, lines(FRENCH), lines(ENGLISH), **changes) / "joint.model")


def models(folder: Path) -> dict[str, bytes]:
    """The bytes of each model in a folder."""
    return {path.name: path.read_bytes() for path in folder.glob("*.model")}


def test_no_character_is_rewritten(tmp_path):
    text = ["Il fait 20 ½ °C… l’été, où œufs & naïveté ﬁn ?", "“H₂O” ― <b>100 %</b> &amp; Ⅳ"]
    trained = Pieces.load(train(tmp_path, text, text, size=80) / "joint.model")
    assert [trained.decode(sentence) for sentence in trained.encode(text)] == text


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_pieces_spell_the_text(tmp_path, kind):
    trained, text = load(tmp_path, kind=kind, size=60), "the small dog"
    pieces = [trained.piece(piece) for piece in trained.encode([text])[0]]
    assert "".join(pieces).replace("▁", " ").strip() == text


def test_an_unknown_character_is_unk_without_byte_fallback(tmp_path):
    assert load(tmp_path).encode(["the 猫"])[0].count(ids.UNK) == 1


def test_byte_fallback_spells_what_it_does_not_know(tmp_path):
    trained = load(tmp_path, size=330, byte_fallback=True)
    [sentence] = trained.encode(["the 猫"])
    assert ids.UNK not in sentence
    assert trained.decode(sentence) == "the 猫"
    every_id = [[piece] for piece in range(trained.size)]
    decoded = [trained.decode(sentence) for sentence in [*every_id, list(range(trained.size))]]
    assert not [line for line in decoded if "\n" in line or "\r" in line]  # byte pieces spell them


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_two_trainings_give_the_same_bytes_and_name_no_path(tmp_path, kind):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        train(folder, lines(FRENCH), lines(ENGLISH), kind=kind, joint=False, size=40)
    assert models(first / "out") == models(second / "out")
    assert not [name for name, model in models(first / "out").items() if str(tmp_path).encode() in model]


@pytest.mark.parametrize("joint", [True, False])
def test_vocabulary_json_says_what_was_trained(tmp_path, joint):
    out = train(tmp_path, lines(FRENCH), lines(ENGLISH), joint=joint, size=60, sentences=50)
    assert sorted(models(out)) == (["joint.model"] if joint else ["source.model", "target.model"])
    sizes = {"source_size": 60, "target_size": 60}
    assert files.read_json(out / "vocabulary.json") == {"kind": "bpe", "joint": joint, **sizes, "pairs": 50}


def test_training_sees_the_sample_and_nothing_else(tmp_path):
    sampled = train(tmp_path / "sampled", lines(FRENCH), lines(ENGLISH), sentences=40, size=60)
    chosen = sample(80, 40, seed=1).tolist()
    source, target = list(compress(lines(FRENCH), chosen)), list(compress(lines(ENGLISH), chosen))
    assert models(sampled) == models(train(tmp_path / "alone", source, target, size=60))


def test_a_long_line_is_learnt_from(tmp_path):
    trained = Pieces.load(train(tmp_path, ["chat " * 2000 + "猫"], ["cat"], size=16) / "joint.model")
    assert ids.UNK not in trained.encode(["猫"])[0]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_size_beyond_the_data_names_the_largest_that_fits(tmp_path, kind):
    source, target = lines(FRENCH), lines(ENGLISH)
    with pytest.raises(files.DataError) as caught:
        train(tmp_path, source, target, kind=kind, size=8000)
    names = f"{tmp_path}/train.source.txt and {tmp_path}/train.target.txt"
    most = int(re.search(r"at most (\d+)", str(caught.value))[1])
    assert str(caught.value) == (
        f"vocabularies.toy.size: 8000 is more than the data supports (at most {most} for {names}); "
        "expected a smaller size or more training pairs"
    )
    assert load(tmp_path, kind=kind, size=most).size == most
    with pytest.raises(files.DataError, match=f"{most + 1} is more than the data supports"):
        train(tmp_path, source, target, kind=kind, size=most + 1)


def test_a_separate_size_beyond_the_data_names_the_side(tmp_path):
    with pytest.raises(files.DataError, match=r"\(at most \d+ for \S+train\.target\.txt\); expected"):
        train(tmp_path, lines(FRENCH), ["cat"] * 80, joint=False, size=40)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_size_below_the_characters_names_the_smallest_that_fits(tmp_path, kind):
    source, target = lines(FRENCH), lines(ENGLISH)
    with pytest.raises(files.DataError) as caught:
        train(tmp_path, source, target, kind=kind, size=16)
    names = f"{tmp_path}/train.source.txt and {tmp_path}/train.target.txt"
    least = int(re.search(r"at least (\d+)", str(caught.value))[1])
    assert str(caught.value) == (
        f"vocabularies.toy.size: 16 is less than the characters need (at least {least} for {names}); "
        "expected a larger size, or a smaller character_coverage (0.98 at least)"
    )
    assert load(tmp_path, kind=kind, size=least).size == least


@pytest.mark.parametrize("source", [[], ["", ""], [" ", " "]], ids=["no line", "empty lines", "blank lines"])
def test_text_without_words_is_refused(tmp_path, source):
    with pytest.raises(files.DataError) as caught:
        train(tmp_path, source, source)
    names = f"{tmp_path}/train.source.txt and {tmp_path}/train.target.txt"
    expected = "no text to train a vocabulary on; expected at least one line with words"
    assert str(caught.value) == f"{names}: {expected}"


def test_files_that_are_not_parallel_are_refused(tmp_path):
    with pytest.raises(files.DataError, match=r"has 2 lines, train\.target\.txt 1: the two files must be parallel"):
        train(tmp_path, ["un", "deux"], ["one"])


def test_another_fault_of_sentencepiece_is_not_hidden(tmp_path, monkeypatch):
    def fail(**settings):
        raise RuntimeError("something else")

    monkeypatch.setattr("sentencepiece.SentencePieceTrainer.train", fail)
    with pytest.raises(RuntimeError, match=r"^something else$"):
        train(tmp_path, ["un"], ["one"])


def test_a_missing_model_is_named(tmp_path):
    with pytest.raises(files.DataError) as caught:
        Pieces.load(tmp_path / "source.model")
    assert str(caught.value) == f"{tmp_path}/source.model: no such file; expected a vocabulary of the stage vocabulary"


def test_a_broken_model_is_named(tmp_path):
    (tmp_path / "joint.model").write_bytes(b"no model")
    with pytest.raises(files.DataError) as caught:
        Pieces.load(tmp_path / "joint.model")
    expected = "not a SentencePiece model; expected one of the stage vocabulary"
    assert str(caught.value) == f"{tmp_path}/joint.model: {expected}"


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("kind", "word", "should be 'unigram' or 'bpe', got 'word'"),
        ("size", 15, "should be greater than or equal to 16, got 15"),
        ("size", 1_000_001, "should be less than or equal to 1000000, got 1000001"),
        ("size", "8k", "should be a valid integer, got '8k'"),
        ("character_coverage", 0.97, "should be greater than or equal to 0.98, got 0.97"),
        ("character_coverage", 1.1, "should be less than or equal to 1, got 1.1"),
        ("sentences", 0, "should be greater than or equal to 1, got 0"),
        ("seed", -1, "should be greater than or equal to 0, got -1"),
        ("joint", 1, "should be a valid boolean, got 1"),
    ],
)
def test_settings_out_of_range_are_named(key, value, fault):
    node = ORDINARY.model_dump() | {key: value}
    assert list(Subwords.faults(node, "vocabularies.toy")) == [f"params.yaml: vocabularies.toy.{key}: {fault}"]
