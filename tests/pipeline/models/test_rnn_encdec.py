"""RNNencdec against its equations."""

import itertools

import pytest
import torch

from pipeline import ids
from tests.pipeline.models.readings import gru_after, gru_before, maxout, pieces, weights
from tests.toys import networks
from tests.toys.networks import SOURCE, TARGET


def reading(model, source, target, *, before, turned, context=False, start=True, deep=True):
    """What the output projection reads, from the equations: of the layers those that there are."""
    w = weights(model)
    read = pieces(source)
    if turned:
        read = [*read[-2::-1], ids.EOS]
    h = torch.zeros(8)
    for piece in read:
        x = w["source_embedding"][piece]
        h = (
            gru_before(w, "encoder.forwards.cell", x, h)
            if before
            else gru_after(w, "encoder.forwards.fused", x, h, "_l0")
        )
    c = torch.tanh(w["context.weight"] @ h + w["context.bias"]) if context else h
    s, outputs = torch.tanh(w["begin.weight"] @ c + w["begin.bias"]) if start else c, []
    for piece in pieces(target):
        y = w["target_embedding"][piece]
        s = (gru_before if before else gru_after)(w, "cell", torch.cat([y, c]), s)
        read = torch.cat([s, y, c])
        outputs.append(maxout(w, read) if deep else read)
    return torch.stack(outputs)


@torch.no_grad()
@pytest.mark.parametrize("reset_gate", ["before", "after"])
@pytest.mark.parametrize("turned", [True, False])
def test_it_is_what_the_equations_say(reset_gate, turned):
    model = networks.build("rnn_encdec", reset_gate=reset_gate, reverse_source=turned)
    hidden = model.hidden(SOURCE, TARGET)
    for row in range(len(SOURCE)):
        expected = reading(model, SOURCE[row], TARGET[row], before=reset_gate == "before", turned=turned)
        torch.testing.assert_close(hidden[row, : len(expected)], expected, rtol=1e-5, atol=1e-5)
    w = weights(model)
    torch.testing.assert_close(model.logits(hidden), hidden @ w["output.weight"].T + w["output.bias"])


@torch.no_grad()
@pytest.mark.parametrize(("context", "start", "deep"), list(itertools.product([True, False], repeat=3)))
def test_each_of_chos_layers_may_be_there_or_not(context, start, deep):
    layers = {"context_layer": context, "start_layer": start, "maxout": 5 if deep else 0}
    model = networks.build("rnn_encdec", **layers)
    hidden, w = model.hidden(SOURCE, TARGET), weights(model)
    for row in range(len(SOURCE)):
        expected = reading(
            model, SOURCE[row], TARGET[row], before=True, turned=True, context=context, start=start, deep=deep
        )
        torch.testing.assert_close(hidden[row, : len(expected)], expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(model.logits(hidden), hidden @ w["output.weight"].T + w["output.bias"])
