import re

import pytest
from pipeline.serving.glossary import Glossary, continuing, goes_on, read

from pipeline.files import DataError

SPELLED = {(4,): "a", (5, 4): "bb a", (6,): "ccc"}


class Letters:
    """A vocabulary whose pieces are words, the id of each its length + 3; it cannot spell `x`."""

    whole_words = False
    target_size = 8

    def encode_target(self, lines):
        return [[1 if "x" in word else 3 + len(word) for word in line.split()] for line in lines]

    def decode_target(self, sentences):
        return [SPELLED[tuple(sentence)] for sentence in sentences]

    def target_pieces(self, ids):
        return [["<pad>", "<unk>", "<s>", "</s>", "▁a", "b", ".", "é"][piece] for piece in ids]


def glossary(tmp_path, text):
    path = tmp_path / "terms.tsv"
    path.write_text(text)
    return Glossary.load(path, Letters())


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("le chat dort", [[4]]),
        ("Le CHAT, le chat", [[4], [4]]),
        ("chaton achat chat2", []),
        ("le chat   noir", [[5, 4]]),  # the longer term, any white space
        ("la Gare", [[6]]),
        ("la gare, la GARE", []),  # a term with a capital letter is exact
        ("l'chat-noir", [[4]]),
        ("", []),
    ],
)
def test_terms_match_whole_words(tmp_path, line, found):
    terms = glossary(tmp_path, "# ours\n\nchat\ta\nchat noir\tbb a\nGare\tccc\n")
    assert terms.match(line) == found


def test_a_term_behind_one_that_is_not_taken_is_found(tmp_path):
    terms = glossary(tmp_path, "New York\ta\nyork city\tbb a\ncity\tccc\n")
    assert terms.match("New York city, york city") == [[4], [6], [5, 4]]


def test_terms_match_letters_whose_small_form_is_another(tmp_path):
    """In any case these are the same letters, and yet `İstanbul`.lower() is not `istanbul`."""
    terms = glossary(tmp_path, "istanbul\ta\nkız\tbb a\ns\tccc\n")
    assert [terms.match(line) for line in ("İstanbul", "ISTANBUL", "KIZ ſ", "S s")] == (
        [[[4]], [[4]], [[5, 4], [6]], [[6], [6]]]
    )


def test_all_faults_come_with_their_lines(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("a b\n\tc\nd\t\ne\tf\tg\n...\th\ni\tj\ni\tk\ni\tj\n")
    with pytest.raises(DataError) as error:
        read(path)
    form = "a term, a tab and its translation"
    assert str(error.value) == (
        f"{path} line 1: must be {form}, got 'a b'; {path} line 2: must be {form}, got '\\tc'; "
        f"{path} line 3: must be {form}, got 'd\\t'; {path} line 4: must be {form}, got 'e\\tf\\tg'; "
        f"{path} line 5: a term must begin and end with a letter or a digit, got '...'; "
        f"{path} line 7: 'i' must have one translation, got 'k' and 'j'; expected {form} on each line"
    )


@pytest.mark.parametrize(("text", "what"), [("# a\n\n", "holds no term"), (None, "no such file")])
def test_a_file_without_terms_is_named(tmp_path, text, what):
    path = tmp_path / "terms.tsv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DataError, match=re.escape(f"{path}: {what}; expected a term, a tab and its translation")):
        read(path)


def test_what_the_vocabulary_cannot_spell_is_named(tmp_path):
    with pytest.raises(DataError) as error:
        glossary(tmp_path, "a\ta\nb\txy\n")
    assert str(error.value) == (
        f"{tmp_path}/terms.tsv line 2: the system's vocabulary cannot spell 'xy'; expected characters of the "
        "training part"
    )


def test_pieces_that_go_on_with_a_word():
    assert list(continuing(Letters())) == [5, 7]
    assert [piece for piece in ("s", "é", "7", "<0xC3>", "ि", "한") if goes_on(piece)] == [
        "s",
        "é",
        "7",
        "<0xC3>",
        "ि",
        "한",
    ]
    assert not [piece for piece in ("▁a", "", ",", "漢字", "かな", "カナ", "<", "<0x>") if goes_on(piece)]
