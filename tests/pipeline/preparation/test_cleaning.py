"""Each rule by hand, their order, and that no pair is lost without a count."""

import random
import re
import unicodedata

import pytest

from pipeline.files import DataError
from pipeline.preparation import cleaning
from pipeline.preparation.cleaning import Cleaning, Tally, clean
from tests.toys import seeds

SECTION = Cleaning(max_characters=40, max_words=6, max_length_ratio=2.0, examples=2)
FINE = ("le chat dort", "the cat sleeps")


def run(*pairs, section=SECTION):
    """The pairs kept of those given as text or bytes, and the tally."""
    raw = [tuple(side if isinstance(side, bytes) else side.encode() for side in pair) for pair in pairs]
    tally = Tally(section)
    return list(clean(raw, section, tally)), tally


def dropped(tally):
    return {rule: count for rule, count in tally.dropped.items() if count}


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (b"caf\xe9", "coffee", "invalid_utf8"),
        ("coffee", b"\xff", "invalid_utf8"),
        (b"\xed\xa0\x80", "half a surrogate", "invalid_utf8"),
        ("un\x00deux", "one two", "control_characters"),
        ("un", "one\x7f", "control_characters"),
        ("un", "one\x85", "control_characters"),
        ("", "nothing", "empty"),
        ("rien", " \t\u00a0\u2003 ", "empty"),
        ("\ufeff", "a byte order mark", "empty"),
        ("a" * 41, "b", "too_long_characters"),
        ("a", "b" * 41, "too_long_characters"),
        ("a b c d e f g", "a b c d e f", "too_long_words"),
        ("a b c d e f", "a b c d e f g", "too_long_words"),
        ("Paris", "Paris", "source_equals_target"),
        ("Paris  ", " Paris", "source_equals_target"),
    ],
)
def test_each_rule_drops(source, target, expected):
    kept, tally = run((source, target), FINE)
    assert kept == [FINE]
    assert dropped(tally) == {expected: 1}


@pytest.mark.parametrize(
    "pair",
    [("a" * 40, "b" * 40), ("a b c d e f", "g h i j k l"), ("👩\u200d🚀", "astronaut"), ("Paris", "paris")],
    ids=["characters", "words", "joiner", "case"],
)
def test_what_stands_at_the_limit_is_kept(pair):
    assert run(pair)[0] == [pair]


@pytest.mark.parametrize(
    ("short", "longest"), [(1, 6), (2, 6), (3, 6), (4, 8), (5, 10)], ids=lambda count: f"{count} words"
)
def test_length_ratio_takes_a_short_sentence_for_three_words(short, longest):
    section = Cleaning(max_characters=100, max_words=50, max_length_ratio=2.0, examples=0)
    words = [f"mot{number}" for number in range(11)]
    few, most, more = (" ".join(words[:count]) for count in (short, longest, longest + 1))
    for swap in (1, -1):
        assert not cleaning.length_ratio(*(few, most)[::swap], section)
        assert cleaning.length_ratio(*(few, more)[::swap], section)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *(("", 0), ("a black cat", 3), ("un chat à côté", 4), ("고양이가 집에서 잔다.", 3), ("猫", 1)),
        ("一只黑猫在房子里睡觉。", 5),
        ("黒い猫が家で寝ている。", 5),
        ("แมวดำนอนหลับอยู่ในบ้าน", 11),
    ],
)
def test_words_are_counted_in_scripts_without_spaces_too(text, words):
    assert cleaning.num_words(text) == words


def test_a_pair_of_chinese_is_kept():
    section = Cleaning(max_characters=1000, max_words=200, max_length_ratio=4.0, examples=0)
    english = "They had dinner at a restaurant in Beijing yesterday, and then went to see a film together."
    assert not cleaning.length_ratio("他们昨天在北京的一家餐馆里吃了晚饭，然后一起去看了一场电影。", english, section)
    assert cleaning.length_ratio("猫", english, section)


def test_invisible_characters_hide_no_duplicate():
    kept, tally = run(
        FINE, ("le chat dort\u200b", "the\u00ad cat sleeps"), ("\ufeffle chat dort", "the cat sleeps\u200e")
    )
    assert kept == [FINE]
    assert dropped(tally) == {"duplicate": 2}
    assert tally.changed == 2
    assert dropped(run(("\u200b", "nothing"), FINE)[1]) == {"empty": 1}


def test_the_first_of_equal_pairs_is_kept_and_changes_are_counted():
    pairs = [FINE, ("le  chat dort", "the cat sleeps"), ("le chat dort", "the cat naps"), FINE]
    kept, tally = run(*pairs)
    assert kept == [FINE, ("le chat dort", "the cat naps")]
    assert dropped(tally) == {"duplicate": 2}
    assert tally.changed == 1


def test_pairs_that_differ_in_where_the_source_ends_are_no_duplicates():
    pairs = [("ab", "c"), ("a", "bc")]
    assert run(*pairs)[0] == pairs


