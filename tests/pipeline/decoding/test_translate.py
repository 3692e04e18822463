import math
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline import ids
from pipeline.decoding import beam, greedy
from pipeline.decoding.minimum_bayes_risk import ranking
from pipeline.decoding.translate import Decoding, batches, n_best, translate
from pipeline.params import ParamsError
from tests.toys import networks
from tests.toys.searches import DECODING

CPU = torch.device("cpu")
SOURCES = [[5, 4, 6], [], [4], np.array([6, 6, 5, 4, 7], dtype=np.uint16), [7, 5], [5] * 30, [], [4, 6, 5]]


def decoding(**changed):
    return DECODING.changed(**{"max_length_factor": 1.5, "max_length_offset": 3, "tokens_per_batch": 20} | changed)


def test_max_length_is_a_function_of_the_source():
    assert [decoding().max_length(length) for length in (0, 1, 2, 3, 10)] == [3, 4, 6, 7, 18]
    assert decoding(max_length_factor=0, max_length_offset=7).max_length(50) == 7


@pytest.mark.parametrize("beam_size", [1, 3])
def test_order_and_batch_size_change_nothing(drawn, beam_size):
    model = drawn(9)
    once = translate(model, SOURCES, decoding(beam_size=beam_size), CPU)
    assert len(once) == len(SOURCES)
    assert once[1] == once[6] == []
    for tokens in (1, 7, 1000):
        assert translate(model, SOURCES, decoding(beam_size=beam_size, tokens_per_batch=tokens), CPU) == once
    assert translate(model, SOURCES[::-1], decoding(beam_size=beam_size), CPU) == once[::-1]


def test_each_is_what_the_search_finds_for_it_alone(drawn, padded):
    model, steered = drawn(9), decoding()
    best = [
        beam.decode(model, padded([one]), [steered.max_length(len(one))], beam_size=3, alpha=0.6) for one in SOURCES
    ]
    expected = [found[0].ids if len(one) else [] for one, [found] in zip(SOURCES, best, strict=True)]
    assert translate(model, SOURCES, steered, CPU) == expected


def test_beam_size_one_is_greedy_whatever_the_length_penalty(drawn, padded):
    model, steered = drawn(9), decoding(beam_size=1, length_penalty=5.0)
    expected = [greedy.decode(model, padded([one]), [steered.max_length(len(one))])[0] for one in SOURCES if len(one)]
    assert [
        pieces for pieces, one in zip(translate(model, SOURCES, steered, CPU), SOURCES, strict=True) if len(one)
    ] == (expected)


@pytest.mark.parametrize("tokens", [1, 7, 1000])
def test_the_n_best_are_what_the_search_finds_for_each_alone(drawn, padded, tokens):
    model, steered = drawn(9), decoding(tokens_per_batch=tokens)
    alone = [
        beam.decode(model, padded([one]), [steered.max_length(len(one))], beam_size=3, alpha=0.6, n_best=2)[0][:2]
        for one in SOURCES
    ]
    expected = [found if len(one) else [([], 0.0)] for found, one in zip(alone, SOURCES, strict=True)]
    assert n_best(model, SOURCES, steered, CPU, 2) == expected
    assert n_best(model, [], steered, CPU, 2) == []


@pytest.mark.parametrize(("beam_size", "number"), [(1, 1), (3, 1), (3, 3)])
def test_the_best_is_the_translation(drawn, beam_size, number):
    model, steered = drawn(9), decoding(beam_size=beam_size, length_penalty=5.0)
    found = n_best(model, SOURCES, steered, CPU, number)
    assert [hypotheses[0].ids for hypotheses in found] == translate(model, SOURCES, steered, CPU)
    assert [len(hypotheses) for hypotheses in found] == [number if len(source) else 1 for source in SOURCES]


def test_beam_size_one_scores_as_a_wider_beam_does_by_hand(scripted):
    """EOS after one piece has |Y| = 2 and penalty 7 / 6; cut off at the maximum length of two, |Y| = 2 again."""
    model = scripted({(): {4: 0.5, 5: 0.3}, (4,): {ids.EOS: 0.6, 4: 0.4}})
    short = decoding(beam_size=1, length_penalty=1.0, max_length_factor=0, max_length_offset=2)
    assert n_best(model, [[4]], short, CPU, 1) == [[([4], pytest.approx(math.log(0.5 / 0.8 * 0.6) * 6 / 7))]]
    model = scripted({(): {4: 1.0}, (4,): {ids.EOS: 0.4, 4: 0.6}})
    assert n_best(model, [[4]], short, CPU, 1) == [[([4, 4], pytest.approx(math.log(0.6) * 6 / 7))]]


