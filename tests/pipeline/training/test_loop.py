"""One update is one gradient of the mean loss per token, however it is cut; the same seeds give the same bits."""

import math
import re
import subprocess
import sys

import pytest
import torch
from torch import nn

from pipeline import device, ids
from pipeline.encoding.batching import START, BatchSampler, GlobalBatch, Position, collate, load_batches
from pipeline.models.transformer_prenorm import Arch, Model
from pipeline.training import loop
from pipeline.training.loop import DivergedError, Step, resolve_precision, train
from pipeline.training.ranks import Ranks
from tests.toys import networks, samples

LINES = samples.sentences(30, seed=1)
PART = samples.encoded(LINES, [line[::-1] for line in LINES])
WIDTH = 16


def build(**changed):
    torch.manual_seed(7)
    return Model(Arch.model_validate(samples.ARCH | changed), source_size=11, target_size=11)


def batch(*pairs):
    return collate(PART, torch.tensor(pairs).numpy())


def made_of(update, *batches):
    """The update with this number, of these micro-batches."""
    sampler = BatchSampler(PART, samples.training(), samples.learning().batches)
    counts = sampler.counts([given.pairs for given in batches])
    return GlobalBatch(Position(update, 0, update - 1), dict(enumerate(batches)), *counts)


def run(model, updates, learning, *, seed=1):
    """The steps of a training; the optimizer starts afresh."""
    return list(
        train(
            model, learning.optimizer.build(model), updates, learning, width=WIDTH, updates=9, seed=seed, ranks=Ranks()
        )
    )


def weights(model):
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def test_micro_batches_add_up_to_one_batch():
    whole, cut = build(), build()
    learning = samples.learning(schedule={"kind": "constant", "learning_rate": 0.01})
    [one] = run(whole, [made_of(1, batch(*range(12)))], learning)
    [many] = run(cut, [made_of(1, batch(0, 1), batch(2), batch(*range(3, 12)))], learning)
    assert one.tokens == many.tokens == sum(len(line) + 1 for line in LINES[:12])
    assert many.loss == pytest.approx(one.loss, rel=1e-5)
    assert many.grad_norm == pytest.approx(one.grad_norm, rel=1e-5)
    assert not torch.equal(weights(whole), weights(build()))
    # Adam's first step is of the gradient's sign, so entries of a gradient near 0 may go either way
    moved = (weights(whole) - weights(cut)).abs()
    assert (moved > 1e-4).float().mean() < 0.02


