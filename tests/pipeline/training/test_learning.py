"""Section by section how a model learns: loss, schedules, optimizers, faults of the parameters."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pipeline.common.params import ParamsError
from pipeline.training import loss
from pipeline.training.learning import Learning
from pipeline.training.loss import smoothed_cross_entropy
from pipeline.training.optimizers import Adadelta, Adam
from pipeline.training.schedules import Constant, InverseSquareRoot, LinearDecay, Noam, WarmupStableDecay

N, V = 37, 19
LONG = 10**6  # updates


@pytest.fixture
def logits_and_targets():
    torch.manual_seed(1)
    return 3 * torch.randn(N, V), torch.randint(1, V, (N,))


def with_gradient(function, logits, targets, **kwargs):
    logits = logits.detach().clone().requires_grad_()
    value = function(logits, targets, **kwargs)
    value.backward()
    return value.detach(), logits.grad


@pytest.mark.parametrize(
    ("smoothing", "spread", "expected"),
    [
        (0.0, "all", math.log(2)),
        # three pieces of probability 1/4 (padding), 1/2 (gold), 1/4, so 2, 1 and 2 times ln 2
        (0.3, "all", (0.1 * 2 + 0.8 * 1 + 0.1 * 2) * math.log(2)),
        (0.3, "others", (0.0 * 2 + 0.7 * 1 + 0.3 * 2) * math.log(2)),
    ],
)
def test_loss_of_three_pieces_by_hand(smoothing, spread, expected):
    logits = torch.tensor([[0.25, 0.5, 0.25]]).log() + 7.0  # a shift changes nothing
    loss = smoothed_cross_entropy(logits, torch.tensor([1]), smoothing=smoothing, spread=spread)
    torch.testing.assert_close(loss, torch.tensor(expected))


@pytest.mark.parametrize("rows", [5, 1000])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_all_is_torchs_label_smoothing_whatever_the_block(logits_and_targets, smoothing, rows, monkeypatch):
    monkeypatch.setattr(loss, "ROWS", rows)
    ours = with_gradient(smoothed_cross_entropy, *logits_and_targets, smoothing=smoothing, spread="all")
    torchs = with_gradient(F.cross_entropy, *logits_and_targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(ours, torchs, rtol=1e-5, atol=1e-5)


def test_noam_by_hand():
    """Width 512 and warm-up 4000 as published: 512^-0.5 = 0.0441942, 4000^-1.5 = 3.952847e-6, 4000^-0.5 = 0.0158114."""
    noam = Noam(kind="noam", factor=1.0, warmup=4000)
    rates = [noam.rate(update, width=512, updates=LONG) for update in (1, 4000, 40000)]
    assert rates == pytest.approx([1.746928e-7, 6.987712e-4, 2.209709e-4], rel=1e-6)
    assert Noam(kind="noam", factor=2.0, warmup=100).rate(100, width=64, updates=LONG) == pytest.approx(0.025)


def test_inverse_square_root_by_hand():
    schedule = InverseSquareRoot(kind="inverse_sqrt", peak_rate=2e-3, warmup=400)
    rates = [schedule.rate(update, width=256, updates=LONG) for update in (1, 200, 400, 1600, 4000)]
    assert rates == pytest.approx([5e-6, 1e-3, 2e-3, 1e-3, 2e-3 / 10**0.5])


def test_linear_by_hand():
    """200 updates: 40 of warm-up, then 161 steps of 1/161 of the peak, of which the last but one is update 200."""
    schedule = LinearDecay(kind="linear", peak_rate=1.61e-3, warmup=40)
    rates = [schedule.rate(update, width=256, updates=200) for update in (1, 20, 40, 41, 120, 200)]
    assert rates == pytest.approx([4.025e-5, 8.05e-4, 1.61e-3, 1.6e-3, 8.1e-4, 1e-5])
    assert schedule.rate(2, width=256, updates=2) == pytest.approx(1.61e-3 / 20)  # shorter than its warm-up


def test_warmup_stable_decay_by_hand():
    """100 updates: 10 of warm-up; the last 19 fall by 1/20 each; all before these are the same in a longer training."""
    schedule = WarmupStableDecay(kind="wsd", peak_rate=2e-3, warmup=10, decay=19)
    rates = [schedule.rate(update, width=256, updates=100) for update in (1, 10, 81, 82, 91, 100)]
    assert rates == pytest.approx([2e-4, 2e-3, 2e-3, 1.9e-3, 1e-3, 1e-4])
    for updates, num_open in ((100, 81), (12, 0)):
        both = [[schedule.rate(n, width=1, updates=last) for n in range(1, 13)] for last in (updates, LONG)]
        assert (schedule.num_open(updates), both[0] == both[1]) == (num_open, updates == 100)


def test_constant():
    schedule = Constant(kind="constant", learning_rate=3e-4)
    assert {schedule.rate(update, width=512, updates=LONG) for update in (1, 10**6)} == {3e-4}


def second_step(optimizer, model):
    """The weight after two steps with gradients 1 and 3."""
    for gradient in (1.0, 3.0):
        model.weight.grad = torch.full((1, 1), gradient)
        for group in optimizer.param_groups:
            group["lr"] = 0.1
        optimizer.step()
    return model.weight.item()


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        # m = 0.1 and 0.39, v = 0.01 and 0.0999; unbiased 1, 1 and 0.39/0.19, 0.0999/0.0199
        (
            Adam(kind="adam", beta1=0.9, beta2=0.99, epsilon=1e-12, weight_decay=0.0),
            2 - 0.1 - 0.1 * (0.39 / 0.19) / math.sqrt(0.0999 / 0.0199),
        ),
        # decay 0.1 * 0.5 of the weight before each step
        (
            Adam(kind="adamw", beta1=0.9, beta2=0.99, epsilon=1e-12, weight_decay=0.5),
            (2 * 0.95 - 0.1) * 0.95 - 0.1 * (0.39 / 0.19) / math.sqrt(0.0999 / 0.0199),
        ),
        # E[g^2] = 0.5, 4.75; steps sqrt((d + 1) / (g2 + 1)) g with d = 0, then 0.5 * (1 / 1.5)
        (
            Adadelta(kind="adadelta", rho=0.5, epsilon=1.0),
            2 - 0.1 * math.sqrt(1 / 1.5) - 0.1 * 3 * math.sqrt((0.5 / 1.5 + 1) / 5.75),
        ),
    ],
    ids=["adam", "adamw", "adadelta"],
)
def test_two_steps_of_an_optimizer_by_hand(section, expected):
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 2.0)
    assert second_step(section.build(model), model) == pytest.approx(expected, rel=1e-5)


SECTION = """learning:
  batches: {kind: token}
  optimizer: {kind: adam, beta1: 1.0, beta2: 0.98, epsilon: 0.0, weight_decay: -1.0}
  schedule: {kind: inverse_sqrt, peek_rate: 1e-3, warmup: 0}
  label_smoothing: 1.0
  smoothing_spread: other
  r_drop: -1.0
  lsi_pairs: 0
  clip: -1.0
  precision: fp16
"""


def test_all_faults_are_named_with_the_nearest_name(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text(SECTION)
    with pytest.raises(ParamsError) as caught:
        Learning.load(f"{path}:learning")
    assert [line.removeprefix(f"{path}: learning.") for line in str(caught.value).splitlines()] == [
        "batches.kind: unknown choice, got 'token'; nearest is 'tokens'",
        "optimizer.beta1: should be less than 1, got 1.0",
        "optimizer.epsilon: should be greater than 0, got 0.0",
        "optimizer.weight_decay: should be greater than or equal to 0, got -1.0",
        "schedule.peak_rate: is missing",
        "schedule.warmup: should be greater than 0, got 0",
        "schedule.peek_rate: unknown key; nearest is 'peak_rate'",
        "label_smoothing: should be less than 1, got 1.0",
        "smoothing_spread: should be 'all' or 'others', got 'other'",
        "r_drop: should be greater than or equal to 0, got -1.0",
        "clip: should be greater than or equal to 0, got -1.0",
        "precision: should be 'auto', 'fp32' or 'bf16', got 'fp16'",
    ]
