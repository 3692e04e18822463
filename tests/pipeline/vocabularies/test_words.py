"""The most frequent words by their ids, all others unknown, and one clear line where there are too few."""

import numpy as np
import pytest

from pipeline.common import files
from pipeline.common.seeding import sample
from pipeline.compute import ids
from pipeline.vocabularies import words
from pipeline.vocabularies.words import WordList, Words
from tests.toys import samples

# l' 3, "," "." Le chat dort été 2, le un 1
FRENCH = ["Le chat dort.", "Le chat, l'été, dort.", "le l'été l'un"]
# the 4, cat 3, "." sleeps 2, 's a in summer 1
ENGLISH = ["the cat sleeps.", "the cat sleeps in the summer.", "the cat's a"]


def train(folder, source=FRENCH, target=ENGLISH, num_words=5, sentences=1000, tags={}):  # noqa: B006
    """The folder of a vocabulary of these lines."""
    samples.write_bitexts(folder, train=list(zip(source, target, strict=True)))
    (out := folder / "out").mkdir(exist_ok=True)
    section = Words(kind="word", words=num_words, sentences=sentences, seed=1)
    words.train(section, folder, ("fr", "en"), tags, out, where="vocabularies.toy")
    return out


def test_the_most_frequent_words_by_hand(tmp_path):
    out = train(tmp_path)
    assert files.read_json(out / "source.words.json") == {"language": "fr", "words": ["l'", ",", ".", "Le", "chat"]}
    assert files.read_json(out / "target.words.json")["words"] == ["the", "cat", ".", "sleeps", "'s"]
    sides = {"source_language": "fr", "source_size": 9, "target_language": "en", "target_size": 9}
    assert files.read_json(out / "vocabulary.json") == {"kind": "word", "joint": False, "pairs": 3, **sides}
    again = train(tmp_path / "again")
    assert all((again / path.name).read_bytes() == path.read_bytes() for path in out.iterdir())


def test_ids_begin_after_the_special_pieces(tmp_path):
    source = WordList.load(train(tmp_path) / "source.words.json")
    assert source.size == 9
    assert [source.piece(number) for number in range(6)] == ["<pad>", "<unk>", "<s>", "</s>", "l'", ","]
    assert source.encode(["Le chat dort.", "", "le chat"]) == [[7, 8, ids.UNK, 6], [], [ids.UNK, 8]]
    assert WordList("en", ["a", "<unk>"]).encode(["a </s> <unk>"]) == [[4] + [ids.UNK] * 7]


def test_a_tag_is_an_entry_of_the_source_that_no_text_gives(tmp_path):
    out = train(tmp_path, tags={"train": "<bt>"})
    source, target = (WordList.load(out / f"{side}.words.json") for side in ("source", "target"))
    assert (source.tag_id("<bt>"), source.piece(4), source.size, target.size) == (4, "<bt>", 10, 9)
    assert source.encode(["<bt> Le chat"]) == [[ids.UNK] * 3 + [8, 9]]
    assert files.read_json(out / "vocabulary.json")["source_size"] == 10


def test_decoding_gives_text_with_unknown_words_and_drops_other_special_pieces():
    listed = WordList("en", ["the", "cat", "'s", "tail", ".", "("])
    sentence = [ids.BOS, 4, 5, ids.UNK, 6, 7, 8, ids.EOS, ids.PAD]
    assert listed.decode(sentence) == listed.decode(np.array(sentence)) == "the cat UNK's tail."
    assert [listed.decode(few) for few in ([], [ids.EOS], [ids.UNK] * 2)] == ["", "", "UNK UNK"]


def test_the_sample_is_all_where_there_are_few_else_seeded_and_spread(tmp_path):
    assert sample(5, 5, seed=1).tolist() == [True] * 5
    chosen = sample(80, 40, seed=1)
    assert (chosen.sum(), 0 < chosen[:40].sum() < 40) == (40, True)
    assert chosen.tolist() != sample(80, 40, seed=2).tolist()
    source, target = ([f"{word}{n}" for n in range(80)] for word in ("mot", "word"))
    out = train(tmp_path, source, target, num_words=40, sentences=40)
    assert files.read_json(out / "target.words.json")["words"] == sorted(f"word{n}" for n in np.flatnonzero(chosen))


def test_text_with_fewer_words_has_all_of_them(tmp_path, capsys):
    out = train(tmp_path, ["mot0 mot1"], [" ".join(f"word{n}" for n in range(9))], num_words=5)
    sizes = files.read_json(out / "vocabulary.json")
    assert (sizes["source_size"], sizes["target_size"]) == (4 + 2, 4 + 5)
    assert "train, source has no more than 2 words, fewer than 5" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['{"language": "fr"}', '["a", "b"]', '{"language": "fr", "words": 3}'])
def test_a_broken_list_is_named(tmp_path, text):
    path = tmp_path / "source.words.json"
    path.write_text(text)
    with pytest.raises(files.DataError, match=r"source\.words\.json: not a word list; expected one of the stage"):
        WordList.load(path)
