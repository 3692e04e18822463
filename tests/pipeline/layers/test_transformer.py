"""What must hold of both Transformers, whichever way their sub-layers are wrapped."""

import pytest
import torch
from torch import nn

from pipeline import ids
from pipeline.layers.residual import PostNorm, PreNorm
from pipeline.layers.transformer import Transformer

SOURCE_SIZE, TARGET_SIZE = 13, 11
SOURCE = torch.tensor([[5, 6, 7, 12, ids.EOS], [8, 4, ids.EOS, ids.PAD, ids.PAD], [ids.EOS] + [ids.PAD] * 4])
TARGET = torch.tensor([[ids.BOS, 4, 5, 6, 7, 8], [ids.BOS, 9, 4, ids.PAD, ids.PAD, ids.PAD], [ids.BOS, 10, 9, 8, 7, 6]])


def build(residual, **changed):
    torch.manual_seed(1)
    sizes = {"encoder_layers": 2, "decoder_layers": 3, "width": 16, "heads": 4, "feed_forward": 32}
    sizes |= {"source_size": SOURCE_SIZE, "target_size": TARGET_SIZE, "dropout": 0.0, "tied": "output"}
    model = Transformer(residual, **sizes | changed)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:  # norms of 1 and biases of 0 would hide what reads the wrong one
            nn.init.normal_(parameter, mean=float("norm.weight" in name), std=0.3)
    return model


@pytest.fixture(params=[PostNorm, PreNorm])
def residual(request):
    return request.param


@pytest.fixture
def model(residual):
    return build(residual)


def close(left, right):
    torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-5)


def test_shapes(model):
    hidden = model.hidden(SOURCE, TARGET)
    assert hidden.shape == (3, 6, 16)
    assert model.logits(hidden).shape == (3, 6, TARGET_SIZE)
    memory, mask = model.encode(SOURCE)
    assert (memory.shape, mask.shape) == ((3, 5, 16), (3, 1, 1, 5))
    assert mask[:, 0, 0].sum(1).tolist() == [5, 3, 1]


@torch.no_grad()
def test_step_by_step_is_the_whole(model):
    whole = model.logits(model.hidden(SOURCE, TARGET))
    state = model.start(SOURCE)
    for position in range(TARGET.shape[1]):
        logits, state = model.step(state, TARGET[:, position])
        real = TARGET[:, position] != ids.PAD
        close(logits[real], whole[real, position])


@torch.no_grad()
def test_a_step_leaves_the_state_before_it_as_it_was(model):
    before = model.start(SOURCE)
    kept = {name: tensor.clone() for name, tensor in before.items()}
    first, _ = model.step(before, TARGET[:, 0])
    again, _ = model.step(before, TARGET[:, 0])
    assert torch.equal(first, again)
    assert all(torch.equal(before[name], tensor) for name, tensor in kept.items())
    assert before.keys() == kept.keys()


@torch.no_grad()
def test_padding_and_batch_mates_change_nothing(model):
    together = model.hidden(SOURCE, TARGET)
    for row in range(len(SOURCE)):
        source, target = SOURCE[row], TARGET[row]
        alone = model.hidden(source[source != ids.PAD][None], target[target != ids.PAD][None])
        close(together[row][target != ids.PAD], alone[0])
    wider = torch.cat([SOURCE, SOURCE.new_full((3, 4), ids.PAD)], dim=1)
    close(model.hidden(wider, TARGET), together)


@torch.no_grad()
def test_no_position_sees_its_future(model):
    before = model.hidden(SOURCE, TARGET)
    for position in range(1, TARGET.shape[1]):
        changed = TARGET.clone()
        changed[:, position:] = 9 - changed[:, position:] % 5
        after = model.hidden(SOURCE, changed)
        close(after[:, :position], before[:, :position])
        assert not torch.allclose(after[:, position], before[:, position], atol=1e-3)


@torch.no_grad()
def test_every_position_sees_the_whole_source(model):
    before = model.hidden(SOURCE[:1], TARGET[:1])
    for position in range(SOURCE.shape[1] - 1):
        changed = SOURCE[:1].clone()
        changed[0, position] = 9
        after = model.hidden(changed, TARGET[:1])
        assert ((after - before).abs().amax(dim=2) > 1e-4).all()


@pytest.mark.parametrize("tied", ["none", "output", "all"])
def test_gradients_reach_every_weight(residual, tied):
    model = build(residual, tied=tied, source_size=TARGET_SIZE, dropout=0.1)
    logits = model.logits(model.hidden(SOURCE % TARGET_SIZE, TARGET))
    nn.functional.cross_entropy(logits.flatten(0, 1), TARGET.flatten()).backward()
    starved = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert starved == []


@pytest.mark.parametrize(("tied", "matrices"), [("none", 13 + 2 * 11), ("output", 13 + 11), ("all", 11)])
def test_weights_counted_by_hand(residual, tied, matrices):
    d, f = 16, 32
    norm, attention, feed_forward = 2 * d, 4 * (d * d + d), d * f + f + f * d + d
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    ends = 2 * norm if residual is PreNorm else 0
    expected = 2 * encoder + 3 * decoder + ends + matrices * d + TARGET_SIZE
    model = build(residual, tied=tied, source_size=TARGET_SIZE if tied == "all" else SOURCE_SIZE)
    assert sum(weight.numel() for weight in model.parameters()) == expected


def test_how_weights_start(residual):
    """Embeddings N(0, 1 / D); other matrices uniform within sqrt(6 / (in + out)), query, key and value each alone."""
    torch.manual_seed(1)
    sizes = {"source_size": 400, "target_size": 300, "encoder_layers": 1, "decoder_layers": 1, "width": 64, "heads": 4}
    model = Transformer(residual, **sizes, feed_forward=128, dropout=0.0, tied="none")
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            assert (weight == float(name.endswith("norm.weight"))).all(), name
        elif name.startswith("embeddings."):
            assert abs(weight.std() * 8 - 1) < 0.03, name
            assert weight.abs().max() > 3.5 / 8, name  # a uniform one of that deviation ends at 1.73 / 8
        else:
            for matrix in weight.chunk(3) if name.endswith("project_in.weight") else [weight]:
                bound = (6 / sum(matrix.shape)) ** 0.5
                assert 0.97 * bound < matrix.abs().max() <= bound, name
                assert abs(matrix.std() / (bound / 3**0.5) - 1) < 0.05, name


def test_dropout_is_on_in_training_only(residual):
    model = build(residual, dropout=0.3)
    assert not torch.equal(model.hidden(SOURCE, TARGET), model.hidden(SOURCE, TARGET))
    model.eval()
    assert torch.equal(model.hidden(SOURCE, TARGET), model.hidden(SOURCE, TARGET))
    close(model.hidden(SOURCE, TARGET), build(residual).hidden(SOURCE, TARGET))


def test_bf16_is_near_fp32(model):
    exact = model.logits(model.hidden(SOURCE, TARGET))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        near = model.logits(model.hidden(SOURCE, TARGET))
    assert near.dtype == torch.bfloat16
    torch.testing.assert_close(near.float(), exact, rtol=0.05, atol=0.1)