def test_nothing_and_empty_sources_only(drawn):
    model = drawn(9)
    assert translate(model, [], decoding(), CPU) == []
    assert translate(model, [[], []], decoding(), CPU) == [[], []]
    assert model.rows == []


def test_maximum_length_nought(drawn):
    assert translate(drawn(9), [[4], [5, 5]], decoding(max_length_factor=0, max_length_offset=0), CPU) == [[], []]


def test_batches_are_of_like_length_and_within_the_budget():
    lengths = [3, 0, 1, 5, 2, 30, 0, 3]
    indices = [0, 2, 3, 4, 5, 7]
    assert batches(indices, lengths, 12) == [[5], [3, 0], [7, 4, 2]]
    assert batches(indices, lengths, 1) == [[5], [3], [0], [7], [4], [2]]
    assert batches([0, 1, 2], [3, 3, 3], 9) == [[0, 1], [2]]  # with EOS four each
    assert batches([], [], 12) == []


def test_patience_times_the_beam_is_enough():
    assert decoding(patience=None).max_finished == float("inf")
    assert [decoding(patience=patience).max_finished for patience in (0.1, 1, 1.5)] == [1, 3, 5]
    assert decoding(patience=1.1, beam_size=10).max_finished == 11


def test_patience_reaches_the_search(drawn):
    sources = [[5, 4, 6], [4], [7, 5]]
    exact, hasty = (n_best(drawn(8, spread=2.0), sources, decoding(patience=p), CPU, 3) for p in (None, 0.1))
    for first, other in zip(exact, hasty, strict=True):
        assert first[0].score >= other[0].score
        assert len(other) <= len(first)
    assert hasty != exact
    best = [one.ids for one, *_ in hasty]
    assert translate(drawn(8, spread=2.0), sources, decoding(patience=0.1), CPU) == best


@pytest.mark.parametrize("number", [1, 2, 3])
def test_with_a_temperature_the_best_has_the_highest_expected_bleu(drawn, number):
    model, plain, warm = drawn(8, spread=2.0), decoding(), decoding(mbr_temperature=2.0)
    found, every = n_best(model, SOURCES, warm, CPU, number), n_best(model, SOURCES, plain, CPU, 3)
    for hypotheses, candidates in zip(found, every, strict=True):
        order = ranking([one.ids for one in candidates], [one.score for one in candidates], 2.0)
        assert hypotheses == [candidates[index] for index in order][:number]
    assert [one.ids for one, *_ in found] == translate(model, SOURCES, warm, CPU)
    assert found != [hypotheses[:number] for hypotheses in every]


def test_greedy_search_has_nothing_to_choose_from(drawn):
    greedy, warm = decoding(beam_size=1), decoding(beam_size=1, mbr_temperature=2.0)
    assert n_best(drawn(9), SOURCES, warm, CPU, 1) == n_best(drawn(9), SOURCES, greedy, CPU, 1)
    assert translate(drawn(9), SOURCES, warm, CPU) == translate(drawn(9), SOURCES, greedy, CPU)


def test_faults_of_the_section_are_named(tmp_path: Path):
    path = tmp_path / "params.yaml"
    path.write_text(
        "decode: {beam_size: 0, length_penalty: -1.0, patience: 0, mbr_temperature: 0, memory_pairs: -1, "
        "memory_weight: 1, memory_temperature: 0, max_length_factor: .inf, max_length_ofset: 3, tokens_per_batch: 1.5}"
    )
    with pytest.raises(ParamsError) as caught:
        Decoding.load("decode", path)
    faults = [line.removeprefix(f"{path}: decode.") for line in str(caught.value).splitlines()]
    assert faults == [
        "beam_size: should be greater than 0, got 0",
        "length_penalty: should be greater than or equal to 0, got -1.0",
        "patience: should be greater than 0, got 0",
        "mbr_temperature: should be greater than 0, got 0",
        "memory_pairs: should be greater than or equal to 0, got -1",
        "memory_weight: should be less than 1, got 1",
        "memory_temperature: should be greater than or equal to 0.000001, got 0",
        "max_length_factor: should be a finite number, got inf",
        "max_length_offset: is missing",
        "tokens_per_batch: should be a valid integer, got 1.5",
        "max_length_ofset: unknown key; nearest is 'max_length_offset'",
    ]


@pytest.mark.parametrize("name", networks.NAMES)
def test_threads_change_no_translation(name, set_threads):
    """A build uses fewer where systems are built side by side, and its bytes are those of one alone."""
    draw, found = random.Random(3), []
    sources = [draw.choices(range(4, 13), k=1 + 3 * number % 22) for number in range(40)]
    for threads in (1, 2):
        set_threads(threads)
        found.append(n_best(networks.build(name), sources, DECODING, CPU, 2))
    assert found[0] == found[1]