@pytest.mark.parametrize("clip", [None, 1e9, 0.01])
def test_gradient_is_that_of_the_mean_and_clipped(clip):
    model, plain = build(), build()
    learning, seen = samples.learning(clip=clip), []
    optimizer = learning.optimizer.build(model)
    optimizer.register_step_post_hook(
        lambda *_: seen.append(torch.cat([weight.grad.flatten() for weight in model.parameters()]))
    )
    given = batch(*range(8))
    [step] = list(train(model, optimizer, [made_of(1, given)], learning, width=WIDTH, updates=9, seed=1, ranks=Ranks()))
    logits = plain.logits(plain.hidden(given.source, given.target_input)).flatten(0, 1)
    nn.functional.cross_entropy(logits, given.target_output.flatten(), ignore_index=0, label_smoothing=0.1).backward()
    expected = torch.cat([weight.grad.flatten() for weight in plain.parameters()])
    norm = expected.norm().item()
    assert step.grad_norm == pytest.approx(norm, rel=1e-5)  # before clipping
    torch.testing.assert_close(seen[0], expected * min(1.0, (clip or math.inf) / norm), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("rows", [1, 5, 26])
@pytest.mark.parametrize(("name", "precision"), [("transformer_prenorm", "bf16"), ("rnnsearch", "fp32")])
def test_rows_scored_at_a_time_change_nothing(name, precision, rows, monkeypatch):
    """Loss and gradient are those of one plain product and torch's own loss; bf16 rounds its gradient once a block."""
    model, plain = networks.build(name).train(), networks.build(name).train()
    given, learning = batch(*range(8)), samples.learning(precision=precision)
    assert (given.target_output != ids.PAD).sum() > 26
    monkeypatch.setitem(loop.LOGIT_ROWS, "cpu", rows)
    found = loop.forward_backward(model, given, learning, 7)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        logits = plain.logits(plain.hidden(given.source, given.target_input)).flatten(0, 1)
    gold = given.target_output.flatten()
    expected = (
        nn.functional.cross_entropy(logits.float(), gold, ignore_index=0, label_smoothing=0.1, reduction="sum") / 7
    )
    expected.backward()
    near = 0.03 if precision == "bf16" else 1e-4
    assert found.item() == pytest.approx(expected.item(), rel=near)
    for (which, weight), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        assert (weight.grad - other.grad).norm() <= near * other.grad.norm() + 1e-6, which


@pytest.mark.parametrize("rows", [2, 10, 4096])
@pytest.mark.parametrize(("name", "precision"), [("transformer_prenorm", "bf16"), ("transformer_postnorm", "fp32")])
def test_r_drop_is_two_passes_and_their_divergence(name, precision, rows, monkeypatch):
    """Loss and gradient are those of two plain passes with their own masks, by torch's losses."""
    rates = {key: 0.2 for key in networks.arch(name) if "dropout" in key}
    model, plain = networks.build(name, **rates).train(), networks.build(name, **rates).train()
    given, learning = batch(*range(8)), samples.learning(precision=precision, r_drop=3.0)
    monkeypatch.setitem(loop.LOGIT_ROWS, "cpu", rows)
    torch.manual_seed(5)
    found = loop.forward_backward(model, given, learning, 7)
    torch.manual_seed(5)
    source, target = (torch.cat((side, side)) for side in (given.source, given.target_input))
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        logits = plain.logits(plain.hidden(source, target))
    real = given.target_output != ids.PAD
    first, second = (one[real].float() for one in logits.chunk(2))
    assert not torch.equal(first, second)
    gold = given.target_output[real]
    entropies = [
        nn.functional.cross_entropy(one, gold, label_smoothing=0.1, reduction="sum") for one in (first, second)
    ]
    p, q = first.log_softmax(dim=1), second.log_softmax(dim=1)
    divergence = nn.functional.kl_div(p, q, log_target=True, reduction="sum")
    divergence = divergence + nn.functional.kl_div(q, p, log_target=True, reduction="sum")
    expected = (sum(entropies) / 2 + 3.0 / 4 * divergence) / 7
    expected.backward()
    near = 0.05 if precision == "bf16" else 1e-4
    assert found.item() == pytest.approx(expected.item(), rel=near)
    for (which, weight), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        assert (weight.grad - other.grad).norm() <= near * other.grad.norm() + 1e-6, which


@pytest.mark.parametrize("name", networks.NAMES)
def test_r_drop_without_dropout_is_one_pass(name):
    once, twice, given = networks.build(name), networks.build(name), batch(*range(8))
    losses = [
        loop.forward_backward(model.train(), given, samples.learning(r_drop=weight), 7)
        for model, weight in ((once, 0.0), (twice, 5.0))
    ]
    assert losses[0].item() == pytest.approx(losses[1].item(), rel=1e-5)
    for weight, other in zip(once.parameters(), twice.parameters(), strict=True):
        torch.testing.assert_close(weight.grad, other.grad, rtol=1e-3, atol=1e-5)


FIRST = "micro-batch 0 (training pairs 0)"


def part_of(loss):
    return loss, batch(0)


@pytest.mark.parametrize(
    ("losses", "found", "said"),
    [
        ([1.0, math.nan, math.inf], (math.nan, math.nan), "micro-batch 1 (training pairs 0): loss is nan"),
        ([3e38, 3e38], (math.inf, 2.0), f"{FIRST}, micro-batch 1 (training pairs 0): loss is inf"),
        ([1.0], (1.0, math.inf), f"{FIRST}: gradient norm is inf"),
    ],
)
def test_what_diverged_is_named(losses, found, said):
    names = dict(zip(("loss", "gradient norm"), found, strict=True))
    with pytest.raises(DivergedError, match=f"^{re.escape('update 4, ' + said)}; expected"):
        loop.raise_diverged(4, [part_of(loss) for loss in losses], names)


def test_the_first_of_many_micro_batches_is_named_by_its_own_number(monkeypatch):
    """The sum visits them in the order of its tree: 0, 4, 2, 1, 3."""
    real = loop.forward_backward

    def breaks(model, one, *others):
        loss = real(model, one, *others)
        return loss * math.nan if one.pairs.tolist() in ([1], [4]) else loss

    monkeypatch.setattr(loop, "forward_backward", breaks)
    given = made_of(4, *(batch(index) for index in range(5)))
    with pytest.raises(DivergedError, match=r"^update 4, micro-batch 1 \(training pairs 1\): loss is nan"):
        run(build(), [given], samples.learning())


def test_loss_is_per_token_and_smoothed_as_trained():
    model, given = build(), batch(*range(5))
    logits = model.logits(model.hidden(given.source, given.target_input)).flatten(0, 1)
    gold = given.target_output.flatten()
    expected = nn.functional.cross_entropy(logits, gold, ignore_index=0, label_smoothing=0.1)
    [step] = run(model, [made_of(1, given)], samples.learning())
    assert step.loss == pytest.approx(expected.item(), rel=1e-5)


def test_twice_the_same_pairs_is_the_same_loss_and_gradient():
    [once] = run(build(), [made_of(1, batch(0, 1, 2))], samples.learning())
    [twice] = run(build(), [made_of(1, batch(0, 1, 2), batch(0, 1, 2))], samples.learning())
    assert (twice.loss, twice.grad_norm) == pytest.approx((once.loss, once.grad_norm), rel=1e-5)
    assert twice.tokens == 2 * once.tokens


def test_the_rate_is_the_schedules():
    schedule = {"kind": "noam", "factor": 2.0, "warmup": 4}
    given = [made_of(update, batch(0))._replace(position=Position(update, 3, 5)) for update in (1, 4, 40)]
    steps = run(build(), given, samples.learning(schedule=schedule))
    assert [step.learning_rate for step in steps] == pytest.approx([2 / 4 / 8, 2 / 4 / 2, 2 / 4 / 40**0.5])
    assert [(step.update, step.position) for step in steps] == [(p.update, p) for p, *_ in given]


def test_what_a_step_counts():
    [step] = run(build(), [made_of(1, batch(0, 1, 2), batch(3))], samples.learning())
    lengths = [len(line) + 1 for line in LINES[:4]]
    assert step.tokens == sum(lengths)
    assert step.num_real_positions == 2 * sum(lengths)
    assert step.num_positions == 2 * (3 * max(lengths[:3]) + lengths[3])


def test_what_is_logged_of_a_step():
    step = Step(
        Position(3, 0, 2), loss=2.0, grad_norm=0.5, tokens=9, learning_rate=0.1, num_real_positions=15, num_positions=20
    )
    assert step.update == 3
    assert step.metrics() == {
        "train_loss": 2.0,
        "grad_norm": 0.5,
        "learning_rate": 0.1,
        "tokens": 9,
        "padding_share": 0.25,
    }


def test_the_time_between_two_steps_does_not_count(monkeypatch):
    clock = iter([0.0, 2.0, 10.0, 13.0, 20.0])
    monkeypatch.setattr(loop.time, "perf_counter", lambda: next(clock))
    assert list(loop.timed(iter("ab"))) == [("a", 2.0), ("b", 3.0)]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_same_seeds_same_bits(precision):
    def trained(seed):
        part, settings = PART, samples.training(updates=6)
        model, learning = build(dropout=0.3), samples.learning(precision=precision)
        steps = run(
            model, load_batches(BatchSampler(part, settings, learning.batches), part, START, 6), learning, seed=seed
        )
        return steps, weights(model)

    first = trained(1)
    torch.rand(100)
    again, other = trained(1), trained(2)
    assert first[0] == again[0]
    assert torch.equal(first[1], again[1])
    assert not torch.equal(first[1], other[1])
    assert len(first[0]) == 6


@pytest.mark.parametrize(
    ("kind", "capabilities", "expected"),
    [
        ("cpu", {"avx512_bf16": True, "amx_bf16": False}, "bf16"),
        ("cpu", {"avx512_bf16": False, "amx_bf16": True}, "bf16"),
        ("cpu", {"avx512_bf16": False, "avx2": True}, "fp32"),
        ("cpu", {}, "fp32"),
        ("cuda", True, "bf16"),
        ("cuda", False, "fp32"),
    ],
)
def test_auto_is_bf16_where_the_machine_has_it(monkeypatch, kind, capabilities, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: capabilities)
    where = torch.device(kind)
    assert resolve_precision("auto", where) == expected
    assert [resolve_precision(precision, where) for precision in ("fp32", "bf16")] == ["fp32", "bf16"]


def test_bf16_learns_nearly_the_same():
    [exact] = run(build(), [made_of(1, batch(*range(8)))], samples.learning())
    [near] = run(build(), [made_of(1, batch(*range(8)))], samples.learning(precision="bf16"))
    assert near.loss != exact.loss
    assert (near.loss, near.grad_norm) == pytest.approx((exact.loss, exact.grad_norm), rel=0.05)


def test_dropout_draws_anew_for_each_update_and_micro_batch():
    learning = samples.learning(schedule={"kind": "constant", "learning_rate": 1e-30})  # weights stay where they are
    steps = run(build(dropout=0.5), [made_of(1, batch(0)), made_of(2, batch(0))], learning)
    assert steps[0].loss != steps[1].loss
    losses = [run(build(dropout=0.5), [made_of(1, *[batch(0)] * n)], learning)[0].loss for n in (1, 2)]
    assert losses[0] == steps[0].loss != losses[1]


def test_the_caller_may_judge_in_between():
    """A step puts the model back into training, and leaves no gradient behind."""
    model, learning = build(dropout=0.5), samples.learning()
    optimizer, given = learning.optimizer.build(model), [made_of(1, batch(0)), made_of(2, batch(0))]
    steps = train(model, optimizer, given, learning, width=WIDTH, updates=9, seed=1, ranks=Ranks())
    next(steps)
    assert all(weight.grad is None for weight in model.parameters())
    model.eval()
    next(steps)
    assert model.training


@pytest.mark.parametrize(("value", "said"), [(math.nan, "nan"), (math.inf, "nan")])
def test_a_loss_that_is_no_number_is_named(value, said):
    model = build()
    given = [made_of(1, batch(0), batch(1)), made_of(2, batch(0), batch(3, 1, 4, 5, 9, 2))]
    learning = samples.learning()
    steps = train(
        model, learning.optimizer.build(model), given, learning, width=WIDTH, updates=9, seed=1, ranks=Ranks()
    )
    next(steps)
    before = weights(model)
    with torch.no_grad():
        model.embeddings.bias[3] = value
    expected = (
        f"update 2, micro-batch 0 (training pairs 0): loss is {said}; expected a finite number: "
        "lower the learning rate or clip harder"
    )
    with pytest.raises(DivergedError, match=f"^{re.escape(expected)}$"):
        next(steps)
    assert (weights(model) != before).sum() <= 1  # nothing was learnt from it


def test_the_micro_batch_is_named():
    model, learning = build(), samples.learning()
    with torch.no_grad():
        model.embeddings.source[LINES[7][0]] = math.nan
    fine = [pair for pair, line in enumerate(LINES) if LINES[7][0] not in line]
    given = [made_of(12, batch(*fine[:2]), batch(7, *fine[:5]))]
    text = f"update 12, micro-batch 1 (training pairs 7, {', '.join(map(str, fine[:4]))}, ...): loss is nan; expected"
    with pytest.raises(DivergedError, match=f"^{re.escape(text)}"):
        run(model, given, learning)


def test_five_pairs_are_all_there_are():
    model, learning = build(), samples.learning()
    with torch.no_grad():
        model.embeddings.bias[3] = math.nan
    with pytest.raises(
        DivergedError, match=r"^update 1, micro-batch 0 \(training pairs 8, 0, 3, 1, 2\): loss is nan; "
    ):
        run(model, [made_of(1, batch(8, 0, 3, 1, 2))], learning)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_a_gradient_that_is_no_number_is_named(value):
    """With every micro-batch, for it is the sum of theirs."""
    model, learning = build(), samples.learning()
    before = weights(model)
    model.embeddings.bias.register_hook(lambda gradient: torch.full_like(gradient, value))
    expected = (
        "update 1, micro-batch 0 (training pairs 0), micro-batch 1 (training pairs 1, 2, 3, 4, 5, ...): "
        f"gradient norm is {value}; expected a finite number: lower the learning rate or clip harder"
    )
    with pytest.raises(DivergedError, match=f"^{re.escape(expected)}$"):
        run(model, [made_of(1, batch(0), batch(1, 2, 3, 4, 5, 6))], learning)
    assert torch.equal(weights(model), before)


@pytest.mark.gpu
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("bf16", 2e-2)])
@pytest.mark.parametrize("name", networks.NAMES)
def test_a_gpu_trains_as_a_cpu_does_in_fp32(request, name, precision, tolerance):
    where = device.prepared()
    assert where.type == "cuda"
    request.addfinalizer(lambda: torch.use_deterministic_algorithms(False))
    device.be_deterministic(1)  # so that an operation that knows no such way fails
    sampler = BatchSampler(PART, samples.training(updates=50), samples.learning().batches)
    losses = []
    for place, learning in ((torch.device("cpu"), samples.learning()), (where, samples.learning(precision=precision))):
        model = networks.build(name, source_size=11, target_size=11).to(place)
        updates = load_batches(sampler, PART, START, 50)
        losses.append([step.loss for step in run(model, updates, learning)])
    assert len(losses[0]) == 50
    if precision == "bf16":  # rounds each update otherwise
        assert losses[1] == pytest.approx(losses[0], rel=5 * tolerance)
        losses = [[sum(some) / len(some)] for some in losses]
    assert losses[1] == pytest.approx(losses[0], rel=tolerance)


