"""The sizes that follow publications: parameters as published or counted by hand, rates by published formulas."""

import pytest
import torch

from pipeline.models import interface
from pipeline.training.learning import Learning


def counted_by_hand(d: int, f: int) -> int:
    """Section 3 of Vaswani et al. with biases everywhere: 37,000 pieces, 18 attentions, 12 feed-forwards, 30 norms."""
    return 37_000 * (d + 1) + 18 * 4 * d * (d + 1) + 12 * (d * f + f + f * d + d) + 30 * 2 * d


@pytest.mark.parametrize(
    ("model", "size", "pieces", "count"),
    [
        ("rnn_encdec", "tutorial", (7_853, 5_893), 14_219_781),  # as the tutorial prints it
        ("rnn_encdec", "paper", (30_004, 30_004), 69_585_964),
        ("gru_attention", "paper", (7_853, 5_893), 14_745_093),
        ("bilstm_attention", "paper", (10_000, 8_000), 3_990_528),
        ("rnnsearch", "paper", (30_004, 30_004), 80_449_964),
        ("transformer_postnorm", "base", (37_000, 37_000), counted_by_hand(512, 2048)),  # published: 65 million
        ("transformer_postnorm", "big", (37_000, 37_000), counted_by_hand(1024, 4096)),  # 213 million
        ("transformer_postnorm", "big_en_fr", (37_000, 37_000), counted_by_hand(1024, 4096)),
        ("transformer_postnorm", "tutorial", (5_000, 5_000), 51_823_496),
        ("transformer_prenorm", "base", (37_000, 37_000), 63_121_544),
        ("transformer_prenorm", "annotated", (8_000, 8_000), 56_436_544),
    ],
)
def test_number_of_parameters(load, model, size, pieces, count):
    module = interface.find(model)
    with torch.device("meta"):
        network = module.Model(load(module.Arch, model, size), source_size=pieces[0], target_size=pieces[1])
    assert sum(weight.numel() for weight in network.parameters()) == count


@pytest.mark.parametrize(
    ("model", "size", "steps", "factor", "d", "warmup"),
    [
        ("transformer_postnorm", "base", 1, 1, 512, 4000),
        ("transformer_postnorm", "big", 1, 1, 1024, 4000),
        ("transformer_postnorm", "big_en_fr", 1, 1, 1024, 4000),
        ("transformer_postnorm", "tutorial", 1, 2, 512, 2000),
        ("transformer_prenorm", "base", 1, 1, 512, 4000),
        ("transformer_prenorm", "annotated", 10, 1, 512, 3000),  # counts micro-batches, ten of which are an update
    ],
)
def test_published_schedules(load, model, size, steps, factor, d, warmup):
    schedule = load(Learning, model, size).schedule
    for update in (1, 2, 299, 300, 301, 2000, 4000, 4001, 300_000):
        s = steps * update
        expected = factor * d**-0.5 * min(s**-0.5, s * warmup**-1.5)
        assert schedule.rate(update, width=d, updates=10**6) == pytest.approx(expected, rel=1e-12)
