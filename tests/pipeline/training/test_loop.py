"""One update is one gradient of the mean loss per token, however it is cut; the same seeds give the same bits."""

import math
import re

import pytest
import torch
from torch.nn import functional as F

from pipeline.compute import device, ids
from pipeline.models.transformer_prenorm import Arch, Model
from pipeline.training import loop
from pipeline.training.batching import START, GlobalBatch, Position, collate, load_batches, prefetch
from pipeline.training.loop import DivergedError, Step, resolve_precision, train
from pipeline.training.ranks import Ranks
from pipeline.training.sampler import BatchSampler
from tests.toys import networks, samples

LINES = samples.sentences(30, seed=1)
PART = samples.encoded(LINES, [line[::-1] for line in LINES])
SAMPLER = BatchSampler(PART, samples.training(), samples.learning().batches, {}, seed=1)


def build(**changed):
    torch.manual_seed(7)
    return Model(Arch.model_validate(samples.ARCH | changed), source_size=11, target_size=11)


def batch(*pairs):
    return collate(PART, torch.tensor(pairs).numpy())


def update(number, *batches):
    """The update with this number, of these micro-batches."""
    counts = SAMPLER.counts([given.pairs for given in batches])
    return GlobalBatch(Position(number, 0, 0, number - 1), dict(enumerate(batches)), *counts)


def run(model, updates, learning, *, seed=1):
    """The steps of a training."""
    optimizer = learning.optimizer.build(model)
    return list(train(model, optimizer, updates, learning, width=16, updates=9, seed=seed, ranks=Ranks()))


def weights(model):
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def gradients(model):
    return {name: weight.grad for name, weight in model.named_parameters()}


def assert_near(ours, expected, near):
    for name, gradient in expected.items():
        assert (ours[name] - gradient).norm() <= near * gradient.norm() + 1e-6, name


def test_micro_batches_add_up_to_one_batch():
    learning = samples.learning()
    [one] = run(build(), [update(1, batch(*range(12)))], learning)
    [many] = run(build(), [update(1, batch(0, 1), batch(2), batch(*range(3, 12)))], learning)
    assert one.tokens == many.tokens == sum(len(line) + 1 for line in LINES[:12])
    assert (many.loss, many.grad_norm) == pytest.approx((one.loss, one.grad_norm), rel=1e-5)


@pytest.mark.parametrize("clip", [0.0, 1e9, 0.01])
def test_gradient_is_that_of_the_mean_and_clipped(clip):
    model, plain, seen = build(), build(), []
    learning, given = samples.learning(clip=clip), batch(*range(8))
    optimizer = learning.optimizer.build(model)
    optimizer.register_step_post_hook(
        lambda *_: seen.append(torch.cat([weight.grad.flatten() for weight in model.parameters()]))
    )
    [step] = train(model, optimizer, [update(1, given)], learning, width=16, updates=9, seed=1, ranks=Ranks())
    logits = plain.logits(plain.hidden(given.source, given.target_input)).flatten(0, 1)
    loss = F.cross_entropy(logits, given.target_output.flatten(), ignore_index=0, label_smoothing=0.1)
    loss.backward()
    expected = torch.cat([weight.grad.flatten() for weight in plain.parameters()])
    norm = expected.norm().item()
    assert (step.loss, step.grad_norm) == pytest.approx((loss.item(), norm), rel=1e-5)  # the norm before clipping
    torch.testing.assert_close(seen[0], expected * min(1.0, (clip or math.inf) / norm), rtol=1e-4, atol=1e-7)
    assert all(weight.grad is None for weight in model.parameters())


@pytest.mark.parametrize("rows", [1, 26])
@pytest.mark.parametrize(("name", "precision"), [("transformer_prenorm", "bf16"), ("rnnsearch", "fp32")])
def test_blocks_of_logits_change_nothing(name, precision, rows, monkeypatch):
    """Loss and gradient are those of one plain product and torch's own loss; bf16 rounds its gradient once a block."""
    model, plain = networks.build(name).train(), networks.build(name).train()
    given = batch(*range(8))
    monkeypatch.setitem(loop.LOGIT_ROWS, "cpu", rows)
    loss = loop.forward_backward(model, given, samples.learning(precision=precision), 7)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        logits = plain.logits(plain.hidden(given.source, given.target_input)).flatten(0, 1).float()
    gold = given.target_output.flatten()
    expected = F.cross_entropy(logits, gold, ignore_index=0, label_smoothing=0.1, reduction="sum") / 7
    expected.backward()
    near = 0.03 if precision == "bf16" else 1e-4
    assert loss.item() == pytest.approx(expected.item(), rel=near)
    assert_near(gradients(model), gradients(plain), near)


@pytest.mark.parametrize("rows", [2, 4096])
def test_r_drop_is_two_passes_and_their_divergence(rows, monkeypatch):
    """Loss and gradient are those of two plain passes with their own masks, by torch's losses."""
    rates = {key: 0.2 for key in networks.arch("transformer_prenorm") if "dropout" in key}
    model, plain = (networks.build("transformer_prenorm", **rates).train() for _ in range(2))
    given = batch(*range(8))
    monkeypatch.setitem(loop.LOGIT_ROWS, "cpu", rows)
    torch.manual_seed(5)
    loss = loop.forward_backward(model, given, samples.learning(r_drop=3.0), 7)
    torch.manual_seed(5)
    source, target = (torch.cat((side, side)) for side in (given.source, given.target_input))
    logits = plain.logits(plain.hidden(source, target))
    real = given.target_output != ids.PAD
    first, second = (one[real] for one in logits.chunk(2))
    assert not torch.equal(first, second)
    gold = given.target_output[real]
    entropies = [F.cross_entropy(one, gold, label_smoothing=0.1, reduction="sum") for one in (first, second)]
    p, q = first.log_softmax(dim=1), second.log_softmax(dim=1)
    divergence = sum(F.kl_div(one, other, log_target=True, reduction="sum") for one, other in ((p, q), (q, p)))
    expected = (sum(entropies) / 2 + 3.0 / 4 * divergence) / 7
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
    assert_near(gradients(model), gradients(plain), 1e-4)