@pytest.mark.gpu
@pytest.mark.parametrize("r_drop", [0.0, 5.0])
@pytest.mark.parametrize("name", networks.NAMES)
def test_a_gpu_gives_the_same_bits_again(request, name, r_drop):
    request.addfinalizer(lambda: torch.use_deterministic_algorithms(False))
    device.be_deterministic(1)
    sampler = BatchSampler(PART, samples.training(updates=20), samples.learning().batches)
    learning = samples.learning(precision="bf16", r_drop=r_drop)
    rates = {key: 0.1 for key in networks.arch(name) if "dropout" in key}
    trained = []
    for _ in range(2):
        model = networks.build(name, source_size=11, target_size=11, **rates).to(device.prepared())
        losses = [step.loss for step in run(model, load_batches(sampler, PART, START, 20), learning)]
        trained.append((losses, {key: value.cpu() for key, value in model.state_dict().items()}))
    assert trained[0][0] == trained[1][0]
    assert all(torch.equal(value, trained[1][1][key]) for key, value in trained[0][1].items())


GROWTH = """
import ctypes, torch
from pipeline import device
from pipeline.models.transformer_prenorm import Arch, Model
from pipeline.training.loop import forward_backward
from pipeline.encoding.batching import Batch
from tests.toys import samples

class Figures(ctypes.Structure):  # of glibc's mallinfo2
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Figures
torch.set_num_threads(1)
device.bound_memory()
arch = samples.ARCH | {"width": 64, "heads": 4, "feed_forward": 128, "dropout": 0.1}
model, learning = Model(Arch.model_validate(arch), source_size=500, target_size=500), samples.learning(precision="bf16")
for update in range(400):
    torch.manual_seed(update)
    sentences, source, target = torch.randint(1, 48, (3,)).tolist()
    drawn = torch.randint(4, 500, (sentences, source)), torch.randint(4, 500, (sentences, target))
    batch = Batch(drawn[0], drawn[1], drawn[1], torch.arange(sentences * target), range(sentences))
    forward_backward(model, batch, learning, sentences * target)
    model.zero_grad(set_to_none=True)
    if update == 199:
        before = libc.mallinfo2().uordblks
print((libc.mallinfo2().uordblks - before) / 2**20)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc what is in use")
@pytest.mark.skipif(not device.has_bf16(torch.device("cpu")), reason="this processor has no products in bf16")
def test_memory_does_not_follow_the_sizes_of_batches(project_root):
    """200 more updates of ever other sizes: MiB in use that were not before. With a product of each size it was 250."""
    said = subprocess.run(
        [sys.executable, "-c", GROWTH], cwd=project_root, capture_output=True, text=True, check=True, timeout=600
    )
    assert float(said.stdout) < 30
