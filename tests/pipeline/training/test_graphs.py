"""A network that is captured and replayed gives the losses and gradients of the network itself, to the bit.

On a CPU the functions run again in place of a graph.
"""

import itertools
from functools import partial

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pipeline.compute import device
from pipeline.training.batching import START, load_batches, prefetch
from pipeline.training.graphs import CudaGraphs, ReplayedHidden
from pipeline.training.loop import forward_backward, train
from pipeline.training.ranks import Ranks
from pipeline.training.sampler import BatchSampler
from tests.toys import networks, samples

LINES = samples.sentences(120, seed=1, longest=30)
PART = samples.encoded(LINES, [line[: 1 + len(line) * 3 // 4] for line in LINES])
TRANSFORMERS = [name for name in networks.NAMES if name.startswith("transformer")]
RATES = dict.fromkeys(("dropout", "attention_dropout", "feed_forward_dropout"), 0.1)


class Repeater(CudaGraphs):
    """Captures by keeping the functions; it has room for so many shapes.

    Like the kernels of a graph, what a function computes in bf16 while it is captured stays in bf16.
    """

    def __init__(self, room=1000):
        self.number, self.room = 0, room

    def has_room(self):
        return self.number < self.room

    def capture(self, *actions):
        self.number += 1
        for action in actions:
            action()

        def replay(action, in_bf16):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=in_bf16):
                action()

        return [partial(replay, action, torch.is_autocast_enabled("cpu")) for action in actions]


def updates():
    training = samples.training(updates=12, tokens_per_batch=600, tokens_per_update=900, max_length=31)
    sampler = BatchSampler(PART, training, samples.learning().batches, {}, seed=1, bucketed=True)
    return list(load_batches(sampler, PART, START, 12))


def batches():
    return [batch for update in updates() for batch in update.micro_batches.values()]


def build(name, **changed):
    return networks.build(name, source_size=11, target_size=11, **RATES | changed).train()


def step(model, batch, learning, seed=3):
    """The loss of a micro-batch and the gradients, which are taken off the weights."""
    torch.manual_seed(seed)
    loss = forward_backward(model, batch, learning, tokens=10)
    gradients = {name: weight.grad for name, weight in model.named_parameters()}
    model.zero_grad(set_to_none=True)
    return loss, gradients


def assert_replayed(model, given, learning, capturer):
    """Each loss and gradient of a replay is that of the network itself."""
    expected = [step(model, batch, learning) for batch in given]
    model.hidden = hidden = ReplayedHidden(model, capturer)
    for batch, (loss, gradients) in zip(given, expected, strict=True):
        replayed_loss, replayed = step(model, batch, learning)
        assert torch.equal(replayed_loss, loss)
        assert all(torch.equal(replayed[key], gradient) for key, gradient in gradients.items())
    return hidden


@pytest.mark.parametrize(
    ("name", "r_drop", "precision", "tied"),
    [
        ("transformer_modern", 5.0, "fp32", "all"),
        ("transformer_modern", 0.0, "bf16", "output"),
        ("transformer_prenorm", 0.0, "fp32", "none"),
        ("transformer_postnorm", 0.0, "fp32", "none"),
    ],
)
def test_a_replay_gives_the_losses_and_gradients_of_the_network(name, r_drop, precision, tied):
    """Also where batches are filled up to few shapes, and the output projection has left a gradient before."""
    learning, given = samples.learning(r_drop=r_drop, precision=precision), batches()
    hidden = assert_replayed(build(name, tied_embeddings=tied), given, learning, Repeater())
    shapes = [(batch.source.shape, batch.target_input.shape) for batch in given]
    assert hidden.capturer.number == len({one for one in shapes if shapes.count(one) > 1}) > 1
    assert {batch.source.shape[0] - len(batch.pairs) for batch in given} > {0}


def test_without_room_nothing_more_is_captured_and_nothing_changes():
    hidden = assert_replayed(build("transformer_modern"), batches(), samples.learning(), Repeater(room=2))
    assert hidden.capturer.number == len(hidden.captures) == 2


def test_a_shape_is_captured_when_it_is_seen_again_with_the_same_precision_and_mode():
    model, [batch, *_] = build("transformer_prenorm"), batches()
    model.hidden = hidden = ReplayedHidden(model, Repeater())
    numbers = []
    for precision, training in (("fp32", True), ("bf16", True), ("fp32", False)):
        model.train(training)
        for _ in range(3):
            step(model, batch, samples.learning(precision=precision))
            numbers.append(hidden.capturer.number)
    assert numbers == [0, 1, 1, 1, 2, 2, 2, 3, 3]
    with torch.no_grad():
        model.hidden(batch.source[:1], batch.target_input[:1])
        model.hidden(batch.source[:1], batch.target_input[:1])
    assert hidden.capturer.number == 3


def test_room_is_twice_what_the_largest_batch_took(monkeypatch, capsys):
    free = []
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 10)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (free[0], 100))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: free.pop(0))
    graphs = CudaGraphs.__new__(CudaGraphs)  # without a GPU
    graphs.is_full = False
    for readings, has_room in (([20], True), ([19, 20], True), ([19, 19], False), ([100], False)):
        free[:] = readings
        assert graphs.has_room() is has_room
    assert capsys.readouterr().err.count("no GPU memory is left") == 1


