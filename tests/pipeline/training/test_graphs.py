"""A network that is recorded and replayed gives the losses and gradients of the network itself, to the bit.

On a CPU the functions run again in place of a graph.
"""

from functools import partial

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from pipeline import device
from pipeline.encoding.batching import START, BatchSampler, load_batches
from pipeline.kernels import dispatch
from pipeline.training.graphs import CudaGraphs, replay_hidden
from pipeline.training.loop import forward_backward, train
from pipeline.training.ranks import Ranks
from tests.toys import networks, samples

LINES = samples.sentences(400, seed=1, longest=30)
PART = samples.encoded(LINES, [line[::-1] for line in LINES])
TRANSFORMERS = [name for name in networks.NAMES if name.startswith("transformer")]
BUDGET, UPDATES = 300, 40
RATES = ("dropout", "attention_dropout", "feed_forward_dropout")


class Repeating:
    """Records by keeping the functions; it has room for so many shapes.

    Like the kernels of a graph, what a function computes in bf16 while it is recorded stays in bf16.
    """

    def __init__(self, room=1000):
        self.number, self.room = 0, room

    def has_room(self):
        return self.number < self.room

    def record(self, actions):
        self.number += 1
        for action in actions:
            action()
        in_bf16 = torch.is_autocast_enabled("cpu")

        def replay(action):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=in_bf16):
                action()

        return [partial(replay, action) for action in actions]


def updates():
    training = samples.training(updates=UPDATES, tokens_per_batch=BUDGET, tokens_per_update=400, max_length=31)
    sampler = BatchSampler(PART, training, samples.learning().batches, bucketed=True)
    return list(load_batches(sampler, PART, START, UPDATES))


def batches():
    return [batch for update in updates() for batch in update.micro_batches.values()]


def shape(batch):
    return batch.source.shape, batch.target_input.shape


def build(name, *, dropout=0.1):
    rates = dict.fromkeys(RATES, dropout)
    return networks.build(name, source_size=11, target_size=11, **rates).train()


def step(model, batch, learning, seed=3):
    torch.manual_seed(seed)
    loss = forward_backward(model, batch, learning, tokens=10)
    gradients = {name: weight.grad for name, weight in model.named_parameters()}
    for weight in model.parameters():
        weight.grad = None
    return loss, gradients


def assert_same(found, expected):
    assert torch.equal(found[0], expected[0])
    assert found[1].keys() == expected[1].keys()
    for key, gradient in expected[1].items():
        assert torch.equal(found[1][key], gradient), key


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("r_drop", [0.0, 5.0])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_replay_gives_the_losses_and_gradients_of_the_network(name, r_drop, precision):
    learning, model, given = samples.learning(r_drop=r_drop, precision=precision), build(name), batches()
    expected = [step(model, batch, learning) for batch in given]
    hidden = replay_hidden(model, Repeating())
    for batch, losses_and_gradients in zip(given, expected, strict=True):
        assert_same(step(model, batch, learning), losses_and_gradients)
    shapes = [shape(batch) for batch in given]
    assert hidden.recorder.number == len({one for one in shapes if shapes.count(one) > 1})
    assert hidden.recorder.number > 1
    assert {batch.source.shape[0] - len(batch.pairs) for batch in given} > {0}  # some are filled up


def test_no_autocast_reaches_the_recorded_backward(monkeypatch):
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
    assert hidden.recordings


def test_a_shape_is_recorded_when_it_is_seen_again():
    model, [batch, *_] = build("transformer_prenorm"), batches()
    hidden = replay_hidden(model, Repeating())
    numbers = []
    for _ in range(3):
        step(model, batch, samples.learning())
        numbers.append(hidden.recorder.number)
    assert numbers == [0, 1, 1]


