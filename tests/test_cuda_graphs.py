"""A network that is captured and replayed gives the losses and gradients of the network itself, in any order of shapes.

Captured is what `benchmarks/cuda_graphs.py` times. On a CPU the functions run again in place of a graph.
"""

import numpy as np
import pytest
import torch

from benchmarks.contestants.captured import CapturedHidden, CudaGraphs, FewShapesSampler, fill, round_up
from pipeline import device, ids
from pipeline.encoding.batching import START, BatchSampler, collate, load_batches
from pipeline.training.loop import forward_backward
from tests.toys import networks, samples

PART = samples.encoded(samples.sentences(60, seed=1, longest=15), samples.sentences(60, seed=2, longest=15))
TRANSFORMERS = [name for name in networks.NAMES if name.startswith("transformer")]
BUDGET = 24
RATES = ("dropout", "attention_dropout", "feed_forward_dropout")


class Repeating:
    """Captures by keeping the functions."""

    seconds = 0.0

    def __init__(self):
        self.number = 0

    def capture(self, actions):
        self.number += 1
        for action in actions:
            action()
        return list(actions)


def batches():
    found = FewShapesSampler(PART, samples.training(updates=12, tokens_per_batch=BUDGET), samples.learning().batches)
    for update in load_batches(found, PART, START, 12):
        for batch in update.micro_batches.values():
            yield fill(batch, BUDGET)


def build(name, *, dropout=0.0):
    rates = dict.fromkeys(RATES, dropout)
    return networks.build(name, source_size=11, target_size=11, **rates).train()


def capture(model, capturer=None, *, compiled=False):
    model.hidden = CapturedHidden(model, capturer or Repeating(), (2, 4, 8), compiled=compiled)
    return model.hidden


def step(model, batch, learning):
    torch.manual_seed(3)
    loss = forward_backward(model, batch, learning, tokens=10)
    gradients = {name: weight.grad for name, weight in model.named_parameters()}
    for weight in model.parameters():
        weight.grad = None
    return loss, gradients


def test_rounded_lengths_by_hand():
    assert round_up(np.array([1, 2, 15, 16, 17, 64, 65, 128])).tolist() == [2, 2, 16, 16, 20, 64, 72, 128]


def test_a_filled_batch_by_hand():
    part = samples.encoded([[5, 6, 7], [8]], [[10], [11, 12]])
    batch = fill(collate(part, np.array([1, 0])), 12)
    assert batch.source.tolist() == [[8, ids.EOS, 0, 0], [5, 6, 7, ids.EOS]]
    assert batch.target_input.tolist() == [[ids.BOS, 11, 12, 0], [ids.BOS, 10, 0, 0]]
    assert batch.target_output.tolist() == [[11, 12, ids.EOS, 0], [10, ids.EOS, 0, 0]]
    assert batch.non_padding.tolist() == [0, 1, 2, 4, 5]
    added = fill(collate(part, np.array([1, 0, 0])), 100)  # rows of 4: 25 fit, filled up by four at a time
    assert len(added.source) == 4
    assert added.source[3].tolist() == [ids.EOS, 0, 0, 0]
    assert added.target_input[3].tolist() == [ids.BOS, 0, 0, 0]
    assert added.target_output[3].tolist() == [0, 0, 0, 0]


def test_shapes_are_few_and_within_the_budget():
    lines = samples.sentences(3000, seed=1, longest=60)
    part, budget = samples.encoded(lines, lines), 400
    training = samples.training(tokens_per_batch=budget, tokens_per_update=1, max_length=61)
    sampler, plain = (kind(part, training, samples.learning().batches) for kind in (FewShapesSampler, BatchSampler))
    assert sorted(np.concatenate(sampler.micro_batches(0))) == list(range(3000))
    shapes = [fill(collate(part, pairs), budget).source.shape for pairs in sampler.micro_batches(0)]
    assert all(rows * length <= budget for rows, length in shapes)
    assert len(set(shapes)) < 0.5 * len({collate(part, pairs).source.shape for pairs in plain.micro_batches(0)})


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("r_drop", [0.0, 5.0])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_replay_gives_the_losses_and_gradients_of_the_network(name, r_drop, precision):
    learning, model = samples.learning(r_drop=r_drop, precision=precision), build(name, dropout=0.1)
    given = list(batches())
    expected = [step(model, batch, learning) for batch in given]
    hidden = capture(model)
    found = [step(model, batch, learning) for batch in given]
    shapes = {(batch.source.shape, batch.target_input.shape) for batch in given}
    assert hidden.capturer.number == len(shapes) + 1  # and that of the first compilation
    for (loss, gradients), (found_loss, found_gradients) in zip(expected, found, strict=True):
        assert torch.equal(loss, found_loss)
        assert gradients.keys() == found_gradients.keys()
        for key, gradient in gradients.items():
            assert torch.equal(gradient, found_gradients[key]), key


