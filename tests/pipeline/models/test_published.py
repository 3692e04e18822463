"""The sizes that follow publications: parameters as published or counted by hand, rates by published formulas."""

import pytest
import torch

from pipeline.common.system import config_file
from pipeline.models import interface
from pipeline.training.learning import Learning


@pytest.fixture
def load(project_root, monkeypatch):
    """The section of a class of one size in configs/."""
    monkeypatch.chdir(project_root)

    def section(kind, model, size):
        return kind.load_own(f"{config_file(model)}:shared", f"{config_file(model)}:{size}")

    return section


# torch's cells have two biases, those of Cho and Bahdanau one.
ENCDEC_GRUS = 3 * 1000 * (620 + 1000 + 1) + 3 * 1000 * (620 + 1000 + 1000 + 1)  # the decoder reads a context as well
ENCDEC = 2 * 30_004 * 620 + ENCDEC_GRUS + 2 * 1000 * 1001 + 1000 * (1000 + 620 + 1000 + 1) + 30_004 * 501
SEARCH_GRUS = 2 * 3 * 1000 * (620 + 1000 + 1) + 3 * 1000 * (620 + 2000 + 1000 + 1)
SEARCH_ALIGNMENT = 1000 * 1000 + 1000 + 1000 * 2000 + 1000  # W_a and its bias, U_a, v
SEARCH_OUTPUT = 1000 * (1000 + 620 + 2000 + 1) + 30_004 * 501
SEARCH = 2 * 30_004 * 620 + SEARCH_GRUS + SEARCH_ALIGNMENT + 1000 * 1001 + SEARCH_OUTPUT
GRUS = 3 * 512 * (256 + 512 + 2) + 3 * 512 * (256 + 512 + 512 + 2)
GRU_ATTENTION = (7_853 + 5_893) * 256 + GRUS + 2 * 512 * 513 + 5_893 * (512 + 512 + 256 + 1)
LSTMS = 2 * 4 * 128 * (64 + 128 + 2) + 4 * 256 * (64 + 256 + 256 + 2)
BILSTM_ATTENTION = 18_000 * 64 + LSTMS + 8_000 * 256  # no bias at the output


def transformer(d: int, f: int) -> int:
    """Section 3 of Vaswani et al. with biases everywhere: 37,000 pieces, 18 attentions, 12 feed-forwards, 30 norms."""
    return 37_000 * (d + 1) + 18 * 4 * d * (d + 1) + 12 * (d * f + f + f * d + d) + 30 * 2 * d


@pytest.mark.parametrize(
    ("model", "size", "pieces", "count"),
    [
        ("rnn_encdec", "tutorial", (7_853, 5_893), 14_219_781),  # as the tutorial prints it
        ("rnn_encdec", "paper", (30_004, 30_004), ENCDEC),
        ("gru_attention", "paper", (7_853, 5_893), GRU_ATTENTION),
        ("bilstm_attention", "paper", (10_000, 8_000), BILSTM_ATTENTION),
        ("rnnsearch", "paper", (30_004, 30_004), SEARCH),
        ("transformer_postnorm", "base", (37_000, 37_000), transformer(512, 2048)),  # published: 65 million
        ("transformer_postnorm", "big", (37_000, 37_000), transformer(1024, 4096)),  # 213 million
        ("transformer_postnorm", "big_en_fr", (37_000, 37_000), transformer(1024, 4096)),
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
