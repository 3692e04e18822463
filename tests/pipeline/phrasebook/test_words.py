"""What a word is: its key, its infinitive, and that nothing changes it."""

import dataclasses

import pytest

from pipeline.phrasebook.words import Adjective, Expression, Name, Noun, Verb, Word


def test_words_of_one_translation_share_a_key_only_within_their_kind() -> None:
    assert Noun("ami", "friend", False).key == Noun("amie", "friend", True).key == "Noun friend"
    assert Verb("travailler", "work").key == "Verb work"
    assert Noun("jaune", "yellow", False).key != Adjective("jaune", "yellow").key


@pytest.mark.parametrize(
    ("verb", "reflexive", "infinitive"),
    [
        ("se lever", True, "lever"),
        ("s'habiller", True, "habiller"),
        ("servir", False, "servir"),
        ("savoir", False, "savoir"),
    ],
)
def test_a_reflexive_verb_carries_se(verb: str, reflexive: bool, infinitive: str) -> None:
    word = Verb(verb, "")
    assert (word.reflexive, word.infinitive) == (reflexive, infinitive)


def test_what_is_not_said_of_a_word() -> None:
    assert Noun("pomme", "apple", True).number == "both"
    assert not Adjective("rouge", "red").before


def test_words_are_values() -> None:
    assert len({Noun("avion", "plane", False), Noun("avion", "plane", False), Name("avion", "plane", False)}) == 2
    word: Word = Expression("demain", "tomorrow")
    with pytest.raises(dataclasses.FrozenInstanceError):
        word.french = "hier"
