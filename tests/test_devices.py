"""Without a GPU: whether a model makes every tensor on the device of its weights, in training and in a search.

Tensors on the device `meta` have shapes but no values. Not all of torch's operations refuse to mix them with tensors of
the CPU, so a mode looks at what each operation is given, that of the backward pass too.
"""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from pipeline.compute import ids
from tests.toys import networks

META = torch.device("meta")
LOCAL = {"scope": {"kind": "local_p", "window": 2, "deviation": 1.0}, "attention": {"kind": "location", "positions": 9}}


class OneDevice(TorchDispatchMode):
    """Refuses operations on tensors of two devices, as a GPU does; single numbers of the CPU may take part."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        devices = {tensor.device.type for tensor in tensors if tensor.dim() or tensor.is_meta}
        if len(devices) > 1 and func is not torch.ops.aten.copy_.default:
            raise AssertionError(f"{func}: expected tensors of one device, got {sorted(devices)}")
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("name", "changed"), [*((name, {}) for name in networks.NAMES), ("gru_attention", LOCAL)])
def test_all_is_on_the_device_of_the_weights(name, changed):
    rates = {key: 0.1 for key in networks.arch(name) if "dropout" in key}
    network = networks.build(name, **rates, **changed).to(META)
    source, target, tokens = networks.SOURCE.to(META), networks.TARGET.to(META), torch.full((3,), ids.BOS, device=META)
    with OneDevice():
        logits = network.train().logits(network.hidden(source, target))
        torch.autograd.backward(logits.sum())
        network.eval().attention(source, target)
    rows = torch.tensor([0, 2], device=META)
    with torch.inference_mode(), OneDevice():
        _, state = network.step(network.start(source), tokens)
        hidden, _ = network.step(state.select(rows, rows), tokens[:2])
        assert network.logits(hidden).device == META
