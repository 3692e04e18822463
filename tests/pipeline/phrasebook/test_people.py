"""What people are, feel, know and can do: a sentence of each pattern, and comparisons."""

from collections.abc import Callable
from random import Random
from types import ModuleType

from pipeline.phrasebook import people
from pipeline.phrasebook.draw import Draw
from pipeline.phrasebook.phrases import Phrase
from pipeline.phrasebook.words import Adjective

WrittenBy = Callable[[ModuleType], dict[str, set[tuple[str, str]]]]

# One of each pattern, read and found right in both languages.
CHECKED = {
    "being": ("Anne est assez déçue.", "Anne is quite disappointed."),
    "being_but_not": ("Anne est discrète, mais elle n'est pas curieuse.", "Anne is discreet, but she isn't curious."),
    "not_doing_because": (
        "Elles n'étudient pas parce qu'elles sont malades.",
        "They aren't studying because they are sick.",
    ),
    "doing_because": ("La femme pleure parce qu'elle est malade.", "The woman is crying because she is sick."),
    "meeting_soon": ("Le mois prochain, je n'attendrai pas l'enfant.", "Next month, I won't wait for the child."),
    "person_compared": (
        "Votre grand-mère est moins curieuse que sa sœur.",
        "Your grandmother is less curious than her sister.",
    ),
    "ache": ("Le serveur a mal au dos maintenant.", "The waiter's back hurts now."),
    "profession": ("Ma tante était journaliste.", "My aunt was a journalist."),
    "speaking": ("Je parle espagnol, mais je ne parle pas français.", "I speak Spanish, but I don't speak French."),
    "knowing_how": (
        "Elle sait dessiner, mais elle ne sait pas skier.",
        "She knows how to draw, but she doesn't know how to ski.",
    ),
    "knowing": ("Vous connaissez l'enfant et vous l'appelez toujours.", "You know the child and you always call him."),
    "who_is_who": (
        "L'étudiant qui porte un uniforme est mon frère.",
        "The student who is wearing a uniform is my brother.",
    ),
    "age": ("Paul a soixante ans.", "Paul is sixty years old."),
}


def test_each_pattern_writes_its_hand_checked_sentence(written_by: WrittenBy) -> None:
    written = written_by(people)
    assert set(CHECKED) == set(written)
    assert [name for name, pair in CHECKED.items() if pair not in written[name]] == []


def test_to_have_is_denied_around_the_verb() -> None:
    they = Phrase("elles", "they", 5, True)
    assert people.have(they) == "elles ont"
    assert people.have(they, negation=True) == "elles ne ont pas"  # spelt only once the sentence is whole


def test_a_comparison_agrees_and_says_more_less_or_as() -> None:
    one, other = Phrase("Marie", "Marie", 2, True), Phrase("Paul", "Paul", 2, False)
    said = {people.compare(Draw(Random(seed)), one, Adjective("jeune", "young"), other) for seed in range(50)}
    assert said == {
        ("Marie est plus jeune que Paul.", "Marie is younger than Paul."),
        ("Marie est moins jeune que Paul.", "Marie is less young than Paul."),
        ("Marie est aussi jeune que Paul.", "Marie is as young as Paul."),
    }
