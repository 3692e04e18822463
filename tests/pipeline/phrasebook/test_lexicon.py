"""The words: their lines are read right, their genders are true, and no class names one twice."""

from collections import defaultdict

import pytest

from pipeline.phrasebook import lexicon
from pipeline.phrasebook.lexicon import Frame
from pipeline.phrasebook.words import Adjective, Expression, Name, Noun, Verb, Word

FRAMES = {name: value for name, value in vars(lexicon).items() if isinstance(value, Frame)}
CLASSES = {
    name: value
    for name, value in vars(lexicon).items()
    if isinstance(value, tuple | frozenset) and all(isinstance(word, Word) for word in value)
}
NOUNS = {noun for frame in FRAMES.values() for noun in frame.nouns} | {
    noun for words in CLASSES.values() for noun in words if isinstance(noun, Noun)
}


def english(words: tuple[Word, ...]) -> str:
    return ", ".join(word.english for word in words)


def test_lines_are_read() -> None:
    assert lexicon.nouns("carte postale f postcard", "thé m tea") == (
        Noun("carte postale", "postcard", True),
        Noun("thé", "tea", False),
    )
    assert lexicon.nouns("gants m gloves", number="plural") == (Noun("gants", "gloves", False, "plural"),)
    assert lexicon.names("Londres f London") == (Name("Londres", "London", True),)
    assert lexicon.verbs("se lever = get up") == (Verb("se lever", "get up"),)
    assert lexicon.adjectives("vieux = old", before=True) == (Adjective("vieux", "old", True),)
    assert lexicon.expressions("à côté de = next to") == (Expression("à côté de", "next to"),)


def test_genders_are_those_of_the_dictionary() -> None:
    feminine = "pomme eau souris clé maison école radio photo église gare soupe étagère armoire sœur"
    masculine = (
        "œuf arbre parapluie couteau musée lait imperméable garage oiseau ordinateur stade théâtre fils uniforme"
    )
    genders = {noun.french: noun.feminine for noun in NOUNS}
    assert {word for word in feminine.split() if not genders[word]} == set()
    assert {word for word in masculine.split() if genders[word]} == set()


def test_a_french_noun_has_one_gender_one_number_and_one_translation() -> None:
    found = defaultdict(set)
    for noun in NOUNS:
        found[noun.french].add(noun)
    assert {french: words for french, words in found.items() if len(words) > 1} == {}
    assert len(found) > 150


@pytest.mark.parametrize("name", CLASSES)
def test_no_word_stands_twice_in_a_class(name: str) -> None:
    assert len(set(CLASSES[name])) == len(CLASSES[name]) > 0


@pytest.mark.parametrize("name", FRAMES)
def test_no_word_stands_twice_in_a_frame(name: str) -> None:
    frame = FRAMES[name]
    for words in (frame.nouns, frame.adjectives, frame.lasting, frame.sudden, frame.usual):
        assert len(set(words)) == len(words)


def test_what_is_done_to_things_is_known_of_every_frame() -> None:
    assert len(set(lexicon.FRAMES)) == len(lexicon.FRAMES)
    assert all(frame.nouns and frame.adjectives for frame in FRAMES.values())
    assert all(frame.lasting and frame.sudden and frame.usual for frame in (*lexicon.FRAMES, lexicon.SHUT))


def test_slices_hold_what_they_mean() -> None:
    assert english(lexicon.ANIMALS) == "dog, cat, horse, bird, cow, mouse, rabbit, hen, sheep"
    assert english(lexicon.PEERS) == "brother, sister, cousin, cousin, friend, friend, neighbor, neighbor"
    assert english(lexicon.JOBS[-2:]) == "police officer, student"
    assert english(lexicon.HOURS) == "two, three, four, five, six, seven, eight, nine, ten, eleven"
    assert english(lexicon.SKILLS) == "sing, dance, swim, cook, drive, draw, ski"
    assert {noun.english for noun in lexicon.BUILDINGS} - {noun.english for noun in lexicon.GOALS} == {
        "house",
        "school",
        "garden",
    }
    assert english(lexicon.ROOMS[-2:]) == "hallway, garage"
