"""RNNencdec against its equations."""

import itertools
from functools import partial

import pytest
import torch

from pipeline.compute import ids
from tests.pipeline.models.readings import check, gru_after, gru_before, maxout, pieces, weights
from tests.toys import networks


def reading(w, arch, source, target):
    """What the output projection reads, from the equations, and no attention."""
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
    return torch.stack(outputs), None


GATES = [({"reset_gate": gate, "reverse_source": turned}) for gate in ("before", "after") for turned in (True, False)]
LAYERS = [
    {"context_layer": context, "start_layer": start, "maxout": maxout}
    for context, start, maxout in itertools.product([True, False], [True, False], [5, 0])
]


@pytest.mark.parametrize("changed", [*GATES, *LAYERS], ids=str)
def test_it_is_what_the_equations_say(changed):
    """Each of Cho's layers may be there or not."""
    model, arch = networks.build("rnn_encdec", **changed), networks.ARCHS["rnn_encdec"] | changed
    check(model, partial(reading, weights(model), arch))
