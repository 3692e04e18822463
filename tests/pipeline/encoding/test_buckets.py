from itertools import pairwise

from pipeline.encoding.buckets import Shape, bucket, round_up


def test_rounded_numbers_by_hand():
    assert [round_up(number) for number in (1, 2, 15, 16, 17, 18, 19, 32, 33, 36, 37, 64, 65, 128, 129)] == [
        *(1, 2, 15, 16, 18, 18, 20, 32, 36, 36, 40, 64, 72, 128, 144)
    ]


def test_few_numbers_are_kept_and_each_adds_less_than_an_eighth():
    kept = sorted({round_up(number) for number in range(1, 4097)})
    assert len(kept) == 16 + 8 * 8
    assert all(round_up(number) == number for number in kept)
    assert all(0 <= round_up(number) - number < number / 8 for number in range(1, 4097))
    assert all(round_up(one) <= round_up(other) for one, other in pairwise(range(1, 4097)))


def test_a_bucket_rounds_every_size():
    assert bucket(Shape(33, 17, 9)) == Shape(36, 18, 9)
