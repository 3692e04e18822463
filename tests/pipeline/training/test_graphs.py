"""A network that is captured and replayed gives the losses and gradients of the network itself, to the bit.

On a CPU the functions run again in place of a graph.
"""

import gc
import itertools
import weakref
from functools import partial

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode

from pipeline import device
from pipeline.encoding.batching import START, BatchSampler, collate, load_batches
from pipeline.kernels import dispatch
from pipeline.training.graphs import CudaGraphs, replay_hidden
from pipeline.training.loop import forward_backward, train
from pipeline.training.prefetch import prefetched
from pipeline.training.ranks import Ranks
from tests.toys import networks, samples

LINES = samples.sentences(120, seed=1, longest=30)
PART = samples.encoded(LINES, [line[: 1 + len(line) * 3 // 4] for line in LINES])
TRANSFORMERS = [name for name in networks.NAMES if name.startswith("transformer")]
BUDGET, UPDATES = 600, 12
RATES = ("dropout", "attention_dropout", "feed_forward_dropout")
WIDE = {"width": 128, "heads": 2}
QUICK_IN_BF16 = ("transformer_modern", 0.0, "bf16")
CPU = torch.device("cpu")


class Repeating:
    """Captures by keeping the functions; it has room for so many shapes.

    Like the kernels of a graph, what a function computes in bf16 while it is captured stays in bf16, and weights must
    stay where they were.
    """

    def __init__(self, room=1000, weights=()):
        self.number, self.room, self.weights = 0, room, list(weights)

    def has_room(self):
        return self.number < self.room

    def capture(self, actions):
        self.number += 1
        for action in actions:
            action()
        in_bf16, places = torch.is_autocast_enabled("cpu"), self.places()

        def replay(action):
            assert self.places() == places
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=in_bf16):
                action()

        return [partial(replay, action) for action in actions]

    def places(self):
        return [weight.data_ptr() for weight in self.weights]


def updates():
    training = samples.training(updates=UPDATES, tokens_per_batch=BUDGET, tokens_per_update=900, max_length=31)
    sampler = BatchSampler(PART, training, samples.learning().batches, bucketed=True)
    return list(load_batches(sampler, PART, START, UPDATES))


def batches():
    return [batch for update in updates() for batch in update.micro_batches.values()]


def shape(batch):
    return batch.source.shape, batch.target_input.shape


def build(name, *, dropout=0.1, **sizes):
    rates = dict.fromkeys(RATES, dropout)
    return networks.build(name, source_size=11, target_size=11, **rates, **sizes).train()


def step(model, batch, learning, seed=3):
    torch.manual_seed(seed)
    loss = forward_backward(model, batch, learning, tokens=10)
    gradients = {name: weight.grad for name, weight in model.named_parameters()}
    for weight in model.parameters():
        weight.grad = None
    return loss, gradients


def trained(model, where, precision, r_drop, capturer=None, given=None, start=None):
    """Losses and weights after some updates, and the optimizer's state; from another training's if `start` has them."""
    learning, model = samples.learning(precision=precision, r_drop=r_drop), model.to(where)
    optimizer = learning.optimizer.build(model)
    if start:
        model.load_state_dict(start[0])
        optimizer.load_state_dict(start[1])
    if capturer:
        replay_hidden(model, capturer)
    feed = prefetched(given or updates(), pinned=where.type == "cuda")
    asked = {"width": 8, "updates": UPDATES, "seed": 1, "ranks": Ranks()}
    losses = [step.loss for step in train(model, optimizer, feed, learning, **asked)]
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    return losses, weights, optimizer.state_dict()


def assert_same(found, expected):
    assert torch.equal(found[0], expected[0])
    assert found[1].keys() == expected[1].keys()
    for key, gradient in expected[1].items():
        assert torch.equal(found[1][key], gradient), key


def assert_replayed(model, given, learning, capturer):
    """Each loss and gradient of a replay is that of the network itself."""
    expected = [step(model, batch, learning) for batch in given]
    hidden = replay_hidden(model, capturer)
    for batch, losses_and_gradients in zip(given, expected, strict=True):
        assert_same(step(model, batch, learning), losses_and_gradients)
    return hidden


@pytest.mark.parametrize(
    ("name", "r_drop", "precision"),
    [
        one if one[2] == "fp32" or one == QUICK_IN_BF16 else pytest.param(*one, marks=pytest.mark.slow)
        for one in itertools.product(TRANSFORMERS, (0.0, 5.0), ("fp32", "bf16"))
    ],
)
def test_a_replay_gives_the_losses_and_gradients_of_the_network(name, r_drop, precision):
    learning, given = samples.learning(r_drop=r_drop, precision=precision), batches()
    hidden = assert_replayed(build(name), given, learning, Repeating())
    shapes = [shape(batch) for batch in given]
    assert hidden.capturer.number == len({one for one in shapes if shapes.count(one) > 1})
    assert hidden.capturer.number > 1
    assert {batch.source.shape[0] - len(batch.pairs) for batch in given} > {0}  # some are filled up


@pytest.mark.parametrize("tied", ["output", "all"])
def test_a_replay_adds_to_the_gradient_of_a_shared_matrix(tied):
    """The output projection has left its own gradient there before."""
    model = build("transformer_modern", tied_embeddings=tied)
    assert assert_replayed(model, batches()[:8] * 2, samples.learning(), Repeating()).captures


def test_no_autocast_reaches_the_captured_backward(monkeypatch):
    """It would compute torch's plain attention, which a GPU takes for narrow heads, otherwise than `backward` does."""

    def plain_attention(query, key, value, mask, *, dropout, causal):
        with sdpa_kernel([SDPBackend.MATH]):
            return scaled_dot_product_attention(query, key, value, mask, dropout_p=dropout, is_causal=causal)

    monkeypatch.setattr(dispatch, "scaled_dot_product_attention", plain_attention)
    learning, model, [batch, *_] = samples.learning(precision="bf16"), build("transformer_prenorm"), batches()
    expected = step(model, batch, learning)
    hidden = replay_hidden(model, Repeating())
    for _ in range(2):
        assert_same(step(model, batch, learning), expected)
    assert hidden.captures


def test_a_shape_is_captured_when_it_is_seen_again():
    model, [batch, *_] = build("transformer_prenorm"), batches()
    hidden = replay_hidden(model, Repeating())
    numbers = []
    for _ in range(3):
        step(model, batch, samples.learning())
        numbers.append(hidden.capturer.number)
    assert numbers == [0, 1, 1]


def test_without_room_nothing_more_is_captured_and_nothing_changes():
    learning, model, given = samples.learning(), build("transformer_modern"), batches()
    expected = [step(model, batch, learning) for batch in given]
    hidden = replay_hidden(model, Repeating(room=2))
    for batch, losses_and_gradients in zip(given, expected, strict=True):
        assert_same(step(model, batch, learning), losses_and_gradients)
    assert hidden.capturer.number == len(hidden.captures) == 2


def test_gradients_of_one_micro_batch_outlive_the_next():
    model, learning = build("transformer_prenorm"), samples.learning()
    first = batches()[0]
    second = next(batch for batch in batches() if shape(batch) != shape(first))
    replay_hidden(model, Repeating())
    for batch in (first, second):
        step(model, batch, learning)  # seen
    _, gradients = step(model, first, learning)
    kept = {key: gradient.clone() for key, gradient in gradients.items()}
    step(model, second, learning)
    assert all(torch.equal(gradient, kept[key]) for key, gradient in gradients.items())


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_training_leaves_the_weights_where_graphs_read_them(precision):
    """Also when it has resumed: the optimizer and a loaded state write in place."""

    def both_halves(model, capturer):
        losses, *state = trained(model, CPU, precision, 0.0, capturer, updates()[:6])
        assert capturer is None or model.hidden.captures
        more, weights, _ = trained(model, CPU, precision, 0.0, None, updates()[6:], start=state)
        return [*losses, *more], weights

    plain, model = (build("transformer_modern") for _ in range(2))
    losses, weights = both_halves(plain, None)
    found_losses, found = both_halves(model, Repeating(weights=model.parameters()))
    assert found_losses == losses
    assert all(torch.equal(found[key], value) for key, value in weights.items())


def test_room_is_twice_what_the_largest_batch_took(monkeypatch, capsys):
    free, emptied = [], []
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 10)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (free[0], 100))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: (emptied.append(1), free.pop(0)))
    graphs = CudaGraphs.__new__(CudaGraphs)  # without a GPU
    graphs.is_full = False
    free[:] = [20]
    assert graphs.has_room()
    assert not emptied
    free[:] = [19, 20]
    assert graphs.has_room()
    assert len(emptied) == 1
    free[:] = [19, 19]
    assert not graphs.has_room()
    free[:] = [100]
    assert not graphs.has_room()  # for good
    assert capsys.readouterr().err.count("no GPU memory is left") == 1


