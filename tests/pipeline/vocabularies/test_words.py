"""The most frequent words by their ids, all others unknown, and one clear line where there are too few."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pipeline import files, ids
from pipeline.vocabularies import words
from pipeline.vocabularies.sampling import sample
from pipeline.vocabularies.words import WordList, Words

ORDINARY = Words(kind="word", words=5, sentences=1000, seed=1)
# l' 3, "," "." Le chat dort été 2, le un 1
FRENCH = ["Le chat dort.", "Le chat, l'été, dort.", "le l'été l'un"]
# the 4, cat 3, "." sleeps 2, 's a in summer 1
ENGLISH = ["the cat sleeps.", "the cat sleeps in the summer.", "the cat's a"]
LANGUAGES = ("fr", "en")


def train(folder: Path, source: list[str], target: list[str], **changes: object) -> Path:
    """The folder of a vocabulary of these lines."""
    files.write_lines(folder / "train.source.txt", source)
    files.write_lines(folder / "train.target.txt", target)
    (out := folder / "out").mkdir(exist_ok=True)
    section = Words.model_validate(ORDINARY.model_dump() | changes)
    texts = folder / "train.source.txt", folder / "train.target.txt"
    words.train(section, *texts, LANGUAGES, out, where="vocabularies.toy")
    return out


def listed(folder: Path, side: str) -> list[str]:
    """The words of one side, by their ids."""
    return files.read_json(folder / f"{side}.words.json")["words"]


def test_the_most_frequent_words_by_hand(tmp_path):
    out = train(tmp_path, FRENCH, ENGLISH)
    assert listed(out, "source") == ["l'", ",", ".", "Le", "chat"]
    assert listed(out, "target") == ["the", "cat", ".", "sleeps", "'s"]


def test_ids_begin_after_the_special_pieces(tmp_path):
    source = WordList.load(train(tmp_path, FRENCH, ENGLISH) / "source.words.json")
    assert source.size == 9
    assert [source.piece(number) for number in range(6)] == ["<pad>", "<unk>", "<s>", "</s>", "l'", ","]
    assert source.encode(["Le chat dort.", "", "le chat"]) == [[7, 8, ids.UNK, 6], [], [ids.UNK, 8]]


def test_words_that_look_special_are_not():
    found = WordList("en", ["a", "<unk>"])
    assert found.encode(["a </s> <unk>"]) == [[4] + [ids.UNK] * 7]
    assert found.ids == {"a": 4, "<unk>": 5}


def test_decoding_gives_text_with_unknown_words_and_drops_other_special_pieces():
    found = WordList("en", ["the", "cat", "'s", "tail", ".", "("])
    sentence = [ids.BOS, 4, 5, ids.UNK, 6, 7, 8, ids.EOS, ids.PAD]
    assert found.decode(sentence) == found.decode(np.array(sentence)) == "the cat UNK's tail."
    assert [found.decode(nothing) for nothing in ([], [ids.EOS], [ids.UNK], [ids.UNK] * 2)] == [
        "",
        "",
        "UNK",
        "UNK UNK",
    ]


def test_text_of_known_words_survives_a_round_trip(tmp_path):
    out = train(tmp_path, FRENCH, ENGLISH, words=7)
    target = WordList.load(out / "target.words.json")
    text = ["the cat sleeps.", "the cat's", "", "the cat, the cat"]
    decoded = [target.decode(sentence) for sentence in target.encode(text)]
    assert decoded == [*text[:3], "the cat UNK the cat"]  # no comma is known


def test_vocabulary_json_says_what_was_counted(tmp_path):
    assert files.read_json(train(tmp_path, FRENCH, ENGLISH) / "vocabulary.json") == {
        "kind": "word",
        "joint": False,
        "pairs": 3,
        "source_language": "fr",
        "source_size": 9,
        "source_coverage": round(11 / 17, 6),
        "target_language": "en",
        "target_size": 9,
        "target_coverage": round(12 / 15, 6),
    }


def test_the_whole_is_covered_by_all_words(tmp_path):
    out = train(tmp_path, ["le chat"], ["a cat"], words=2)
    assert files.read_json(out / "vocabulary.json")["source_coverage"] == 1.0


def test_training_sees_the_sample_and_nothing_else(tmp_path):
    source, target = [f"mot{n} le" for n in range(80)], [f"word{n} the" for n in range(80)]
    chosen = np.flatnonzero(sample(80, 40, seed=1)).tolist()
    out = train(tmp_path, source, target, sentences=40, words=41)
    assert listed(out, "source") == ["le", *sorted(f"mot{n}" for n in chosen)]
    assert listed(out, "target") == ["the", *sorted(f"word{n}" for n in chosen)]
    assert files.read_json(out / "vocabulary.json")["pairs"] == 40


def test_two_trainings_give_the_same_bytes(tmp_path):
    first, second = (train(tmp_path / name, FRENCH, ENGLISH) for name in ("first", "second"))
    for path in first.iterdir():
        assert (second / path.name).read_bytes() == path.read_bytes()
    assert sorted(path.name for path in first.iterdir()) == [
        "source.words.json",
        "target.words.json",
        "vocabulary.json",
    ]


def test_equal_counts_stand_by_code_points():
    counts = Counter({"é": 2, "z": 2, "Z": 2, ".": 2, "b": 3, "a": 1})
    assert words.most_frequent(counts, 5) == ["b", ".", "Z", "z", "é"]


@pytest.mark.parametrize(("source", "target", "side", "most"), [(2, 9, "source", 2), (9, 3, "target", 3)])
def test_more_words_than_the_data_have_names_how_many_there_are(tmp_path, source, target, side, most):
    texts = [" ".join(f"word{n}" for n in range(number)) for number in (source, target)]
    with pytest.raises(files.DataError) as caught:
        train(tmp_path, texts[:1], texts[1:])
    assert str(caught.value) == (
        f"vocabularies.toy.words: 5 is more than the data supports (at most {most} for {tmp_path}/train.{side}.txt); "
        "expected fewer words or more training pairs"
    )
    out = train(tmp_path, texts[:1], texts[1:], words=most)
    assert len(listed(out, side)) == most


@pytest.mark.parametrize("source", [[], ["", ""], [" ", "\t"]], ids=["no line", "empty lines", "blank lines"])
def test_text_without_words_is_refused(tmp_path, source):
    with pytest.raises(files.DataError) as caught:
        train(tmp_path, source, source)
    expected = "no text to train a vocabulary on; expected at least one line with words"
    assert str(caught.value) == f"{tmp_path}/train.source.txt: {expected}"


def test_files_that_are_not_parallel_are_refused(tmp_path):
    with pytest.raises(files.DataError, match=r"has 2 lines, train\.target\.txt 1: the two files must be parallel"):
        train(tmp_path, ["un", "deux"], ["one"])


def test_a_missing_list_is_named(tmp_path):
    with pytest.raises(files.DataError) as caught:
        WordList.load(tmp_path / "source.words.json")
    expected = "no such file; expected a vocabulary of the stage vocabulary"
    assert str(caught.value) == f"{tmp_path}/source.words.json: {expected}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no list",
        '{"language": "fr", "words": ["a", "b"',
        '{"language": "fr"}',
        '{"language": "fr", "words": "ab"}',
        '{"language": "fr", "words": [1, 2]}',
        '{"language": "fr", "words": ["a", "b", "a"]}',
        '{"language": "fr", "words": ["a", ""]}',
        '{"language": "fr", "words": ["a", "b\\nc"]}',
        '["a", "b"]',
    ],
)
def test_a_broken_list_is_named(tmp_path, text):
    (path := tmp_path / "source.words.json").write_text(text)
    with pytest.raises(files.DataError) as caught:
        WordList.load(path)
    assert str(caught.value) == f"{path}: not a word list; expected one of the stage vocabulary"


def test_a_list_that_is_no_utf8_is_named(tmp_path):
    (path := tmp_path / "source.words.json").write_bytes(b'{"language": "fr", "words": ["\xe9t\xe9"]}')
    with pytest.raises(files.DataError, match=r"source\.words\.json: not a word list; expected one of the stage"):
        WordList.load(path)


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("kind", "bpe", "should be 'word', got 'bpe'"),
        ("words", 0, "should be greater than or equal to 1, got 0"),
        ("words", 1_000_001, "should be less than or equal to 1000000, got 1000001"),
        ("words", "30k", "should be a valid integer, got '30k'"),
        ("sentences", 0, "should be greater than or equal to 1, got 0"),
        ("seed", -1, "should be greater than or equal to 0, got -1"),
        ("size", 10, "unknown key; expected one of kind, seed, sentences, words"),
    ],
)
def test_settings_out_of_range_are_named(key, value, fault):
    node = ORDINARY.model_dump() | {key: value}
    assert list(Words.faults(node, "vocabularies.toy")) == [f"params.yaml: vocabularies.toy.{key}: {fault}"]