class RefuseNumbers(TorchDispatchMode):
    """Raises where a GPU would have to send a number to Python."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        assert function not in {torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default}
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_what_may_be_captured_reads_no_number(name):
    """A graph would repeat what Python made of it for ever."""
    model, [batch, *_] = networks.build(name, source_size=11, target_size=11).train(), batches()
    assert model.is_capturable
    with RefuseNumbers():
        model.hidden(batch.source, batch.target_input).sum().backward()
        with pytest.raises(AssertionError):
            batch.source.max().item()


@pytest.fixture
def gpu():
    where = device.prepared()
    assert where.type == "cuda"
    device.be_deterministic(1)
    yield where
    torch.use_deterministic_algorithms(False)


@pytest.mark.gpu
@pytest.mark.parametrize("sizes", [{}, {"width": 128, "heads": 2}], ids=["narrow", "wide"])
@pytest.mark.parametrize(
    ("name", "r_drop", "precision"), [*itertools.product(TRANSFORMERS, (0.0, 5.0), ("fp32", "bf16"))]
)
def test_a_gpu_replays_what_it_computes_to_the_bit(name, precision, r_drop, sizes, gpu):
    """In bf16, narrow heads take torch's plain attention, wide ones its kernels."""
    learning = samples.learning(precision=precision, r_drop=r_drop)
    assert_replayed(build(name, **sizes).to(gpu), [batch.to(gpu) for batch in batches()], learning, CudaGraphs())
    outcomes = []
    for replayed in (False, True):
        model = build(name, **sizes).to(gpu)
        optimizer = learning.optimizer.build(model)
        if replayed:
            model.hidden = ReplayedHidden(model, CudaGraphs())
        feed = prefetch(updates(), pinned=True)
        steps = list(train(model, optimizer, feed, learning, width=8, updates=12, seed=1, ranks=Ranks()))
        outcomes.append((steps, [weight.tolist() for weight in model.parameters()]))
    assert model.hidden.captures
    assert outcomes[0] == outcomes[1]


@pytest.mark.gpu
def test_a_replay_on_a_gpu_draws_by_the_seed(gpu):
    model, batch = build("transformer_prenorm").to(gpu), batches()[0].to(gpu)
    model.hidden = ReplayedHidden(model, CudaGraphs())
    losses = [step(model, batch, samples.learning(), seed)[0].item() for seed in (1, 1, 2, 1)]
    assert losses[0] == losses[1] == losses[3] != losses[2]
