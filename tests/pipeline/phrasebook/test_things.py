"""What things are like, cost and whose they are: a sentence of each pattern, and nothing too good."""

from collections.abc import Callable
from types import ModuleType

from pipeline.phrasebook import things

WrittenBy = Callable[[ModuleType], dict[str, set[tuple[str, str]]]]

# One of each pattern, read and found right in both languages.
CHECKED = {
    "thing_too": ("Ce spectacle est trop étrange.", "This show is too strange."),
    "thing_was_not": ("Les ponts n'étaient pas très célèbres.", "The bridges weren't very famous."),
    "thing_compared": ("Ce vin est moins cher que la viande.", "This wine is less expensive than the meat."),
    "thinking": ("Elle pense que ce spectacle est assez long.", "She thinks that this show is quite long."),
    "thing_bought": (
        "L'ordinateur que nous avons choisi hier soir est cher.",
        "The computer that we chose last night is expensive.",
    ),
    "costing": ("Ce téléphone coûte dix-huit euros.", "This phone costs eighteen euros."),
    "belonging": ("Ce sont les vélos de ma voisine.", "These are my neighbor's bikes."),
    "animals": ("Elle a neuf lapins.", "She has nine rabbits."),
}


def test_each_pattern_writes_its_hand_checked_sentence(written_by: WrittenBy) -> None:
    written = written_by(things)
    assert set(CHECKED) == set(written)
    assert [name for name, pair in CHECKED.items() if pair not in written[name]] == []


def test_nothing_is_too_good(written_by: WrittenBy) -> None:
    said = [english for _, english in written_by(things)["thing_too"]]
    assert any(" too " in english for english in said)
    assert not [english for english in said if any(f" too {word.english}." in english for word in things.POSITIVE)]


def test_a_quality_is_one_that_fits_the_thing() -> None:
    fits = {noun.english: {word.english for word in words} for nouns, words in things.QUALITIES for noun in nouns}
    assert fits["apple"] == {"good", "fresh", "small", "expensive"}
    assert fits["book"] == {"long", "interesting", "strange"}
    assert fits["bridge"] == {"quiet", "famous", "modern", "small"}
    assert sum(len(nouns) for nouns, _ in things.QUALITIES) == len(fits)
