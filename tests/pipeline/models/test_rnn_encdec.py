"""RNNencdec against its equations, and its size against a count by hand."""

import itertools

import pytest
import torch

from pipeline import ids
from pipeline.models.rnn_encdec import Model
from tests.pipeline.models.readings import gru_after, gru_before, maxout, pieces, weights
from tests.toys import networks, published
from tests.toys.networks import SOURCE, TARGET

PAPER = published.arch("rnn_encdec", "paper")


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
    s, found = torch.tanh(w["begin.weight"] @ c + w["begin.bias"]) if start else c, []
    for piece in pieces(target):
        y = w["target_embedding"][piece]
        s = (gru_before if before else gru_after)(w, "cell", torch.cat([y, c]), s)
        read = torch.cat([s, y, c])
        found.append(maxout(w, read) if deep else read)
    return torch.stack(found)


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
    layers = {"context_layer": context, "start_layer": start, "maxout": 5 if deep else None}
    model = networks.build("rnn_encdec", **layers)
    hidden, w = model.hidden(SOURCE, TARGET), weights(model)
    for row in range(len(SOURCE)):
        expected = reading(
            model, SOURCE[row], TARGET[row], before=True, turned=True, context=context, start=start, deep=deep
        )
        torch.testing.assert_close(hidden[row, : len(expected)], expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(model.logits(hidden), hidden @ w["output.weight"].T + w["output.bias"])


def test_the_published_size():
    """Cho's GRU has 3 (620 + 1,000 + 1) x 1,000 weights in the encoder; the decoder's input is 1,620 wide."""
    with torch.device("meta"):
        model = Model(PAPER, source_size=30_004, target_size=30_004)
    embeddings = 2 * 30_004 * 620
    encoder, decoder = 3 * 1000 * (620 + 1000 + 1), 3 * 1000 * (620 + 1000 + 1000 + 1)
    context, begin, deep, output = 1000 * 1001, 1000 * 1001, 1000 * (1000 + 620 + 1000 + 1), 30_004 * 501
    expected = embeddings + encoder + decoder + context + begin + deep + output
    assert sum(weight.numel() for weight in model.parameters()) == expected == 69_585_964


def test_the_published_initial_weights():
    torch.manual_seed(3)
    arch = PAPER.model_copy(update={"embedding": 62, "width": 100, "maxout": 50})
    w = weights(Model(arch, source_size=300, target_size=300))
    for name in ("encoder.forwards.cell.gates.weight", "cell.gates.weight", "cell.candidate.weight"):
        for block in w[name].split(100):
            torch.testing.assert_close(block @ block.T, torch.eye(100), atol=1e-5, rtol=0)
    for name in ("source_embedding", "cell.input.weight", "begin.weight", "maxout.units.weight", "output.weight"):
        assert w[name].std() == pytest.approx(0.01, rel=0.05), name
    assert not any(weight.any() for name, weight in w.items() if name.endswith("bias"))
