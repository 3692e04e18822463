"""The same model bytes each time, no character rewritten, and one clear line where the data do not support a size."""

import random
import re
from itertools import compress

import pytest

from pipeline.common import files
from pipeline.common.seeding import sample
from pipeline.compute import ids
from pipeline.vocabularies import subwords
from pipeline.vocabularies.subwords import Pieces, Subwords
from tests.toys import samples

FRENCH = ["le", "la", "chat", "chien", "maison", "arbre", "rouge", "voit", "prend", "jamais", "été", "où", "Anne"]
ENGLISH = ["the", "a", "cat", "dog", "house", "tree", "red", "small", "sees", "takes", "under", "never", "Anne"]
USUAL = {"kind": "bpe", "size": 80, "joint": True, "byte_fallback": False, "split_digits": True}
USUAL |= {"character_coverage": 1.0, "sentences": 1000, "seed": 1}
KINDS = pytest.mark.parametrize("kind", ["bpe", "unigram"])


def lines(words):
    """Sentences of six of the words."""
    draw = random.Random(len(words[1]))
    return [" ".join(draw.choices(words, k=6)) for _ in range(80)]


SOURCE, TARGET = lines(FRENCH), lines(ENGLISH)


def train(folder, source=SOURCE, target=TARGET, tags={}, **changes):  # noqa: B006
    """The folder of a vocabulary trained on these lines, the last ten a bitext of their own."""
    section, pairs = Subwords.model_validate(USUAL | changes), list(zip(source, target, strict=True))
    samples.write_bitexts(folder, own=pairs[:-10], web=pairs[-10:])
    (folder / "out").mkdir(exist_ok=True)
    subwords.train(section, folder, tags, folder / "out", where="vocabularies.toy")
    return folder / "out"


