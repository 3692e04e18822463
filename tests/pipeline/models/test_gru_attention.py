"""The attentional GRU against its equations, for every scoring function and scope."""

from functools import partial

import pytest
import torch

from pipeline.models.gru_attention import Arch
from tests.pipeline.models.readings import additive, check, context, gru_after, local, pieces, softmax, weights
from tests.toys import networks

EQUAL = {"encoder_width": 8}
KINDS = [
    ({"kind": "additive", "size": 5}, {}),
    ({"kind": "general"}, {}),
    ({"kind": "dot"}, EQUAL),
    ({"kind": "scaled_dot"}, EQUAL),
    ({"kind": "location", "positions": 5}, {}),
    ({"kind": "additive", "size": 5}, {"bidirectional": True}),
    ({"kind": "dot"}, {"encoder_width": 4, "bidirectional": True}),
]
SCOPES = [{"kind": "global"}, {"kind": "local_p", "window": 1, "deviation": 0.5}]


def scores(w, kind, s, h):
    """One number a source position."""
    match kind:
        case "additive":
            return additive(w, s, h)
        case "general":
            return [s @ w["scoring.key.weight"] @ state for state in h]
        case "location":
            return [w["scoring.query.weight"][j] @ s + w["scoring.query.bias"][j] for j in range(len(h))]
    return [s @ state / (8**0.5 if kind == "scaled_dot" else 1) for state in h]


def reading(w, arch, source, target):
    """What the output projection reads and the weights of each step, from the equations."""

    def way(name, words):
        h, states = torch.zeros(arch.encoder_width), []
        for word in words:
            h = gru_after(w, f"{name}.fused", word, h, "_l0")
            states.append(h)
        return states

    x = [w["source_embedding"][piece] for piece in pieces(source)]
    h = way("encoder.forwards", x)
    final = h[-1]
    if arch.bidirectional:
        back = way("encoder.backwards", x[::-1])
        final = torch.cat([final, back[-1]])
        h = [torch.cat(pair) for pair in zip(h, back[::-1], strict=True)]
    s = w["begin.weight"] @ final + w["begin.bias"] if "begin.weight" in w else final
    found, looked = [], []
    for piece in pieces(target):
        y, e = w["target_embedding"][piece], scores(w, arch.attention.kind, s, h)
        a = softmax(e) if arch.scope.kind == "global" else local(w, e, s, arch.scope.window, arch.scope.deviation)
        c = context(a, h)
        s = gru_after(w, "cell", torch.cat([y, c]), s)
        found.append(torch.cat([s, c, y]))
        looked.append(torch.stack(a))
    return torch.stack(found), torch.stack(looked)


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: scope["kind"])
@pytest.mark.parametrize(("attention", "widths"), KINDS, ids=str)
def test_it_is_what_the_equations_say(attention, widths, scope):
    changed = {"attention": attention, "scope": scope, **widths}
    model = networks.build("gru_attention", **changed)
    arch = Arch.model_validate(networks.ARCHS["gru_attention"] | changed)
    check(model, partial(reading, weights(model), arch))


@pytest.mark.parametrize("kind", ["dot", "scaled_dot"])
def test_products_need_equal_widths(kind):
    given = networks.ARCHS["gru_attention"] | {"bidirectional": True, "attention": {"kind": kind}}
    assert list(Arch.faults(given, "arch", "x.yaml")) == [
        f"x.yaml: arch.attention.kind: {kind} needs states of equal width, got 14 in the encoder and 8 in the decoder; "
        "expected equal ones, or general"
    ]
