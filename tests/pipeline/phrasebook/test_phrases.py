"""Noun phrases in both languages: what takes them up, and how they are joined."""

from pipeline.phrasebook.phrases import Pair, noun_phrase, say
from pipeline.phrasebook.words import Noun

KEYS = noun_phrase("the", Noun("clé", "key", True), True)


def test_marks_stand_as_each_language_sets_them() -> None:
    assert say("a", ",", Pair("x", "y"), "?", "b", ".") == ("a, x ? b.", "a, y? b.")


def test_a_phrase_is_taken_up_by_its_pronouns() -> None:
    mother = noun_phrase(Pair("mon", "my"), Noun("mère", "mother", True), False)
    assert (mother.french, mother.english) == ("ma mère", "my mother")
    assert (mother.pronoun.french, mother.pronoun.english) == ("elle", "she")
    assert mother.object == ("la", "her")
    assert mother.possessive == ("son", "her")
    assert KEYS.object == ("les", "them")
