"""The smoothed loss by hand, against torch's, and its own gradient against autograd's."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pipeline import ids
from pipeline.kernels import cross_entropy
from pipeline.training.loss import smoothed_cross_entropy, target_entropy

N, V = 37, 19


@pytest.fixture
def drawn():
    torch.manual_seed(1)
    return 3 * torch.randn(N, V), torch.randint(1, V, (N,))


def softened(targets, smoothing, spread, vocab_size=V):
    """The target distributions, written plainly: (N, V)."""
    if spread == "all":
        q = torch.full((len(targets), vocab_size), smoothing / vocab_size)
        return q.scatter_add(1, targets[:, None], torch.full((len(targets), 1), 1 - smoothing))
    q = torch.full((len(targets), vocab_size), smoothing / (vocab_size - 2))
    q[:, ids.PAD] = 0
    return q.scatter(1, targets[:, None], 1 - smoothing)


def plain(logits, targets, smoothing, spread):
    """The same loss, left to autograd."""
    return -(softened(targets, smoothing, spread, logits.shape[1]) * logits.log_softmax(dim=1)).sum()


def with_gradient(function, logits, targets, *args, **kwargs):
    logits = logits.detach().clone().requires_grad_()
    value = function(logits, targets, *args, **kwargs)
    value.backward()
    return value.detach(), logits.grad


@pytest.mark.parametrize(
    ("smoothing", "spread", "expected"),
    [
        (0.0, "all", math.log(2)),
        (0.0, "others", math.log(2)),
        # three pieces of probability 1/4 (padding), 1/2 (gold), 1/4, so 2, 1 and 2 times ln 2
        (0.3, "all", (0.1 * 2 + 0.8 * 1 + 0.1 * 2) * math.log(2)),
        (0.3, "others", (0.0 * 2 + 0.7 * 1 + 0.3 * 2) * math.log(2)),
    ],
)
def test_three_pieces_by_hand(smoothing, spread, expected):
    logits = torch.tensor([[0.25, 0.5, 0.25]]).log() + 7.0  # a shift changes nothing
    got = smoothed_cross_entropy(logits, torch.tensor([1]), smoothing=smoothing, spread=spread)
    torch.testing.assert_close(got, torch.tensor(expected))


def test_four_pieces_by_hand_with_gradient():
    """Gradient = softmax - target, which is (0, 0.15, 0.15, 0.7) for gold piece 3."""
    logits = torch.tensor([[0.125, 0.25, 0.125, 0.5]]).log()
    value, gradient = with_gradient(smoothed_cross_entropy, logits, torch.tensor([3]), smoothing=0.3, spread="others")
    torch.testing.assert_close(value, torch.tensor((0.15 * 2 + 0.15 * 3 + 0.7 * 1) * math.log(2)))
    torch.testing.assert_close(gradient, torch.tensor([[0.125, 0.10, -0.025, -0.2]]))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_all_is_torchs_label_smoothing(drawn, smoothing):
    got = with_gradient(smoothed_cross_entropy, *drawn, smoothing=smoothing, spread="all")
    expected = with_gradient(F.cross_entropy, *drawn, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_others_is_the_kl_divergence_and_a_constant(drawn, smoothing):
    q = softened(drawn[1], smoothing, "others")
    divergence = nn.KLDivLoss(reduction="sum")

    def published(logits, targets):
        return divergence(logits.log_softmax(dim=1), q)

    value, gradient = with_gradient(smoothed_cross_entropy, *drawn, smoothing=smoothing, spread="others")
    expected, expected_gradient = with_gradient(published, *drawn)
    torch.testing.assert_close(value, expected + N * target_entropy(V, smoothing, "others"), rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 5, 36, 37, 1000])
@pytest.mark.parametrize("spread", ["all", "others"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradient_is_autograds_whatever_the_block(drawn, monkeypatch, rows, spread, smoothing):
    monkeypatch.setattr(cross_entropy, "BLOCK_ROWS", rows)
    value, gradient = with_gradient(smoothed_cross_entropy, *drawn, smoothing=smoothing, spread=spread)
    expected, expected_gradient = with_gradient(plain, *drawn, smoothing, spread)
    torch.testing.assert_close(value, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("spread", ["all", "others"])
def test_numerical_gradient(drawn, spread):
    """Autograd of `plain` shares its idea with ours; differences of the value itself do not."""
    logits, targets = drawn[0][:2].clone(), drawn[1][:2]
    _, gradient = with_gradient(smoothed_cross_entropy, logits, targets, smoothing=0.2, spread=spread)
    for column in range(V):
        bump = torch.zeros_like(logits)
        bump[:, column] = 0.01
        up, down = (plain((logits + s * bump).double(), targets, 0.2, spread) for s in (1, -1))
        assert abs((up - down) / 0.02 - gradient[:, column].sum()) < 1e-4


def test_the_gradient_follows_what_is_done_with_the_loss(drawn):
    _, gradient = with_gradient(smoothed_cross_entropy, *drawn, smoothing=0.1, spread="all")
    _, scaled = with_gradient(lambda *given: smoothed_cross_entropy(*given, smoothing=0.1, spread="all") / 8, *drawn)
    torch.testing.assert_close(scaled, gradient / 8)


def test_a_second_backward_is_refused(drawn):
    """The kept gradient has been scaled in place."""
    logits = drawn[0].clone().requires_grad_()
    value = smoothed_cross_entropy(logits, drawn[1], smoothing=0.1, spread="all")
    value.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


@pytest.mark.parametrize("spread", ["all", "others"])
def test_bf16_is_near(drawn, spread):
    logits, targets = drawn[0].bfloat16(), drawn[1]
    value, gradient = with_gradient(smoothed_cross_entropy, logits, targets, smoothing=0.1, spread=spread)
    expected, expected_gradient = with_gradient(plain, logits.float(), targets, 0.1, spread)
    assert (value.dtype, gradient.dtype) == (torch.float32, torch.bfloat16)
    torch.testing.assert_close(value, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradient.float(), expected_gradient, rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize("spread", ["all", "others"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_the_least_loss_is_the_targets_entropy(spread, smoothing):
    """Reached where the model says the softened target itself."""
    q = softened(torch.tensor([4]), smoothing, spread)
    least = smoothed_cross_entropy(q.log().clamp(min=-1e4), torch.tensor([4]), smoothing=smoothing, spread=spread)
    assert least.item() == pytest.approx(target_entropy(V, smoothing, spread), abs=1e-5)
    assert smoothing or target_entropy(V, smoothing, spread) == 0


def test_target_entropy_by_hand():
    """Four pieces: gold 0.7 and two of 0.15; or 0.775 and three of 0.075."""
    assert target_entropy(4, 0.3, "others") == pytest.approx(-0.7 * math.log(0.7) - 0.3 * math.log(0.15))
    assert target_entropy(4, 0.3, "all") == pytest.approx(-0.775 * math.log(0.775) - 0.225 * math.log(0.075))


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, 1.5])
def test_smoothing_outside_is_refused(drawn, smoothing):
    with pytest.raises(ValueError, match="label smoothing") as caught:
        smoothed_cross_entropy(*drawn, smoothing=smoothing, spread="all")
    assert str(caught.value) == f"label smoothing: must be in [0, 1), got {smoothing}"
