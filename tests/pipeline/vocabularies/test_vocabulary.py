"""Text to ids and back, alike for subwords and for whole words."""

import unicodedata

import numpy as np
import pytest

from pipeline.common import files
from pipeline.compute import ids
from pipeline.vocabularies import subwords, words
from pipeline.vocabularies.subwords import Subwords
from pipeline.vocabularies.vocabulary import Vocabulary
from pipeline.vocabularies.words import Words
from tests.toys import samples

PLAIN = "Où est l'été, Léa ?"
SOURCE = [PLAIN, "abcdefghijklmnopqrstuvwxyz", "le chat voit la maison", "l'été , est là", "la maison est là"] * 10
TARGET = ["the cat sees the house", "abcdefghijklmnopqrstuvwxyz", "the dog sees the cat", "the house is red"] * 10
TARGET += ["where is a small garden under it"] * 10
SPELT = {
    "narrow no-break space": "Où est l'été, Léa\u202f?",
    "NFD": unicodedata.normalize("NFD", PLAIN),
    "byte order mark": "\ufeff" + PLAIN,
    "no-break spaces": "\u00a0Où\u2003est\u2009l'été,\u2028Léa\u00a0?\u3000",
    "invisible": "O\u200bù est l'é\u00adté, \u200eLéa\u2060 ?\u202c",
    "between letter and accent": "Ou\u200b\u0300 est l'e\u00ad\u0301te\u0301, Le\ufeff\u0301a ?",
    "control": "Où\u000best\tl'été,\u000cLéa\r?",
}
SIZES = {"bpe joint": 70, "bpe": 50, "unigram joint": 50, "unigram": 40, "bpe joint bytes": 70 + 256, "word": 8}


def train(folder, kind):
    """The folder of a vocabulary of the kind."""
    samples.write_bitexts(folder, train=list(zip(SOURCE, TARGET, strict=True)))
    (out := folder / "out").mkdir()
    name, *rest = kind.split()
    section = {"kind": name, "sentences": 99, "seed": 1}
    if name == "word":
        words.train(Words(**section, words=SIZES[kind]), folder, ("fr", "en"), {}, out, where="toy")
    else:
        section |= {"joint": "joint" in rest, "byte_fallback": "bytes" in rest}
        section |= {"split_digits": True, "character_coverage": 1.0}
        subwords.train(Subwords(**section, size=SIZES[kind]), folder, {}, out, where="toy")
    return out


@pytest.fixture(scope="module", params=SIZES)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def vocabulary(kind, tmp_path_factory):
    return Vocabulary.load(train(tmp_path_factory.mktemp("vocabulary"), kind))


def test_text_survives_a_round_trip(vocabulary):
    text = ["the cat sees the house", "the", "", "the house sees the dog"]
    assert vocabulary.decode_target(vocabulary.encode_target(text)) == text


@pytest.mark.parametrize("spelling", SPELT)
def test_however_a_text_is_spelt_its_pieces_are_the_same(vocabulary, spelling):
    assert vocabulary.encode_source([SPELT[spelling]]) == vocabulary.encode_source([PLAIN]) != [[]]
    assert vocabulary.encode_target([SPELT[spelling]]) == vocabulary.encode_target([PLAIN])
    assert vocabulary.encode_source(["\u200b", "\ufeff \u00ad\u2028", ""]) == [[], [], []]


def test_the_special_pieces_are_the_first_four_and_none_is_added(vocabulary):
    special = [ids.PAD, ids.UNK, ids.BOS, ids.EOS]
    assert special == [0, 1, 2, 3]
    assert vocabulary.source_pieces(special) == vocabulary.target_pieces(special) == ["<pad>", "<unk>", "<s>", "</s>"]
    encoded = vocabulary.encode_source(["Où est l'été"]) + vocabulary.encode_target(["the cat"])
    assert all(sentence and not {ids.PAD, ids.BOS, ids.EOS} & {*sentence} for sentence in encoded)


def test_sides_are_as_large_as_asked_for_and_one_where_joint(vocabulary, kind):
    joint = "joint" in kind
    assert (vocabulary.encode_source(["the cat"]) == vocabulary.encode_target(["the cat"])) is joint
    assert vocabulary.whole_words is (kind == "word")
    assert vocabulary.source_size == vocabulary.target_size == SIZES[kind] + 4 * (kind == "word")


def test_pieces_spell_the_text(vocabulary):
    pieces = vocabulary.target_pieces(np.array(vocabulary.encode_target(["the cat"])[0]))
    assert "".join(pieces).replace("▁", "") == "thecat"


def test_special_ids_give_no_text(vocabulary):
    [sentence] = vocabulary.encode_target(["the cat"])
    framed = [ids.BOS, *sentence[:1], ids.UNK, *sentence[1:], ids.EOS, ids.PAD, ids.PAD]
    [text] = vocabulary.decode_target([np.array(framed)])
    assert text == ("the UNK cat" if vocabulary.whole_words else "the cat")  # an unlisted word is said to be one
    assert vocabulary.decode_target([[], [ids.EOS]]) == ["", ""]


def test_pairs_with_an_unknown_piece_on_either_side(vocabulary, kind):
    sources, targets = ["est", "est 猫", "est", ""], ["the cat", "the cat", "the 猫", ""]
    assert vocabulary.known(sources, targets) == [True, "bytes" in kind, "bytes" in kind, True]


@pytest.mark.parametrize(
    ("kind", "file", "message"),
    [
        ("bpe", "source.model", r"source\.model: no such file; expected a vocabulary of the stage vocabulary$"),
        ("word", "target.words.json", r"target\.words\.json: no such file"),
    ],
)
def test_a_missing_file_is_named(tmp_path, kind, file, message):
    (train(tmp_path, kind) / file).unlink()
    with pytest.raises(files.DataError, match=message):
        Vocabulary.load(tmp_path / "out")
