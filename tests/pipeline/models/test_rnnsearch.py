"""RNNsearch against its equations, its initial weights as published."""

from functools import partial

import pytest
import torch

from pipeline.models.rnnsearch import Arch, Model
from tests.pipeline.models.readings import (
    additive,
    check,
    context,
    gru_after,
    gru_before,
    maxout,
    pieces,
    softmax,
    weights,
)
from tests.toys import networks


def reading(w, source, target, *, before):
    """What the output projection reads and the weights of each step, from the equations."""
    x = [w["source_embedding"][piece] for piece in pieces(source)]

    def way(name, words):
        h, states = torch.zeros(8), []
        for word in words:
            h = gru_before(w, f"{name}.cell", word, h) if before else gru_after(w, f"{name}.fused", word, h, "_l0")
            states.append(h)
        return states

    forwards, backwards = way("encoder.forwards", x), way("encoder.backwards", x[::-1])[::-1]
    h = [torch.cat(pair) for pair in zip(forwards, backwards, strict=True)]
    s = torch.tanh(w["begin.weight"] @ backwards[0] + w["begin.bias"])
    found, looked = [], []
    for piece in pieces(target):
        y = w["target_embedding"][piece]
        a = softmax(additive(w, s, h))
        c = context(a, h)
        found.append(maxout(w, torch.cat([s, y, c])))
        s = (gru_before if before else gru_after)(w, "cell", torch.cat([y, c]), s)
        looked.append(torch.stack(a))
    return torch.stack(found), torch.stack(looked)


@pytest.mark.parametrize("reset_gate", ["before", "after"])
def test_it_is_what_the_equations_say(reset_gate):
    model = networks.build("rnnsearch", reset_gate=reset_gate)
    check(model, partial(reading, weights(model), before=reset_gate == "before"))


def test_the_published_initial_weights():
    torch.manual_seed(3)
    wide = {"embedding": 62, "width": 100, "alignment": 100, "maxout": 50}
    arch = Arch.model_validate(networks.ARCHS["rnnsearch"] | wide)
    w = weights(Model(arch, source_size=300, target_size=300))
    for name in ("scoring.query.weight", "scoring.key.weight"):
        assert w[name].std() == pytest.approx(0.001, rel=0.05), name
    for name in ("source_embedding", "cell.input.weight", "begin.weight", "maxout.units.weight", "output.weight"):
        assert w[name].std() == pytest.approx(0.01, rel=0.05), name
    assert not any(weight.any() for name, weight in w.items() if name.endswith("bias") or name == "scoring.v")
