"""Each rule by hand, their order, and that no pair is lost without a count."""

import random
import unicodedata

import pytest

from pipeline.common.params import Node, ParamsError
from pipeline.preparation import bitexts, cleaning
from pipeline.preparation.cleaning import Cleaning, Tally

KEYS = {"max_characters": 40, "max_words": 6, "max_length_ratio": 2.0, "source_equals_target": True, "numbers": "off"}
KEYS |= {"language": False, "external": {}, "duplicates": "pair", "examples": 2}
FINE = ("le chat dort", "the cat sleeps")


def run(*pairs, **changes):
    """The pairs kept of those given as text or bytes, the number of those that each rule dropped, and the tally."""
    raw = [tuple(side if isinstance(side, bytes) else side.encode() for side in pair) for pair in pairs]
    tally = Tally(2)
    kept = list(bitexts.kept_pairs(raw, Cleaning(**KEYS | changes), ("fr", "en"), tally, set()))
    return kept, {rule: count for rule, count in tally.dropped.items() if count}, tally


@pytest.mark.parametrize(
    ("source", "target", "rule"),
    [
        (b"caf\xe9", "coffee", "invalid_utf8"),
        (b"\xed\xa0\x80", "half a surrogate", "invalid_utf8"),
        ("un\x00deux", "one two", "control_characters"),
        ("un", "one\x85", "control_characters"),
        ("", "nothing", "empty"),
        ("rien", " \t\u00a0\u2003 ", "empty"),
        ("\ufeff", "a byte order mark", "empty"),
        ("a" * 41, "b", "max_characters"),
        ("a b c d e f", "a b c d e f g", "max_words"),
        ("a b c", "g h i j k l m", "max_words"),
        ("Paris  ", " Paris", "source_equals_target"),
        ("le chat dort\u200b", "the\u00ad cat  sleeps", "duplicates"),
    ],
)
def test_each_rule_drops(source, target, rule):
    assert run(FINE, (source, target))[:2] == ([FINE], {rule: 1})


@pytest.mark.parametrize(
    "pair", [("a" * 40, "b" * 40), ("a b c d e f", "g h i j k l"), ("👩\u200d🚀", "astronaut"), ("Paris", "paris")]
)
def test_what_stands_at_the_limit_is_kept(pair):
    assert run(pair)[0] == [pair]


@pytest.mark.parametrize(("short", "longest"), [(1, 6), (2, 6), (3, 6), (4, 8), (5, 10)])
def test_length_ratio_takes_a_short_sentence_for_three_words(short, longest):
    few, most, more = (" ".join(["mot"] * count) for count in (short, longest, longest + 1))
    for swap in (1, -1):
        pair, longer = (few, f"{most}.")[::swap], (few, f"{more}.")[::swap]
        assert run(pair, longer, max_words=0, max_characters=0)[:2] == ([pair], {"max_length_ratio": 1})


def test_the_first_of_equal_pairs_is_kept_and_changes_are_counted():
    pairs = [FINE, ("le  chat dort", "the cat sleeps"), ("le chat dort", "the cat naps"), ("ab", "c"), ("a", "bc")]
    kept, dropped, tally = run(*pairs, FINE)
    assert kept == [FINE, *pairs[2:]]
    assert dropped == {"duplicates": 2}
    assert tally.changed == 1


def test_a_pair_is_counted_by_the_first_rule_it_breaks_with_the_first_examples():
    _, dropped, tally = run(
        *((b"\xff", "\x00"), (b"\xe9t\xe9", "\x00"), (b"\xe8", "three"), ("\x00", ""), ("", "a" * 50)),
        *(("x" * 300, "long"), ("a b c d e f g", "b")),
    )
    once = ("control_characters", "empty", "max_characters", "max_words")
    assert dropped == {"invalid_utf8": 3, **dict.fromkeys(once, 1)}
    assert tally.examples["invalid_utf8"] == [("\\xff", "\x00"), ("\\xe9t\\xe9", "\x00")]
    assert tally.examples["max_characters"] == [("x" * 200 + "…", "long")]


