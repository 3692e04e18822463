"""What must hold of every model."""

from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from pipeline.compute import ids
from pipeline.models import interface
from tests.toys import networks
from tests.toys.networks import SOURCE, TARGET

OPTIONS = {
    "rnn_encdec": [{"reset_gate": "after"}, {"reverse_source": False}],
    "rnnsearch": [{"reset_gate": "after"}],
    "gru_attention": [
        {"bidirectional": True},
        {"encoder_width": 8, "attention": {"kind": "dot"}},
        {"encoder_width": 8, "attention": {"kind": "scaled_dot"}},
        {"attention": {"kind": "general"}},
        {"attention": {"kind": "location", "positions": 4}},
        {"scope": {"kind": "local_p", "window": 1, "deviation": 0.5}},
    ],
    "transformer_postnorm": [{"tied_embeddings": "output"}],
    "transformer_prenorm": [{"tied_embeddings": "output"}],
}
CASES = [(name, changed) for name in networks.NAMES for changed in [{}, *OPTIONS.get(name, [])]]


@pytest.fixture(params=CASES, ids=lambda case: " ".join([case[0], *map(str, case[1].values())]))
def model(request):
    name, changed = request.param
    return networks.build(name, **changed)


def close(left, right):
    torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-5)


def test_the_models_are_the_files_of_the_room():
    names = {path.stem for path in Path(interface.__file__).parent.glob("*.py")}
    assert names == {"__init__", "interface", *interface.names()} == {"__init__", "interface", *networks.NAMES}


def tensors(value):
    """Every tensor of a state."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, tuple):
        return [tensor for part in value for tensor in tensors(part)]
    return [] if value is None else tensors(tuple(vars(value).values()))


@torch.no_grad()
@pytest.mark.parametrize("prepacking", [interface.prepacking, nullcontext])
def test_step_by_step_is_the_whole(model, prepacking):
    whole = model.logits(model.hidden(SOURCE, TARGET))
    with prepacking(model):
        state = model.start(SOURCE)
        for position in range(TARGET.shape[1]):
            hidden, state = model.step(state, TARGET[:, position])
            real = TARGET[:, position] != ids.PAD
            close(model.logits(hidden)[real], whole[real, position])


@torch.no_grad()
def test_a_step_leaves_the_state_before_it_as_it_was(model):
    before = model.start(SOURCE)
    for position in range(3):
        kept = [tensor.clone() for tensor in tensors(before)]
        first, after = model.step(before, TARGET[:, position])
        model.step(before, TARGET[:, position + 1])
        again, _ = model.step(before, TARGET[:, position])
        assert torch.equal(first, again)
        assert all(torch.equal(*pair) for pair in zip(tensors(before), kept, strict=True))
        before = after


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
@pytest.mark.parametrize(("sentences", "width"), [([0, 1, 2], 1), ([2, 0], 3), ([2, 1, 0], 2), ([1], 3)])
def test_selected_hypotheses_continue_unchanged(model, sentences, width):
    """Some sentences have `width` hypotheses each, which differ from the first piece on and then change places."""
    rows = torch.tensor(sentences).repeat_interleave(width)
    first = torch.arange(len(rows)) % 3 + 7
    mixed = torch.arange(len(rows)).view(-1, width).flip(1).flatten()
    then = 12 - first
    _, state = model.step(model.start(SOURCE), torch.full((3,), ids.BOS))
    _, state = model.step(state.select(rows, torch.tensor(sentences)), first)
    last, after = model.step(state.select(mixed), then)
    bos = torch.full_like(first, ids.BOS)
    hidden = model.hidden(SOURCE[rows], torch.stack([bos, first[mixed], then], dim=1))
    close(last, hidden[:, 2])
    assert {len(tensor) for tensor in tensors(after.source)} == {len(sentences)}
    hypotheses = {name: part for name, part in vars(after).items() if name != "source"}
    assert {len(tensor) for part in hypotheses.values() for tensor in tensors(part)} == {len(rows)}


def test_gradients_flow_to_every_parameter(model):
    real = TARGET != ids.PAD
    torch.autograd.backward(model.train().logits(model.hidden(SOURCE, TARGET))[real].logsumexp(1).sum())
    still = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert still == []


def test_bf16_is_near(model):
    """Under autocast to bf16, as in training with that `precision`; gradients too."""
    expected = model.hidden(SOURCE, TARGET)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = model.train().hidden(SOURCE, TARGET)
        logits = model.logits(hidden)
    torch.testing.assert_close(hidden.float(), expected, rtol=0.1, atol=0.1)
    torch.autograd.backward(logits.float().logsumexp(2).sum())
    assert all(torch.isfinite(weight.grad).all() for weight in model.parameters())


def test_attention_is_named_and_shaped_and_adds_up_to_one(model):
    (rows, sources), targets = SOURCE.shape, TARGET.shape[1]
    before = model.hidden(SOURCE, TARGET)
    matrices = model.attention(SOURCE, TARGET)
    assert torch.equal(model.hidden(SOURCE, TARGET), before)  # watching changes nothing
    columns = {"attention": sources, "encoder": sources, "decoder": targets, "cross": sources}
    for name, weights in matrices.items():
        kind = name.split()[0]
        heights = sources if kind == "encoder" else targets
        assert weights.shape == (rows, weights.shape[1], heights, columns[kind]), name
        assert not weights.requires_grad
        seen = (SOURCE if columns[kind] == sources and kind != "decoder" else TARGET) != ids.PAD
        if kind != "decoder":  # whose padding stands where no real position looks
            assert not weights.masked_select(~seen[:, None, None]).any(), name
        if not hasattr(getattr(model, "scope", None), "deviation"):  # local-p is not renormalised
            close(weights.sum(3), torch.ones(weights.shape[:3]))


@pytest.mark.parametrize("name", networks.ARCHS)
def test_attention_of_the_published_models(name):
    """Each layer's of a Transformer, that of the decoder of a recurrent model, none without attention."""
    matrices = networks.build(name).attention(SOURCE, TARGET)
    layers = {"encoder": 2, "decoder": 3, "cross": 3}
    stacked = {f"{kind} {n}": 4 for kind, number in layers.items() for n in range(1, number + 1)}
    recurrent = {} if name == "rnn_encdec" else {"attention": 1}
    expected = stacked if name.startswith("transformer") else recurrent
    assert {name: weights.shape[1] for name, weights in matrices.items()} == expected
