"""The attentional LSTM against its equations; the decoder starts from the means of the encoder's states."""

from functools import partial

import torch

from pipeline.models.bilstm_attention import Arch, Model
from tests.pipeline.models.readings import check, context, lstm, pieces, softmax, weights
from tests.toys import networks

WIDE = networks.ARCHS["bilstm_attention"] | {"embedding": 64, "encoder_width": 256, "width": 512}


def reading(w, source, target):
    """What the output projection reads and the weights of each step, from the equations."""

    def way(name, words):
        h, c, states = torch.zeros(4), torch.zeros(4), []
        for word in words:
            h, c = lstm(w, name, word, h, c)
            states.append((h, c))
        return states

    x = [w["source_embedding"][piece] for piece in pieces(source)]
    both = list(zip(way("encoder.forwards.cell", x), way("encoder.backwards.cell", x[::-1])[::-1], strict=True))
    h, cells = ([torch.cat([ahead[k], back[k]]) for ahead, back in both] for k in (0, 1))
    s, cell = sum(h) / len(h), sum(cells) / len(cells)
    found, looked = [], []
    for piece in pieces(target):
        a = softmax([s @ state / 8**0.5 for state in h])
        s, cell = lstm(w, "cell", torch.cat([w["target_embedding"][piece], context(a, h)]), s, cell)
        found.append(s)
        looked.append(torch.stack(a))
    return torch.stack(found), torch.stack(looked)


def test_it_is_what_the_equations_say():
    model = networks.build("bilstm_attention")
    check(model, partial(reading, weights(model)))


def test_the_decoder_is_as_wide_as_both_directions():
    faults = list(Arch.faults(networks.ARCHS["bilstm_attention"] | {"encoder_width": 8}, "arch", "x.yaml"))
    assert faults == ["x.yaml: arch.width: must be twice encoder_width 8, got 8"]


def test_the_published_initial_weights():
    """Uniform: matrices, each gate's alone, within sqrt(6 / (in + out)), embeddings sqrt(2) times that, biases 0.5."""
    torch.manual_seed(2)
    arch = Arch.model_validate(WIDE | {"initialisation": "xavier"})
    w = weights(Model(arch, source_size=1000, target_size=800))
    for name, weight in w.items():
        if name.endswith("bias_hh"):
            assert not weight.any(), name
            continue
        gain = 2**0.5 if name.endswith("embedding") else 1.0
        for matrix in weight.chunk(4) if "weight_" in name else [weight]:
            bound = gain * (6 / sum(matrix.shape)) ** 0.5 if weight.dim() == 2 else 0.5
            assert 0.95 * bound < matrix.abs().max() <= bound, name
            assert abs(matrix.std() / (bound / 3**0.5) - 1) < 0.06, name


def test_torchs_initial_weights():
    torch.manual_seed(2)
    arch = Arch.model_validate(WIDE | {"initialisation": "torch"})
    w = weights(Model(arch, source_size=500, target_size=500))
    assert abs(w["source_embedding"].std() - 1) < 0.02
    assert 0.9 * 512**-0.5 < w["cell.bias_hh"].abs().max() <= 512**-0.5
