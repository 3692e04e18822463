from pipeline.preparation import seen_words
from pipeline.preparation.seen_words import SeenWords

CLOSED = ["Où est la gare ?", "Où est l'hôtel ?", "La gare est là-bas."] * 200
OPEN = [*CLOSED, *(f"mot{chr(97 + number)} nouveau" for number in range(15))]


def test_words_of_a_closed_corpus_are_listed(tmp_path):
    seen_words.write(CLOSED, tmp_path / "toy-bpe")
    listed = (tmp_path / "toy-bpe.seen_words.txt").read_text()
    assert listed == "bas\nest\ngare\nhôtel\nl\nla\nlà\noù\n"


def test_new_words_are_named_once_in_their_order(tmp_path):
    seen_words.write(CLOSED, tmp_path)
    found = SeenWords.load(tmp_path)
    assert found.new("OU\u0300 est la gare\u202f? Là-\u200bbas.") == []
    assert found.new("Le musée, 42 fois ; le MUSÉE est l'école_!") == ["Le", "musée", "fois", "école"]
    assert found.new("") == []


def test_a_corpus_of_anything_lists_none_and_says_nothing(tmp_path, monkeypatch):
    seen_words.write(OPEN, tmp_path)  # 15 of 2,230 words came once
    assert seen_words.path_beside(tmp_path).read_text() == ""
    assert SeenWords.load(tmp_path).new("xyz") == []
    monkeypatch.setattr(seen_words, "MOST_WORDS", 7)
    read = []
    assert list(seen_words.telling(read.append(line) or line for line in CLOSED)) == []
    assert len(read) == 3  # the rest of a large corpus is not even read


def test_a_vocabulary_of_an_earlier_version_says_nothing(tmp_path):
    assert SeenWords.load(tmp_path).new("xyz") == []
