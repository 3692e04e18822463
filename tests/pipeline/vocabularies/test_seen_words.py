"""The words of a training part, where an unseen word says something."""

from pipeline.vocabularies import seen_words
from pipeline.vocabularies.seen_words import SeenWords

CLOSED = ["Où est la gare ?", "Où est l'hôtel ?", "La gare est là-bas."] * 200
OPEN = [*CLOSED, *(f"mot{chr(97 + number)} nouveau" for number in range(15))]


def test_new_words_are_named_once_in_their_order(tmp_path):
    seen_words.write(CLOSED, tmp_path)
    assert (tmp_path / "seen_words.txt").read_text() == "bas\nest\ngare\nhôtel\nl\nla\nlà\noù\n"
    seen = SeenWords.load(tmp_path)
    assert seen.new("OU\u0300 est la gare\u202f? Là-\u200bbas.") == []
    assert seen.new("Le musée, 42 fois ; le MUSÉE est l'école_!") == ["Le", "musée", "fois", "école"]
    assert SeenWords.load(tmp_path / "other").new("xyz") == []


def test_each_character_is_a_word_where_no_spaces_stand_between(tmp_path):
    seen_words.write(["猫在花园里睡觉。", "猫在花园。", "花园里睡觉。"] * 9, tmp_path)
    assert SeenWords.load(tmp_path).new("猫睡在狗里 OK") == ["狗", "OK"]


def test_a_corpus_of_anything_lists_none(monkeypatch):
    assert list(seen_words.known_words(OPEN)) == []  # 15 of 2,230 words came once
    monkeypatch.setattr(seen_words, "MOST_WORDS", 7)
    lines = iter(CLOSED)
    assert list(seen_words.known_words(lines)) == []
    assert len(list(lines)) == len(CLOSED) - 3  # the rest of a large corpus is not even read
