"""English morphology against forms written by hand."""

import pytest

from pipeline.phrasebook import english
from pipeline.phrasebook.words import Adjective, Noun

APPLE, BREAD, GLOVES = (
    Noun("pomme", "apple", True),
    Noun("pain", "bread", False, "mass"),
    Noun("gants", "gloves", False, "plural"),
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a apple", "an apple"),
        ("A old dog", "An old dog"),
        ("a uniform", "a uniform"),
        ("a useful umbrella", "a useful umbrella"),
        ("a umbrella", "an umbrella"),
        ("a hour", "an hour"),
        ("a honest man has a euro", "an honest man has a euro"),
        ("a one-way street", "a one-way street"),
    ],
)
def test_a_or_an(text: str, written: str) -> None:
    assert english.spell(text) == written


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("box", "boxes"),
        ("child", "children"),
        ("knife", "knives"),
        ("mailman", "mailmen"),
        ("mouse", "mice"),
        ("play", "plays"),
        ("police officer", "police officers"),
        ("post office", "post offices"),
        ("sheep", "sheep"),
        ("story", "stories"),
        ("tomato", "tomatoes"),
        ("watch", "watches"),
    ],
)
def test_plurals(singular: str, plural: str) -> None:
    assert english.plural(singular) == plural


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("buy", "buys|bought|bought|buying"),
        ("carry", "carries|carried|carried|carrying"),
        ("draw", "draws|drew|drawn|drawing"),
        ("forget", "forgets|forgot|forgotten|forgetting"),
        ("get up", "gets up|got up|gotten up|getting up"),
        ("go to bed", "goes to bed|went to bed|gone to bed|going to bed"),
        ("have", "has|had|had|having"),
        ("listen to", "listens to|listened to|listened to|listening to"),
        ("see", "sees|saw|seen|seeing"),
        ("swim", "swims|swam|swum|swimming"),
        ("wash", "washes|washed|washed|washing"),
        ("write", "writes|wrote|written|writing"),
    ],
)
def test_verbs(verb: str, forms: str) -> None:
    assert "|".join(english.inflect(verb, ending) for ending in ("s", "past", "participle", "ing")) == forms


def test_genitives() -> None:
    assert english.genitive("Marie", False) == "Marie's"
    assert english.genitive("my parents", True) == "my parents'"
    assert english.genitive("the children", True) == "the children's"
    assert english.genitive("Lucas", False) == "Lucas's"


@pytest.mark.parametrize(
    ("adjective", "more", "most"),
    [
        ("big", "bigger", "biggest"),
        ("heavy", "heavier", "heaviest"),
        ("brave", "braver", "bravest"),
        ("useful", "more useful", "most useful"),
        ("expensive", "more expensive", "most expensive"),
        ("old", "older", "oldest"),
    ],
)
def test_comparison(adjective: str, more: str, most: str) -> None:
    assert (english.comparative(adjective), english.superlative(adjective)) == (more, most)


@pytest.mark.parametrize(
    ("determiner", "noun", "is_plural", "written"),
    [
        ("a", APPLE, False, "a red apple"),
        ("a", APPLE, True, "some red apples"),
        ("a", BREAD, False, "some red bread"),
        ("bare", APPLE, False, "a red apple"),
        ("bare", APPLE, True, "red apples"),
        ("bare", BREAD, False, "red bread"),
        ("this", APPLE, True, "these red apples"),
        ("the", GLOVES, True, "the red gloves"),
        ("", APPLE, True, "red apples"),
    ],
)
def test_noun_phrases(determiner: str, noun: Noun, is_plural: bool, written: str) -> None:
    assert english.noun_phrase(determiner, noun, is_plural, Adjective("rouge", "red")) == written