def test_gradients_of_one_micro_batch_outlive_the_next():
    model = build("transformer_prenorm")
    capture(model)
    first, second, *_ = batches()
    _, gradients = step(model, first, samples.learning())
    kept = {key: gradient.clone() for key, gradient in gradients.items()}
    step(model, second, samples.learning())
    assert all(torch.equal(gradient, kept[key]) for key, gradient in gradients.items())


def test_without_gradients_nothing_is_captured():
    model = build("transformer_prenorm")
    batch = next(batches())
    with torch.no_grad():
        expected = model.hidden(batch.source, batch.target_input)
        hidden = capture(model)
        assert torch.equal(model.hidden(batch.source, batch.target_input), expected)
    assert not hidden.capturer.number


def test_layers_are_compiled_only_while_they_are_captured():
    model = build("transformer_prenorm")
    hidden, calls = capture(model), []
    layers = [*model.encoder, *model.decoder]
    hidden.forwards = [
        (layer, lambda *args, layer=layer: (calls.append(layer), type(layer).forward(layer, *args))[1])
        for layer in layers
    ]
    step(model, next(batches()), samples.learning())
    assert calls[: len(layers)] == layers
    assert not any("forward" in vars(layer) for layer in layers)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_layer_is_one_graph_for_every_shape(name):
    """The compiler follows Python through the whole layer, once: a second shape compiles nothing more."""
    torch._dynamo.reset()
    compiled = []

    def counting(module, inputs):
        compiled.append(module)
        return torch._dynamo.lookup_backend("aot_eager")(module, inputs)

    model = build(name)
    layers = [*model.encoder, *model.decoder]
    hidden = capture(model)
    hidden.forwards = [
        (layer, torch.compile(layer.forward, dynamic=True, fullgraph=True, backend=counting)) for layer in layers
    ]
    numbers = []
    for batch in batches():
        step(model, batch, samples.learning())
        numbers.append(len(compiled))
    assert numbers == [numbers[0]] * len(numbers)
    assert numbers[0] < len(layers)  # layers alike share their code


@pytest.fixture
def gpu():
    where = device.prepared()
    assert where.type == "cuda"
    device.be_deterministic(1)
    yield where
    torch.use_deterministic_algorithms(False)


@pytest.mark.gpu
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_gpu_replays_what_it_computes(name, compiled, gpu):
    learning, model = samples.learning(), build(name).to(gpu)
    given = [batch.to(gpu) for batch in batches()][:4]
    expected = [step(model, batch, learning) for batch in given]
    torch._dynamo.reset()
    capture(model, CudaGraphs(), compiled=compiled)
    for batch, (loss, gradients) in zip(given, expected, strict=True):
        found_loss, found = step(model, batch, learning)
        assert found_loss.item() == pytest.approx(loss.item(), rel=1e-5)
        for key, gradient in gradients.items():
            torch.testing.assert_close(
                found[key], gradient, rtol=1e-3, atol=1e-5, msg=lambda text, key=key: f"{key} {text}"
            )


@pytest.mark.gpu
def test_a_replay_draws_by_the_seed(gpu):
    model = build("transformer_prenorm", dropout=0.1).to(gpu)
    capture(model, CudaGraphs())
    batch = next(batches()).to(gpu)

    def loss(seed):
        torch.manual_seed(seed)
        return forward_backward(model, batch, samples.learning(), tokens=10).item()

    first = loss(1)
    assert loss(2) != first
    assert loss(1) == first