def test_without_room_nothing_more_is_recorded_and_nothing_changes():
    learning, model, given = samples.learning(), build("transformer_modern"), batches()
    expected = [step(model, batch, learning) for batch in given]
    hidden = replay_hidden(model, Repeating(room=2))
    for batch, losses_and_gradients in zip(given, expected, strict=True):
        assert_same(step(model, batch, learning), losses_and_gradients)
    assert hidden.recorder.number == len(hidden.recordings) == 2


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


def test_a_replay_reads_the_weights_of_now():
    learning, [batch, *_] = samples.learning(), batches()
    model, plain = build("transformer_prenorm"), build("transformer_prenorm")
    replay_hidden(model, Repeating())
    for _ in range(2):
        step(model, batch, learning)
    for one in (model, plain):
        with torch.no_grad():
            for weight in one.parameters():
                weight.mul_(1.5)
    assert_same(step(model, batch, learning), step(plain, batch, learning))


def test_without_gradients_nothing_is_recorded():
    model, [batch, *_] = build("transformer_prenorm", dropout=0.0), batches()
    with torch.no_grad():
        expected = model.hidden(batch.source, batch.target_input)
        hidden = replay_hidden(model, Repeating())
        for _ in range(3):
            assert torch.equal(model.hidden(batch.source, batch.target_input), expected)
    assert not hidden.recorder.number


def test_recurrent_networks_are_not_recorded():
    """Their `hidden` reads numbers on the CPU, which a graph would repeat for ever."""
    recordable = {name for name in networks.NAMES if networks.build(name).is_recordable}
    assert recordable == set(TRANSFORMERS)


@pytest.fixture
def gpu():
    where = device.prepared()
    assert where.type == "cuda"
    device.be_deterministic(1)
    yield where
    torch.use_deterministic_algorithms(False)


def trained(name, where, precision, r_drop, recorder=None, number=UPDATES, start=None):
    """Losses and weights after some updates; from those of another training if `start` has them."""
    learning = samples.learning(precision=precision, r_drop=r_drop)
    model = build(name).to(where)
    optimizer = learning.optimizer.build(model)
    given = updates()[:number]
    if start:
        model.load_state_dict(start[0])
        optimizer.load_state_dict(start[1])
        given = updates()[number:]
    if recorder:
        replay_hidden(model, recorder)
    asked = {"width": 8, "updates": UPDATES, "seed": 1, "ranks": Ranks()}
    losses = [step.loss for step in train(model, optimizer, given, learning, **asked)]
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    return losses, weights, optimizer.state_dict()


@pytest.mark.gpu
@pytest.mark.parametrize("r_drop", [0.0, 5.0])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_gpu_replays_what_it_computes_to_the_bit(name, precision, r_drop, gpu):
    recorder = CudaGraphs()
    losses, weights, _ = trained(name, gpu, precision, r_drop)
    found_losses, found, _ = trained(name, gpu, precision, r_drop, recorder)
    assert recorder.is_warm
    assert found_losses == losses
    assert all(torch.equal(found[key], value) for key, value in weights.items())


@pytest.mark.gpu
def test_a_training_on_a_gpu_resumes_to_the_bit(gpu):
    """Other shapes are recorded than without the break."""
    name, half = "transformer_modern", UPDATES // 2
    losses, weights, _ = trained(name, gpu, "bf16", 0.0, CudaGraphs())
    first, *state = trained(name, gpu, "bf16", 0.0, CudaGraphs(), number=half)
    second, found, _ = trained(name, gpu, "bf16", 0.0, CudaGraphs(), number=half, start=state)
    assert [*first, *second] == losses
    assert all(torch.equal(found[key], value) for key, value in weights.items())


@pytest.mark.gpu
def test_a_replay_on_a_gpu_draws_by_the_seed(gpu):
    model, learning = build("transformer_prenorm").to(gpu), samples.learning()
    hidden = replay_hidden(model)
    batch = batches()[0].to(gpu)
    losses = [step(model, batch, learning, seed)[0].item() for seed in (1, 1, 2, 1)]
    assert len(hidden.recordings) == 1
    assert losses[0] == losses[1] == losses[3] != losses[2]