def test_kept_and_dropped_are_read_whatever_comes():
    draw = random.Random(1)
    bits = [b"a", b"b", b" ", b" ", b"\xc3\xa9", b"e\xcc\x81", b"\xff", b"\x00", b"\t", b"word "]
    weights = (9, 9, 9, 9, 9, 9, 0.1, 0.1, 1, 9)
    raw = [tuple(b"".join(draw.choices(bits, weights, k=draw.randrange(9))) for _ in "ab") for _ in range(2000)]
    kept, _, tally = run(*raw)
    assert tally.read == 2000 == tally.kept + sum(tally.dropped.values())
    assert tally.kept == len(kept) == len(set(kept))
    assert all(side == unicodedata.normalize("NFC", " ".join(side.split())) for pair in kept for side in pair)
    again, dropped, tally = run(*kept)
    assert (again, dropped, tally.changed) == (kept, {}, 0)


@pytest.mark.parametrize(("kind", "left"), [("off", 5), ("pair", 4), ("source", 3), ("target", 2)])
def test_the_first_of_equal_pairs_sources_or_targets_is_kept(kind, left):
    pairs = [("un", "one"), ("un", "one"), ("un", "one."), ("une", "one"), ("UN", "one")]
    kept, dropped, _ = run(*pairs, duplicates=kind)
    assert (len(kept), dropped) == (left, {"duplicates": 5 - left} if left < 5 else {})
    assert kept[0] == pairs[0]


@pytest.mark.parametrize(
    ("source", "target", "differ"),
    [
        ("1 000,5 € en 2024", "In 2024, €1,000.5", False),
        ("le 3 mai", "May 3.", False),
        ("١٢ مايو", "12 May", False),
        ("à 15 h", "at 3 pm", True),
        ("deux", "2", True),
        ("1 et 1", "1", True),
    ],
)
def test_numbers_are_counted_or_dropped(source, target, differ):
    kept, dropped, tally = run((source, target), numbers="count")
    assert (kept, dropped, tally.counted) == ([(source, target)], {}, {"numbers": 1} if differ else {})
    assert run((source, target), numbers="drop")[1] == ({"numbers": 1} if differ else {})


LONG = ("Le chat dort sur le lit.", "The cat sleeps on the bed.")


@pytest.mark.parametrize(
    ("pair", "is_kept"),
    [
        (LONG, True),
        (LONG[::-1], False),
        ((LONG[0], LONG[0]), False),
        ((LONG[0], "Die Katze schläft auf dem Bett."), False),
        (("Don't gloat, Tom !", "Don't gloat, Tom!"), True),  # three words are in any language
        (("Tom a embrassé Mary.", "Tom kissed Mary once again."), True),  # to CLD2 alone the first is English
    ],
)
def test_a_side_in_another_language_is_dropped(pair, is_kept):
    assert run(pair, language=True, max_words=0, source_equals_target=False)[0] == [pair] * is_kept


def test_a_language_that_nobody_knows_is_named():
    with pytest.raises(ValueError, match=r"^clean.language: must be false, got text in 'tlh', which py3langid "):
        list(bitexts.kept_pairs([(b"a", b"b")], Cleaning(**KEYS | {"language": True}), ("tlh", "en"), Tally(2), set()))


def test_a_program_scores_what_other_rules_leave():
    program = {"command": "awk -F '\t' '{print length($1)}'", "at_least": 5.0}
    kept, dropped, _ = run(FINE, ("Paris", "Paris"), ("oui", "yes"), external=program)
    assert (kept, dropped) == ([FINE], {"source_equals_target": 1, "external": 1})
    with pytest.raises(ValueError, match=r"^clean.external.command: must print a number for each of 1 pairs, got 2$"):
        run(FINE, external=program | {"command": "seq 2"})


def test_a_bitext_may_have_keys_of_its_own():
    page, of = Node(KEYS, "clean"), {"web": {"max_words": 3}}
    sections = cleaning.sections(page, Node({"max_words": 5, "of": of}, "clean"), ["memory", "web"])
    assert [(name, section.max_words) for name, section in sections.items()] == [("memory", 5), ("web", 3)]
    with pytest.raises(ParamsError) as error:
        cleaning.sections(page, Node({"of": {"wob": {}, "web": {"numbers": True}}}, "clean"), ["memory", "web"])
    assert str(error.value).splitlines() == [
        "clean.of.wob: no such bitext; nearest is 'web'",
        "clean.of.web.numbers: should be 'off', 'count' or 'drop', got True",
    ]