@pytest.mark.parametrize("name", ["transformer_prenorm", "transformer_modern"])
def test_a_table_that_grows_twice_outlives_what_reads_it(name):
    """A graph goes on reading the table that it was captured with."""
    model, learning = build(name), samples.learning()
    replay_hidden(model, Repeating())
    middle = None
    for length in (300, 300, 700):
        part = samples.encoded([[5] * length], [[5] * (length - 1)])
        step(model, collate(part, np.array([0])), learning)
        if middle is None:
            middle = [weakref.ref(table) for table in model.buffers()]
    assert len(model.hidden.captures) == 1
    assert all(table() is not None for table in middle)
    assert {id(table()) for table in middle}.isdisjoint(map(id, model.buffers()))


def test_what_a_capture_depends_on_beside_the_shape_is_told_apart():
    model, [batch, *_] = build("transformer_prenorm"), batches()
    hidden = replay_hidden(model, Repeating())
    for precision, training in (("fp32", True), ("bf16", True), ("fp32", False)):
        model.train(training)
        for _ in range(2):
            step(model, batch, samples.learning(precision=precision))
    assert len(hidden.captures) == 3


def test_nothing_keeps_a_network_that_is_no_longer_needed():
    class Forgetful(Repeating):
        def capture(self, actions):
            super().capture(actions)
            return [lambda: None, lambda: None]  # as graphs do, it knows no Python

    model, [batch, *_] = build("transformer_prenorm"), batches()
    hidden = weakref.ref(replay_hidden(model, Forgetful()))
    known, enabled = weakref.ref(model), gc.isenabled()
    gc.disable()
    try:
        for _ in range(2):
            step(model, batch, samples.learning())
        assert hidden().captures
        del model
        assert known() is None
        assert hidden() is None
    finally:
        if enabled:
            gc.enable()