def test_a_pair_is_counted_by_the_first_rule_it_breaks():
    _, tally = run((b"\xff", "\x00"), ("\x00", ""), ("", "a" * 50), ("a " * 30, "b"), ("a b c d e f g", "b"), FINE)
    assert dropped(tally) == {
        "invalid_utf8": 1,
        "control_characters": 1,
        "empty": 1,
        "too_long_characters": 1,
        "too_long_words": 1,
    }


def test_the_tally_has_every_rule_in_order_and_the_first_examples():
    _, tally = run((b"caf\xe9", "one"), (b"\xe9t\xe9", "two"), (b"\xe8", "three"), ("x" * 300, "long"), FINE)
    assert list(tally.dropped) == [
        "invalid_utf8",
        "control_characters",
        "empty",
        "too_long_characters",
        "too_long_words",
        "length_ratio",
        "source_equals_target",
        "duplicate",
    ]
    assert tally.examples["invalid_utf8"] == [("caf\\xe9", "one"), ("\\xe9t\\xe9", "two")]
    assert tally.examples["too_long_characters"] == [("x" * 200 + "…", "long")]


@pytest.mark.parametrize("seed", seeds.fresh(3))
def test_kept_and_dropped_are_read_whatever_comes(seed, monkeypatch):
    monkeypatch.setattr(cleaning, "BATCH_PAIRS", 64)  # several batches
    draw = random.Random(seed)
    bits = [b"a", b"b", b" ", b" ", b"\xc3\xa9", b"e\xcc\x81", b"\xff", b"\x00", b"\t", b"word "]
    raw = [tuple(b"".join(draw.choices(bits, (9, 9, 9, 9, 9, 9, 0.1, 0.1, 1, 9), k=draw.randrange(9))) for _ in "ab")
           for _ in range(2000)]  # fmt: skip
    tally = Tally(SECTION)
    kept = list(clean(raw, SECTION, tally))
    assert tally.read == 2000 == tally.kept + sum(tally.dropped.values())
    assert tally.kept == len(kept) == len(set(kept))
    assert all(side == unicodedata.normalize("NFC", " ".join(side.split())) for pair in kept for side in pair)
    again = Tally(SECTION)
    assert list(clean([(a.encode(), b.encode()) for a, b in kept], SECTION, again)) == kept
    assert not again.changed


def test_the_size_of_a_batch_changes_nothing(monkeypatch):
    pairs = [(f"phrase {number % 13}", f"sentence {number % 7}") for number in range(200)]
    whole = run(*pairs)[0]
    monkeypatch.setattr(cleaning, "BATCH_PAIRS", 3)
    assert run(*pairs)[0] == whole
    assert len(whole) == 13 * 7


def test_raw_lines_end_at_a_newline_only(tmp_path):
    (tmp_path / "train.source.txt").write_bytes(b"un\xe2\x80\xa8deux\r\n\x85\xff")
    (tmp_path / "train.target.txt").write_bytes(b"one\x0btwo\nlast\n")
    assert list(cleaning.read_raw(tmp_path, "train")) == [
        (b"un\xe2\x80\xa8deux", b"one\x0btwo"),
        (b"\x85\xff", b"last"),
    ]


def test_raw_lines_must_be_parallel(tmp_path):
    (tmp_path / "train.source.txt").write_bytes(b"un\ndeux\n")
    (tmp_path / "train.target.txt").write_bytes(b"one\n")
    with pytest.raises(DataError, match=r"train\.source\.txt has 2 lines, train\.target\.txt 1: the two files must be"):
        list(cleaning.read_raw(tmp_path, "train"))


def test_a_line_without_an_end_is_named(tmp_path):
    (tmp_path / "train.source.txt").write_bytes(b"a\n" + b"b" * (1 << 21))
    (tmp_path / "train.target.txt").write_bytes(b"a\nb\n")
    with pytest.raises(DataError, match=r"train.source.txt line 2: has over 1,048,576 bytes; expected one"):
        list(cleaning.read_raw(tmp_path, "train"))


def test_nothing_to_clean(tmp_path):
    with pytest.raises(DataError, match=re.escape("train: is empty, got 0 pairs; expected at least one")):
        cleaning.check_kept(run()[1], tmp_path / "train")


def test_nothing_left_after_cleaning(tmp_path):
    _, tally = run(("", "one"), ("deux", ""), ("Paris", "Paris"))
    message = (
        "train: cleaning dropped every pair, got empty 2, source_equals_target 1 of 3 read; expected at least one kept"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        cleaning.check_kept(tally, tmp_path / "train")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("max_characters", 0, "should be greater than or equal to 1, got 0"),
        ("max_words", "many", "should be a valid integer, got 'many'"),
        ("max_length_ratio", 0.5, "should be greater than or equal to 1, got 0.5"),
        ("examples", -1, "should be greater than or equal to 0, got -1"),
    ],
)
def test_the_section_says_what_is_wrong(key, value, message):
    faults = list(Cleaning.faults({**SECTION.model_dump(), key: value}, "corpora.toy.clean"))
    assert faults == [f"params.yaml: corpora.toy.clean.{key}: {message}"]


def test_a_raw_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(DataError) as error:
        list(cleaning.read_raw(tmp_path, "train"))
    assert str(error.value) == f"{tmp_path}/train.source.txt: no such file; expected what an earlier stage writes"
