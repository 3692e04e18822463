"""Text to ids and back, alike for subwords and for whole words."""

import unicodedata
from pathlib import Path

import numpy as np
import pytest

from pipeline import files, ids
from pipeline.vocabularies import subwords, words
from pipeline.vocabularies.subwords import Subwords
from pipeline.vocabularies.vocabulary import Kind, Vocabulary
from pipeline.vocabularies.words import Words

SOURCE = ["le chat voit la maison", "le chien voit le chat", "la maison est rouge", "où est le petit chien"] * 10
TARGET = ["the cat sees the house", "the dog sees the cat", "the house is red", "where is the small dog"] * 10
REST = {"byte_fallback": False, "character_coverage": 1.0, "sentences": 99, "seed": 1}
KINDS = ["bpe joint", "bpe", "unigram joint", "unigram", "word"]


def train(folder: Path, kind: str) -> Path:
    """The folder of a vocabulary of the kind."""
    texts = folder / "source.txt", folder / "target.txt"
    for path, lines in zip(texts, (SOURCE, TARGET), strict=True):
        files.write_lines(path, lines)
    (out := folder / "out").mkdir()
    if kind == "word":
        words.train(Words(kind="word", words=9, sentences=99, seed=1), *texts, ("fr", "en"), out, where="toy")
    else:
        name, _, joint = kind.partition(" ")
        section = {"kind": name, "joint": bool(joint), "size": 40 if joint else 24}
        subwords.train(Subwords.model_validate(section | REST), *texts, out, where="toy")
    return out


@pytest.fixture(scope="module", params=KINDS)
def trained(request, tmp_path_factory) -> Vocabulary:
    """A vocabulary of each kind."""
    vocabulary = Vocabulary.load(train(tmp_path_factory.mktemp("vocabulary"), request.param))
    vocabulary.name = request.param
    return vocabulary


def test_text_survives_a_round_trip(trained):
    text = ["the cat sees a small house", "the", "", "where the dog sees the house"]
    if trained.whole_words:
        text[0] = "the cat sees the house"  # it knows no `a`
    assert trained.decode_target(trained.encode_target(text)) == text


ALPHABET = "abcdefghijklmnopqrstuvwxyz"
PLAIN = "Où est l'été, Léa ?"
SPELT = {
    "narrow no-break space": "Où est l'été, Léa\u202f?",
    "NFD": unicodedata.normalize("NFD", PLAIN),
    "byte order mark": "\ufeff" + PLAIN,
    "no-break spaces": "\u00a0Où\u2003est\u2009l'été,\u2028Léa\u00a0?\u3000",
    "invisible": "O\u200bù est l'é\u00adté, \u200eLéa\u2060 ?\u202c",
    "between letter and accent": "Ou\u200b\u0300 est l'e\u00ad\u0301te\u0301, Le\ufeff\u0301a ?",
    "control": "Où\u000best\tl'été,\u000cLéa\r?",
}


@pytest.fixture(scope="module", params=[*KINDS, "bpe joint bytes"])
def french(request, tmp_path_factory) -> Vocabulary:
    """A vocabulary of each kind, and one that spells what it does not know in bytes, which has seen French."""
    folder = tmp_path_factory.mktemp("french")
    files.write_lines(text := folder / "text.txt", [PLAIN, ALPHABET, "où est Léa ?", "l'été , est là"] * 10)
    name, *rest = request.param.split()
    if name == "word":
        section = Words(kind="word", words=9, sentences=99, seed=1)
        words.train(section, text, text, ("fr", "fr"), folder, where="toy")
    else:
        size = 42 + 256 * ("bytes" in rest)
        section = {"kind": name, "joint": "joint" in rest, "size": size, "byte_fallback": "bytes" in rest}
        subwords.train(Subwords.model_validate(REST | section), text, text, folder, where="toy")
    return Vocabulary.load(folder)


@pytest.mark.parametrize("spelling", SPELT)
def test_however_a_text_is_spelt_its_pieces_are_the_same(french, spelling):
    assert french.encode_source([SPELT[spelling], PLAIN]) == french.encode_source([PLAIN, PLAIN])
    assert french.encode_target([SPELT[spelling]]) == french.encode_target([PLAIN])
    [sentence] = french.encode_source([SPELT[spelling]])
    assert sentence
    assert french.whole_words or ids.UNK not in sentence


def test_a_text_of_nothing_that_is_seen_has_no_pieces(french):
    assert french.encode_source(["\u200b", "\ufeff \u00ad\u2028", ""]) == [[], [], []]


def test_the_special_pieces_are_the_first_four(trained):
    special = [ids.PAD, ids.UNK, ids.BOS, ids.EOS]
    assert special == [0, 1, 2, 3]
    assert trained.source_pieces(special) == trained.target_pieces(special) == ["<pad>", "<unk>", "<s>", "</s>"]


def test_encoding_adds_no_special_piece(trained):
    encoded = trained.encode_source(["le chat voit", "la maison"]) + trained.encode_target(["the cat"])
    assert all(len(sentence) and min(sentence) > ids.EOS for sentence in encoded)


def test_sides_are_as_large_as_asked_for_and_one_where_joint(trained):
    text, joint = ["le chat voit la maison"], trained.name.endswith("joint")
    assert trained.joint is joint
    assert (trained.encode_source(text) == trained.encode_target(text)) is joint
    size = 40 if joint else 13 if trained.name == "word" else 24
    assert trained.source_size == trained.target_size == size
    assert trained.whole_words is (trained.name == "word")


def test_pieces_have_names(trained):
    pieces = trained.source_pieces(np.array(trained.encode_source(["le chat"])[0]))
    assert "".join(pieces).replace("▁", "") == "lechat"


def test_special_ids_give_no_text(trained):
    sentence = trained.encode_target(["the cat"])[0]
    framed = [ids.BOS, *sentence[:1], ids.UNK, *sentence[1:], ids.EOS, ids.PAD, ids.PAD]
    text = "the UNK cat" if trained.whole_words else "the cat"  # a word that is not listed is said to be one
    assert trained.decode_target([framed, [], [ids.EOS], np.array(framed)]) == [text, "", "", text]


def test_pairs_with_an_unknown_piece_on_either_side(trained):
    sources, targets = ["le chat", "le 猫", "le chat", "", "猫"], ["the cat", "the cat", "the 猫", "", "猫"]
    assert trained.known(sources, targets) == [True, False, False, True, False]


def test_an_empty_folder_is_named(tmp_path):
    with pytest.raises(files.DataError) as caught:
        Vocabulary.load(tmp_path)
    assert str(caught.value) == f"{tmp_path}/source.model: no such file; expected a vocabulary of the stage vocabulary"


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        (kind, f"{side}.{name}")
        for kind, name in (("bpe", "model"), ("word", "words.json"))
        for side in ("source", "target")
    ],
)
def test_a_missing_side_is_named(tmp_path, kind, file):
    out = train(tmp_path, kind)
    (out / file).unlink()
    with pytest.raises(files.DataError) as caught:
        Vocabulary.load(out)
    assert str(caught.value) == f"{out}/{file}: no such file; expected a vocabulary of the stage vocabulary"


def test_the_kind_of_a_section_is_read_alone():
    node = {"kind": "word", "words": 5}
    assert Kind.model_validate(node) == Kind(kind="word")
    assert list(Kind.faults(node | {"kind": "words"}, "vocabularies.toy")) == [
        "params.yaml: vocabularies.toy.kind: should be 'unigram', 'bpe' or 'word', got 'words'"
    ]