def test_without_gradients_nothing_is_captured():
    model, [batch, *_] = build("transformer_prenorm", dropout=0.0), batches()
    with torch.no_grad():
        expected = model.hidden(batch.source, batch.target_input)
        hidden = replay_hidden(model, Repeating())
        for _ in range(3):
            assert torch.equal(model.hidden(batch.source, batch.target_input), expected)
    assert not hidden.capturer.number


class RefusesNumbers(TorchDispatchMode):
    """Raises where a GPU would have to send a number to Python."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        assert function not in {torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default}
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", networks.NAMES)
def test_what_may_be_captured_reads_no_number(name):
    """A graph would repeat what Python made of it for ever."""
    model, [batch, *_] = networks.build(name, source_size=11, target_size=11).train(), batches()

    def compute():
        with RefusesNumbers():
            model.hidden(batch.source, batch.target_input).sum().backward()

    assert model.is_capturable == (name in TRANSFORMERS)
    if model.is_capturable:
        compute()
    with RefusesNumbers(), pytest.raises(AssertionError):
        batch.source.max().item()


@pytest.fixture
def gpu():
    where = device.prepared()
    assert where.type == "cuda"
    device.be_deterministic(1)
    yield where
    torch.use_deterministic_algorithms(False)


@pytest.mark.gpu
@pytest.mark.parametrize("sizes", [{}, WIDE], ids=["narrow", "wide"])
@pytest.mark.parametrize("r_drop", [0.0, 5.0])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_gpu_replays_what_it_computes_to_the_bit(name, precision, r_drop, sizes, gpu):
    """In bf16, narrow heads take torch's plain attention, wide ones its kernels."""
    learning = samples.learning(precision=precision, r_drop=r_drop)
    assert_replayed(build(name, **sizes).to(gpu), [batch.to(gpu) for batch in batches()], learning, CudaGraphs())
    losses, weights, _ = trained(build(name, **sizes), gpu, precision, r_drop)
    model = build(name, **sizes)
    found_losses, found, _ = trained(model, gpu, precision, r_drop, CudaGraphs())
    assert model.hidden.captures
    assert found_losses == losses
    assert all(torch.equal(found[key], value) for key, value in weights.items())


@pytest.mark.gpu
@pytest.mark.parametrize("sizes", [{}, WIDE], ids=["narrow", "wide"])
def test_a_training_on_a_gpu_resumes_to_the_bit(sizes, gpu):
    """Other shapes are captured than without the break."""
    most, whole, *parts = UPDATES - 3, *(build("transformer_modern", **sizes) for _ in range(3))
    losses, weights, _ = trained(whole, gpu, "bf16", 0.0, CudaGraphs())
    first, *state = trained(parts[0], gpu, "bf16", 0.0, CudaGraphs(), updates()[:most])
    second, found, _ = trained(parts[1], gpu, "bf16", 0.0, CudaGraphs(), updates()[most:], start=state)
    assert whole.hidden.captures.keys() != parts[1].hidden.captures.keys()
    assert [*first, *second] == losses
    assert all(torch.equal(found[key], value) for key, value in weights.items())


@pytest.mark.gpu
def test_a_replay_on_a_gpu_draws_by_the_seed(gpu):
    model, learning = build("transformer_prenorm").to(gpu), samples.learning()
    hidden = replay_hidden(model)
    batch = batches()[0].to(gpu)
    losses = [step(model, batch, learning, seed)[0].item() for seed in (1, 1, 2, 1)]
    assert len(hidden.captures) == 1
    assert losses[0] == losses[1] == losses[3] != losses[2]
