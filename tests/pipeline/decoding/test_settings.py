import math

import pytest

from pipeline.common.params import ParamsError
from pipeline.decoding.settings import Decoding, length_penalty
from tests.toys.searches import DECODING


def test_length_penalty_by_hand():
    assert [length_penalty(length, 1.0) for length in (1, 7, 19)] == [1.0, 2.0, 4.0]
    assert [length_penalty(length, 0.0) for length in (1, 7, 19)] == [1.0, 1.0, 1.0]
    assert DECODING.penalty(7) == pytest.approx(2**0.6)


def test_max_length_is_a_function_of_the_source():
    decoding = DECODING.changed(max_length_factor=1.1, max_length_offset=3)
    assert [decoding.max_length(length) for length in (0, 1, 9, 10)] == [3, 4, 12, 14]


@pytest.mark.parametrize(
    ("beam_size", "patience", "expected"),
    [(3, 0.0, math.inf), (3, 1.0, 3), (3, 1.5, 5), (10, 1.1, 11), (3, 1e-8, 1)],
)
def test_patience_times_the_beam_is_enough(beam_size, patience, expected):
    assert DECODING.changed(beam_size=beam_size, patience=patience).max_finished == expected


def test_faults_of_the_section_are_named(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text(
        "decode: {beam_size: 0, length_penalty: 1.0, patience: 0, max_length_factor: .inf, max_length_ofset: 3, "
        "tokens_per_batch: 1, no_repeat_ngram_size: 0}"
    )
    with pytest.raises(ParamsError) as caught:
        Decoding.load(f"{path}:decode")
    assert [line.removeprefix(f"{path}: decode.") for line in str(caught.value).splitlines()] == [
        "beam_size: should be greater than 0, got 0",
        "max_length_factor: should be a finite number, got inf",
        "max_length_offset: is missing",
        "max_length_ofset: unknown key; nearest is 'max_length_offset'",
    ]