def test_rate_and_counts_of_a_step():
    schedule = {"kind": "noam", "factor": 2.0, "warmup": 4}
    given = [update(number, batch(0, 1, 2), batch(3)) for number in (1, 4, 40)]
    steps = run(build(), given, samples.learning(schedule=schedule))
    assert [step.learning_rate for step in steps] == pytest.approx([2 / 4 / 8, 2 / 4 / 2, 2 / 4 / 40**0.5])
    assert [step.position for step in steps] == [one.position for one in given]
    lengths = [len(line) + 1 for line in LINES[:4]]
    assert (steps[0].tokens, steps[0].num_real_positions) == (sum(lengths), 2 * sum(lengths))
    assert steps[0].num_positions == 2 * (3 * max(lengths[:3]) + lengths[3])


def test_what_is_logged_of_a_step():
    step = Step(Position(3, 0, 0, 2), 2.0, 0.5, 9, 0.1, num_real_positions=15, num_positions=20, seconds=3.0)
    assert step.metrics().items() >= {"padding_share": 0.25, "tokens_per_second": 3.0}.items()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_same_seeds_same_bits(precision):
    """Dropout is drawn by the seed; batches that a thread loads ahead are the same."""

    def trained(seed, *, ahead=False):
        model, batches = build(dropout=0.3), load_batches(SAMPLER, PART, START, 6)
        batches = prefetch(batches, pinned=False) if ahead else batches
        return run(model, batches, samples.learning(precision=precision), seed=seed), weights(model)

    first, other = trained(1), trained(2)
    torch.rand(100)
    again = trained(1, ahead=True)
    assert first[0] == again[0] != other[0]
    assert torch.equal(first[1], again[1])
    assert len(first[0]) == 6


def test_an_error_in_the_thread_that_loads_is_raised_in_place_of_the_batch():
    def broken():
        yield update(1, batch(0))
        raise OSError("a cable")

    batches = prefetch(broken(), pinned=False)
    assert next(batches).position.update == 1
    with pytest.raises(OSError, match="a cable"):
        next(batches)


def test_dropout_draws_anew_for_each_update_and_micro_batch():
    learning = samples.learning(schedule={"kind": "constant", "learning_rate": 1e-30})  # weights stay where they are
    steps = run(build(dropout=0.5), [update(1, batch(0)), update(2, batch(0))], learning)
    [twice] = run(build(dropout=0.5), [update(1, batch(0), batch(0))], learning)
    assert len({steps[0].loss, steps[1].loss, twice.loss}) == 3


def test_the_caller_may_validate_in_between():
    model, learning = build(), samples.learning()
    given = [update(1, batch(0)), update(2, batch(0))]
    steps = train(model, learning.optimizer.build(model), given, learning, width=16, updates=9, seed=1, ranks=Ranks())
    next(steps)
    model.eval()
    next(steps)
    assert model.training


@pytest.mark.parametrize("broken", ["loss", "gradient"])
def test_what_diverged_is_named_before_it_is_learnt(broken):
    model = build()
    if broken == "loss":
        with torch.no_grad():
            model.embeddings.bias[3] = math.nan
    else:
        model.embeddings.bias.register_hook(lambda gradient: gradient * math.inf)
    before = weights(model)
    said = "update 4 (training pairs 8, 0, 3, 7 ...): loss is "
    with pytest.raises(DivergedError, match=f"^{re.escape(said)}.*; expected finite numbers"):
        run(model, [update(4, batch(8, 0, 3, 5), batch(7))], samples.learning())
    assert torch.equal(weights(model).isnan(), before.isnan())


@pytest.mark.parametrize(("capabilities", "expected"), [({"avx512_bf16": True}, "bf16"), ({"avx2": True}, "fp32")])
def test_auto_is_bf16_where_the_machine_has_it(monkeypatch, capabilities, expected):
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert resolve_precision("auto", torch.device("cpu")) == expected


@pytest.fixture
def gpu():
    yield device.prepared()
    torch.use_deterministic_algorithms(False)


@pytest.mark.gpu
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("bf16", 2e-2)])
@pytest.mark.parametrize("name", networks.NAMES)
def test_a_gpu_trains_as_a_cpu_does_in_fp32_and_the_same_bits_again(gpu, name, precision, tolerance):
    assert gpu.type == "cuda"
    device.be_deterministic(1)  # so that an operation that knows no such way fails
    losses = []
    places = ((torch.device("cpu"), "fp32"), (gpu, precision), (gpu, precision))
    for place, kind in places:
        model = networks.build(name, source_size=11, target_size=11).to(place)
        steps = run(model, load_batches(SAMPLER, PART, START, 50), samples.learning(precision=kind))
        losses.append([step.loss for step in steps])
    assert losses[1] == losses[2]
    if precision == "bf16":  # rounds each update otherwise
        losses = [[sum(some) / len(some)] for some in losses]
    assert losses[1] == pytest.approx(losses[0], rel=tolerance)
