"""What people do day by day: a sentence of each pattern, and hours that fit what is done."""

from collections.abc import Callable
from random import Random
from types import ModuleType

import pytest

from pipeline.phrasebook import habits
from pipeline.phrasebook.draw import Draw
from pipeline.phrasebook.words import Verb

WrittenBy = Callable[[ModuleType], dict[str, set[tuple[str, str]]]]

# One of each pattern, read and found right in both languages.
CHECKED = {
    "active_often": ("Il danse toujours au printemps.", "He always dances in the spring."),
    "active_soon": ("Le fermier dormira demain matin.", "The farmer will sleep tomorrow morning."),
    "born_in": ("L'anniversaire de l'homme est en août.", "The man's birthday is in August."),
    "playing": ("Il joue au basket le week-end.", "He plays basketball on weekends."),
    "learning": (
        "L'acteur apprend le français depuis onze ans.",
        "The actor has been learning French for eleven years.",
    ),
    "routine": ("Il se lave à dix heures moins le quart tous les jours.", "He washes at a quarter to ten every day."),
    "routine_past": (
        "Lundi dernier, il s'est réveillé à huit heures moins le quart.",
        "Last Monday, he woke up at a quarter to eight.",
    ),
    "was_doing": (
        "Lucas cherchait une tasse quand vous êtes arrivées.",
        "Lucas was looking for a cup when you arrived.",
    ),
}


def test_each_pattern_writes_its_hand_checked_sentence(written_by: WrittenBy) -> None:
    written = written_by(habits)
    assert set(CHECKED) == set(written)
    assert [name for name, pair in CHECKED.items() if pair not in written[name]] == []


@pytest.mark.parametrize(
    ("verb", "hours"),
    [
        (Verb("se coucher", "go to bed"), "eight nine ten eleven"),
        (Verb("se lever", "get up"), "five six seven eight nine ten"),
        (Verb("partir", "leave"), "two three four five six seven eight nine ten eleven"),
    ],
)
def test_an_hour_fits_the_routine(verb: Verb, hours: str) -> None:
    draws = [Draw(Random(seed)) for seed in range(200)]
    said = [habits.hour_for(draw, verb) for draw in draws]
    assert {word.english for draw in draws for word in draw.words} == set(hours.split())
    assert all(french.startswith("à ") and english.startswith("at ") for french, english in said)


def test_an_hour_is_said_in_both_languages() -> None:
    said = {habits.hour(Draw(Random(seed)), preposition=False) for seed in range(1000)}
    assert {pair for pair in said if " huit " in f" {pair.french} "} == {
        ("huit heures", "eight o'clock"),
        ("huit heures et quart", "a quarter past eight"),
        ("huit heures et demie", "half past eight"),
        ("huit heures moins le quart", "a quarter to eight"),
        ("huit heures dix", "ten past eight"),
    }
