"""RNNencdec against its equations, its initial weights as published."""

import itertools

import pytest
import torch

from pipeline.compute import ids
from pipeline.models.rnn_encdec import Arch, Model
from tests.pipeline.models.readings import gru_after, gru_before, maxout, pieces, weights
from tests.toys import networks
from tests.toys.networks import SOURCE, TARGET


def reading(w, arch, source, target):
    """What the output projection reads, from the equations: of the layers those that there are."""
    before = arch["reset_gate"] == "before"
    read = pieces(source)
    if arch["reverse_source"]:
        read = [*read[-2::-1], ids.EOS]
    h = torch.zeros(8)
    for piece in read:
        x = w["source_embedding"][piece]
        if before:
            h = gru_before(w, "encoder.forwards.cell", x, h)
        else:
            h = gru_after(w, "encoder.forwards.fused", x, h, "_l0")
    c = torch.tanh(w["context.weight"] @ h + w["context.bias"]) if arch["context_layer"] else h
    s, outputs = torch.tanh(w["begin.weight"] @ c + w["begin.bias"]) if arch["start_layer"] else c, []
    for piece in pieces(target):
        y = w["target_embedding"][piece]
        s = (gru_before if before else gru_after)(w, "cell", torch.cat([y, c]), s)
        outputs.append(maxout(w, torch.cat([s, y, c])) if arch["maxout"] else torch.cat([s, y, c]))
    return torch.stack(outputs)


GATES = [({"reset_gate": gate, "reverse_source": turned}) for gate in ("before", "after") for turned in (True, False)]
LAYERS = [
    {"context_layer": context, "start_layer": start, "maxout": maxout}
    for context, start, maxout in itertools.product([True, False], [True, False], [5, 0])
]


@torch.no_grad()
@pytest.mark.parametrize("changed", [*GATES, *LAYERS], ids=str)
def test_it_is_what_the_equations_say(changed):
    """Each of Cho's layers may be there or not."""
    model, arch = networks.build("rnn_encdec", **changed), networks.ARCHS["rnn_encdec"] | changed
    hidden, w = model.hidden(SOURCE, TARGET), weights(model)
    for row in range(len(SOURCE)):
        expected = reading(w, arch, SOURCE[row], TARGET[row])
        torch.testing.assert_close(hidden[row, : len(expected)], expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(model.logits(hidden), hidden @ w["output.weight"].T + w["output.bias"])


def test_the_published_initial_weights():
    torch.manual_seed(3)
    wide = {"embedding": 62, "width": 100, "maxout": 50, "context_layer": True}
    arch = Arch.model_validate(networks.ARCHS["rnn_encdec"] | wide)
    w = weights(Model(arch, source_size=300, target_size=300))
    for name in ("encoder.forwards.cell.gates.weight", "cell.gates.weight", "cell.candidate.weight"):
        for block in w[name].split(100):
            torch.testing.assert_close(block @ block.T, torch.eye(100), atol=1e-5, rtol=0)
    for name in ("source_embedding", "cell.input.weight", "begin.weight", "maxout.units.weight", "output.weight"):
        assert w[name].std() == pytest.approx(0.01, rel=0.05), name
    assert not any(weight.any() for name, weight in w.items() if name.endswith("bias"))
