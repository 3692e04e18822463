"""Each rule by hand, their order, and that no pair is lost without a count."""

import random
import unicodedata

import pytest

from pipeline.common import parts
from pipeline.common.files import parallel, raw_lines
from pipeline.preparation import cleaning
from pipeline.preparation.cleaning import Cleaning, Tally, clean

SECTION = Cleaning(max_characters=40, max_words=6, max_length_ratio=2.0, examples=2)
FINE = ("le chat dort", "the cat sleeps")


def run(*pairs):
    """The pairs kept of those given as text or bytes, the number of those that each rule dropped, and the tally."""
    raw = [tuple(side if isinstance(side, bytes) else side.encode() for side in pair) for pair in pairs]
    tally = Tally(SECTION)
    kept = list(clean(raw, SECTION, tally))
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
        ("a" * 41, "b", "too_long_characters"),
        ("a b c d e f", "a b c d e f g", "too_long_words"),
        ("a b c", "g h i j k l m", "too_long_words"),
        ("Paris  ", " Paris", "source_equals_target"),
        ("le chat dort\u200b", "the\u00ad cat  sleeps", "duplicate"),
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
    section = SECTION.changed(max_words=99, max_characters=99)
    few, most, more = (" ".join(["mot"] * count) for count in (short, longest, longest + 1))
    for swap in (1, -1):
        assert not cleaning.broken_rule(*(few, most)[::swap], section)
        assert cleaning.broken_rule(*(few, more)[::swap], section) == "length_ratio"


def test_the_first_of_equal_pairs_is_kept_and_changes_are_counted():
    pairs = [FINE, ("le  chat dort", "the cat sleeps"), ("le chat dort", "the cat naps"), ("ab", "c"), ("a", "bc")]
    kept, dropped, tally = run(*pairs, FINE)
    assert kept == [FINE, *pairs[2:]]
    assert dropped == {"duplicate": 2}
    assert tally.changed == 1


def test_a_pair_is_counted_by_the_first_rule_it_breaks_with_the_first_examples():
    _, dropped, tally = run(
        *((b"\xff", "\x00"), (b"\xe9t\xe9", "\x00"), (b"\xe8", "three"), ("\x00", ""), ("", "a" * 50)),
        *(("x" * 300, "long"), ("a b c d e f g", "b")),
    )
    once = ("control_characters", "empty", "too_long_characters", "too_long_words")
    assert dropped == {"invalid_utf8": 3, **dict.fromkeys(once, 1)}
    assert tally.examples["invalid_utf8"] == [("\\xff", "\x00"), ("\\xe9t\\xe9", "\x00")]
    assert tally.examples["too_long_characters"] == [("x" * 200 + "…", "long")]


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


def test_raw_lines_end_at_a_newline_only(tmp_path):
    (tmp_path / "train.source.txt").write_bytes(b"un\xe2\x80\xa8deux\r\n\x85\xff")
    (tmp_path / "train.target.txt").write_bytes(b"one\x0btwo\nlast\n")
    expected = [(b"un\xe2\x80\xa8deux", b"one\x0btwo"), (b"\x85\xff", b"last")]
    assert list(parallel(*parts.paths(tmp_path, "train"), raw_lines)) == expected