def models(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.model")}


def test_no_character_is_rewritten(tmp_path):
    text = ["Il fait 20 ½ °C… l’été, où œufs & naïveté ﬁn ?", "“H₂O” ― <b>100 %</b> &amp; Ⅳ"]
    trained = Pieces.load(train(tmp_path, text, text) / "joint.model")
    assert [trained.decode(sentence) for sentence in trained.encode(text)] == text


@KINDS
def test_what_sentencepiece_reserves_is_text_like_any_other(tmp_path, kind):
    text = ["<unk>le <s>chat</s>. <pad><0x41>", "▁ un chat ▁▁▅ noir ▅"]
    trained = Pieces.load(train(tmp_path, text, text, kind=kind, size=32) / "joint.model")
    assert [trained.decode(sentence) for sentence in trained.encode(text)] == text


@KINDS
def test_a_character_outside_the_sample_has_a_piece(tmp_path, kind):
    lonely = "!?%▁"
    source, target = [*SOURCE, *lonely], [*TARGET, *"...."]
    trained = Pieces.load(train(tmp_path, source, target, kind=kind, size=50, sentences=20) / "joint.model")
    assert not sample(len(source), 20, seed=1)[-4:].all()
    assert trained.decode(trained.encode([lonely])[0]) == lonely


def test_byte_fallback_spells_what_is_unknown_otherwise(tmp_path):
    trained = Pieces.load(train(tmp_path) / "joint.model")
    assert trained.encode(["the 猫"])[0].count(ids.UNK) == 1
    trained = Pieces.load(train(tmp_path, size=330, byte_fallback=True) / "joint.model")
    [sentence] = trained.encode(["the 猫"])
    assert ids.UNK not in sentence
    assert trained.decode(sentence) == "the 猫"
    text = trained.decode(list(range(trained.size)))
    assert "\n" not in text and "\r" not in text  # byte pieces spell them  # noqa: PT018


@KINDS
def test_two_trainings_give_the_same_bytes_and_name_no_path(tmp_path, kind):
    first, second = (train(tmp_path / name, kind=kind, joint=False, size=30) for name in ("first", "second"))
    assert models(first) == models(second)
    assert not [name for name, model in models(first).items() if str(tmp_path).encode() in model]


@pytest.mark.parametrize("joint", [True, False])
def test_training_sees_the_sample_and_nothing_else(tmp_path, joint):
    sampled = train(tmp_path / "sampled", joint=joint, sentences=40, size=50)
    chosen = sample(80, 40, seed=1).tolist()
    source, target = (list(compress(text, chosen)) for text in (SOURCE, TARGET))
    alone = train(tmp_path / "alone", source, target, joint=joint, size=50)
    assert models(sampled) == models(alone)
    assert sorted(models(alone)) == (["joint.model"] if joint else ["source.model", "target.model"])
    sizes = {"source_size": 50, "target_size": 50}
    assert files.read_json(sampled / "vocabulary.json") == {"kind": "bpe", "joint": joint, **sizes, "pairs": 40}


@KINDS
@pytest.mark.parametrize("joint", [True, False])
def test_a_tag_is_a_piece_of_the_source_that_no_text_gives(tmp_path, kind, joint):
    tags = {"own": "<bt>", "web": "#", "other": "<bt>"}
    out = train(tmp_path, kind=kind, joint=joint, size=60, tags=tags)
    pieces = Pieces.load(out / f"{'joint' if joint else 'source'}.model")
    assert [pieces.tag_id(tag) for tag in ("<bt>", "#", "<ft>", "</s>")] == [4, 5, None, None]
    [sentence] = pieces.encode(["<bt> chat #"])
    assert not {4, 5} & {*sentence}
    assert ids.UNK in sentence
    assert "#" not in pieces.characters
    assert pieces.decode([4, 5]) == ""
    assert joint or Pieces.load(out / "target.model").tag_id("<bt>") is None


def test_a_tag_that_the_text_holds_is_refused(tmp_path):
    expected = f"tags.web: {tmp_path}/train/own/00000.target.txt line 3 holds it, got '>>'; expected a tag that no text"
    with pytest.raises(files.DataError, match=f"^{re.escape(expected)}"):
        train(tmp_path, target=[*TARGET[:2], "a >>sign", *TARGET[3:]], tags={"own": "<a>", "web": ">>"})


def test_a_long_line_is_learnt_from(tmp_path):
    trained = Pieces.load(train(tmp_path, ["chat " * 2000 + "猫"] * 11, ["cat"] * 11, size=16) / "joint.model")
    assert ids.UNK not in trained.encode(["猫"])[0]


@KINDS
def test_a_size_below_the_characters_names_the_least(tmp_path, kind):
    with pytest.raises(files.DataError) as caught:
        train(tmp_path, kind=kind, size=16)
    least = int(re.search(r"at least (\d+)", str(caught.value))[1])
    assert str(caught.value) == (
        f"vocabularies.toy.size: 16 is less than the characters need (at least {least} for {tmp_path}/train); "
        "expected a larger size, or a smaller character_coverage (0.98 at least)"
    )
    assert Pieces.load(train(tmp_path, kind=kind, size=least) / "joint.model").size == least


@KINDS
def test_text_with_fewer_pieces_has_all_of_them(tmp_path, kind, capsys):
    size = Pieces.load(train(tmp_path, kind=kind, size=8000) / "joint.model").size
    assert f"vocabularies.toy  the text has no more than {size} pieces, fewer than 8,000" in capsys.readouterr().err
    assert Pieces.load(train(tmp_path, kind=kind, size=size) / "joint.model").size == size < 8000


@pytest.mark.parametrize("text", [[], ["", " "]])
def test_text_without_words_is_refused(tmp_path, text):
    with pytest.raises(files.DataError, match="no text to train a vocabulary on; expected at least one line with"):
        train(tmp_path, text, text)


@pytest.mark.parametrize("content", [b"no model", b""])
def test_a_broken_model_is_named(tmp_path, content):
    path = tmp_path / "joint.model"
    path.write_bytes(content)
    with pytest.raises(files.DataError, match=rf"^{re.escape(str(path))}: not a SentencePiece model; expected one"):
        Pieces.load(path)
