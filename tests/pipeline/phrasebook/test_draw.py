"""Words are drawn by the seed alone and remembered, and the speakers of a sentence agree."""

from random import Random

import pytest

from pipeline.phrasebook import lexicon
from pipeline.phrasebook.draw import Draw
from pipeline.phrasebook.lexicon import Frame
from pipeline.phrasebook.phrases import Phrase
from pipeline.phrasebook.words import Noun

SEEDS = range(200)
APPLE, BREAD, GLOVES = lexicon.FRUIT.nouns[0], lexicon.STAPLES.nouns[0], Noun("gants", "gloves", False, "plural")


def drawn(seed: int) -> list[Phrase]:
    draw = Draw(Random(seed))
    return [draw.subject(), draw.someone(), draw.item(lexicon.CLOTHES, "a"), draw.acquaintance(), draw.relative()]


def test_the_seed_alone_decides() -> None:
    assert drawn(3) == drawn(3)
    assert len({tuple(drawn(seed)) for seed in range(20)}) == 20


def test_picked_words_are_remembered_and_options_are_not() -> None:
    draw = Draw(Random(0))
    draw.any(lexicon.DAYS)
    assert draw.words == []
    picked = [draw.pick(lexicon.DAYS), draw.pick(lexicon.MOODS)]
    assert draw.words == picked
    assert draw.another(lexicon.DAYS[:2], "Monday").english == "Tuesday"


def test_options_come_evenly() -> None:
    draw = Draw(Random(0))
    counts = [0, 0, 0, 0]
    for _ in range(4000):
        counts[draw.any(range(4))] += 1
    assert all(900 < count < 1100 for count in counts)


def test_chance_at_its_ends() -> None:
    draw = Draw(Random(0))
    assert not any(draw.chance(0.0) for _ in SEEDS)
    assert all(draw.chance(1.0) for _ in SEEDS)


def test_number_follows_the_noun() -> None:
    draw = Draw(Random(0))
    assert [draw.plural(noun, 1.0) for noun in (APPLE, BREAD, GLOVES)] == [True, False, True]
    assert [draw.plural(noun, 0.0) for noun in (APPLE, BREAD, GLOVES)] == [False, False, True]


def test_an_item_is_a_noun_of_its_frame_with_an_adjective_that_fits() -> None:
    frame = Frame((APPLE,), (lexicon.FRESH,))
    draw = Draw(Random(0))
    item = draw.item(frame, "the", adjective=1.0, plural=1.0)
    assert (item.english, item.person, item.feminine) == ("the fresh apples", 5, True)
    assert draw.words == [APPLE, lexicon.FRESH]
    assert draw.item(frame, "the", adjective=0.0, plural=0.0).english == "the apple"


@pytest.mark.parametrize("seed", range(10))
def test_a_sentence_says_tu_or_vous(seed: int) -> None:
    draw = Draw(Random(seed))
    persons = {draw.subject().person for _ in SEEDS}
    owners = {owner.french for owner in draw.owners}
    assert persons & {1, 4} == {draw.you}
    assert owners == {"mon", "notre", "votre" if draw.you == 4 else "ton"}


def test_a_speaker_is_nobody_named_before() -> None:
    assert {Draw(Random(seed)).speaker().person for seed in SEEDS} == {0, 1, 3, 4}
    assert {Draw(Random(seed)).someone().person for seed in SEEDS} == {2, 5}


def test_nobody_has_several_mothers() -> None:
    many = {Draw(Random(seed)).relative(plural=1.0) for seed in SEEDS}
    assert {kin.person for kin in many} == {5}
    assert {kin.english.split()[-1] for kin in many} == {
        "aunts",
        "brothers",
        "cousins",
        "friends",
        "neighbors",
        "sisters",
        "sons",
        "uncles",
    }
