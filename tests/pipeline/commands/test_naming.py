import pytest

from pipeline.commands.naming import matching, shortest

IDS = ["a-bpe_2k-gru-tiny", "a-bpe_2k-gru_deep-tiny", "a-bpe_2k-gru_deep-small", "b-bpe_2k-lstm-tiny"]
SEEDS = [*IDS, "a-bpe_2k-gru-tiny-2", "a-bpe_2k-gru-tiny-3", "a-bpe_2k-lstm_deep-tiny-2"]
TWO = ["a-bpe-gru-tiny", "a-words-gru-tiny", "b-words-gru-tiny"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gru", IDS[:1]),  # a whole name, so that those that only begin with it are not meant
        ("gru_deep", IDS[1:3]),
        ("deep-small", IDS[2:3]),
        ("lst", IDS[3:]),
        ("b", IDS[3:]),
        ("bpe_2k", IDS),
        ("bpe_2k-gru_deep-tiny", IDS[1:2]),
        ("rnn", []),
        ("", []),
    ],
)
def test_what_a_part_stands_for(text, expected):
    assert matching(text, IDS) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gru", SEEDS[:1]),  # the first training of the system
        ("gru-tiny", SEEDS[:1]),
        ("gru-tiny-2", SEEDS[4:5]),
        ("tiny-2", [SEEDS[4], SEEDS[6]]),
        ("lstm_deep", SEEDS[6:]),  # whose first training is not built
    ],
)
def test_a_further_seed_is_meant_if_it_is_named(text, expected):
    assert matching(text, SEEDS) == expected


def test_the_shortest_name_is_unambiguous():
    assert [shortest(name, SEEDS) for name in SEEDS[4:]] == ["gru-tiny-2", "gru-tiny-3", "lstm_deep"]
    assert [shortest(name, IDS) for name in IDS] == ["gru", "gru_deep-tiny", "gru_deep-small", "lstm"]
    assert [shortest(name, TWO) for name in TWO] == ["bpe-gru-tiny", TWO[1], TWO[2]]
    assert all(matching(shortest(name, ids), ids) == [name] for ids in (IDS, TWO) for name in ids)
