"""Without a GPU: whether every tensor is made on the device of the weights.

Tensors on the device `meta` have shapes but no values. Not all of torch's operations refuse to mix them with tensors of
the CPU, so a mode looks at what each operation is given, that of the backward pass too.
"""

from contextlib import nullcontext

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from pipeline import ids
from pipeline.encoding.batching import Batch
from pipeline.training import loop
from pipeline.training.learning import Learning
from tests.toys import networks

META = torch.device("meta")
LEARNING = Learning.model_validate(
    {
        "batches": {"kind": "tokens"},
        "optimizer": {"kind": "adadelta", "rho": 0.95, "epsilon": 1e-6},  # torch's fused Adam refuses `meta`
        "schedule": {"kind": "constant", "learning_rate": 1e-3},
        "label_smoothing": 0.1,
        "smoothing_spread": "others",
        "r_drop": 0.0,
        "lsi_pairs": 0,
        "clip": 1.0,
        "precision": "fp32",
    }
)


class OneDevice(TorchDispatchMode):
    """Refuses operations on tensors of two devices, as a GPU does; single numbers of the CPU may take part."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        tensors = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        devices = {one.device.type for one in tensors if one.dim()} | {
            one.device.type for one in tensors if one.is_meta
        }
        if len(devices) > 1 and func is not torch.ops.aten.copy_.default:
            raise AssertionError(f"{func}: expected tensors of one device, got {sorted(devices)}")
        return func(*args, **(kwargs or {}))


LOCAL = {"scope": {"kind": "local_p", "window": 2, "deviation": 1.0}, "attention": {"kind": "location", "positions": 9}}


@pytest.fixture(params=[*((name, {}) for name in networks.NAMES), ("gru_attention", LOCAL)], ids=str)
def network(request):
    """Each model on the device, with dropout wherever it has it."""
    name, changed = request.param
    rates = {key: 0.1 for key in networks.arch(name) if "dropout" in key}
    return networks.build(name, **rates, **changed).to(META)


@pytest.mark.parametrize("r_drop", [0.0, 5.0])
def test_an_update(network, r_drop, monkeypatch):
    monkeypatch.setitem(loop.LOGIT_ROWS, "meta", 8)
    monkeypatch.setattr(loop, "autocast", lambda precision, device: nullcontext())  # torch has none for `meta`
    learning = LEARNING.model_copy(update={"r_drop": r_drop})
    optimizer = learning.optimizer.build(network)
    gold = networks.TARGET.roll(-1, dims=1)
    pairs = Batch(networks.SOURCE, networks.TARGET, gold, torch.arange(gold.numel()), pairs=None)
    network.train()
    with OneDevice():
        loss, *gradients = loop.loss_and_gradients(network, {0: pairs, 1: pairs}, learning, 9, lambda index: index)
        for weight, gradient in zip(network.parameters(), gradients, strict=True):
            weight.grad = gradient
        norm = torch.nn.utils.clip_grad_norm_(network.parameters(), learning.clip)
        optimizer.step()
    assert {one.device for one in (loss, norm, *gradients)} == {META}


def test_a_search(network):
    source, tokens = networks.SOURCE.to(META), torch.full((3,), ids.BOS, device=META)
    twice, first = torch.tensor([0, 0, 1, 1, 2, 2]).to(META), torch.tensor([0]).to(META)
    network.eval()
    with torch.inference_mode(), OneDevice():
        hidden, state = network.step(network.start(source), tokens)
        hidden, state = network.step(state.select(twice), tokens[twice])
        hidden, state = network.step(state.select(twice[2:4], first), tokens[:2])
        assert network.logits(hidden).device == META


def test_attention(network):
    network.eval()
    with OneDevice():
        weights = network.attention(networks.SOURCE.to(META), networks.TARGET.to(META))
    assert {one.device for one in weights.values()} <= {META}
