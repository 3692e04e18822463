"""Every usable pair once an epoch, within the budgets, in an order that depends on (seed, epoch) alone."""

import itertools
import re

import numpy as np
import pytest
import torch

from pipeline import ids
from pipeline.encoding.batching import (
    START,
    Batch,
    BatchSampler,
    Position,
    by_length,
    collate,
    load_batches,
    sorted_batches,
)
from pipeline.encoding.buckets import Shape, bucket
from pipeline.encoding.budget import SentenceBatches, TokenBatches
from pipeline.encoding.shards import Encoded, Ragged
from pipeline.files import DataError
from tests.toys import samples

TOKENS = TokenBatches(kind="tokens")


@pytest.fixture(scope="module")
def captions() -> Encoded:
    """20,000 pairs with lengths like those of picture captions in pieces: about 14, and the sides alike, not equal."""
    random = np.random.default_rng(1)
    source = np.clip(random.lognormal(2.6, 0.35, 20000), 1, 60).astype(int)
    target = np.clip(source * random.normal(1.0, 0.15, 20000) + random.normal(0, 1, 20000), 1, 60).astype(int)

    def side(lengths):
        return Ragged(np.full(lengths.sum(), 7, dtype=np.uint16), np.concatenate(([0], np.cumsum(lengths))))

    return Encoded(side(source), side(target))


@pytest.fixture
def part() -> Encoded:
    return samples.encoded(samples.sentences(60, seed=1, longest=15), samples.sentences(60, seed=2, longest=15))


def settings(**changed):
    return samples.training(**{"tokens_per_update": 1500, "tokens_per_batch": 2000, "max_length": 61} | changed)


def longest(encoded, pairs):
    return max(encoded.source.lengths[pairs].max(), encoded.target.lengths[pairs].max()) + 1


def test_every_usable_pair_once_an_epoch():
    source = [[5]] * 6 + [[5, 6], [], [5] * 9, [5] * 10, [7]]
    target = [[5]] * 6 + [[], [5], [5], [5], [5] * 10]
    part = samples.encoded(source, target)
    sampler = BatchSampler(part, samples.training(max_length=10, tokens_per_batch=10, tokens_per_update=7), TOKENS)
    assert sampler.usable.tolist() == [0, 1, 2, 3, 4, 5, 8]  # 9 pieces and EOS fit, 10 do not; nothing empty
    for epoch in range(4):
        for found in (sampler.micro_batches(epoch), [batch for update in sampler.updates(epoch) for batch in update]):
            assert sorted(pair for batch in found for pair in batch.tolist()) == sampler.usable.tolist()


def test_every_pair_of_a_large_part_once_an_epoch(captions):
    sampler = BatchSampler(captions, settings(pool_pairs=3000), TOKENS)
    found = np.concatenate([batch for update in sampler.updates(0) for batch in update])
    assert np.array_equal(np.sort(found), np.arange(20000))


def test_the_batch_budget_holds(captions):
    sampler = BatchSampler(captions, settings(tokens_per_batch=500), TOKENS)
    sizes = [longest(captions, batch) * len(batch) for batch in sampler.micro_batches(0)]
    assert max(sizes) <= 500
    assert np.mean(sizes) > 450


def test_a_sentence_beyond_the_batch_budget_goes_alone():
    part = samples.encoded([[5] * 9, [5], [5]], [[5] * 9, [5], [5]])
    sampler = BatchSampler(part, samples.training(tokens_per_batch=5, max_length=10), TOKENS)
    assert sorted(sorted(batch.tolist()) for batch in sampler.micro_batches(0)) == [[0], [1, 2]]


def test_updates_are_near_their_budget(captions):
    for budget, batch in ((1500, 2000), (1500, 500), (6000, 2000)):
        sampler = BatchSampler(captions, settings(tokens_per_update=budget, tokens_per_batch=batch), TOKENS)
        tokens = [sum(int(sampler.target[pairs].sum()) for pairs in update) for update in sampler.updates(0)]
        assert max(tokens) <= max(1.5 * budget, batch)
        assert min(tokens) >= 0.5 * budget
        if batch < budget:
            assert np.median(tokens) == pytest.approx(budget, rel=0.12)
            assert np.mean(tokens) == pytest.approx(budget, rel=0.1)


@pytest.mark.parametrize(
    ("budget", "sizes"), [(4, [1] * 5), (8, [2, 2, 1]), (9, [2, 3]), (12, [3, 2]), (16, [5]), (20, [5]), (100, [5])]
)
def test_what_is_left_joins_the_last_update_where_it_is_less_than_half(budget, sizes):
    """Five pairs of 4 target tokens: with a budget of 8 two and two, and the fifth is half an update, so it stands."""
    part = samples.encoded([[5, 5, 5]] * 5, [[5, 5, 5]] * 5)
    updates = BatchSampler(part, samples.training(tokens_per_batch=4, tokens_per_update=budget), TOKENS).updates(0)
    assert [len(update) for update in updates] == sizes
    assert sorted(pair for update in updates for batch in update for pair in batch.tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(10))
def test_every_pair_once_whatever_is_left_at_the_end(part, seed):
    for budget in (30, 45, 60):
        sampler = BatchSampler(part, samples.training(tokens_per_update=budget, seed=seed), TOKENS)
        found = np.concatenate([batch for update in sampler.updates(0) for batch in update])
        assert np.array_equal(np.sort(found), sampler.usable)


def test_padding_is_under_six_per_cent(captions):
    sampler = BatchSampler(captions, settings(pool_pairs=20000), TOKENS)
    real = computed = 0
    for pairs in sampler.micro_batches(0):
        real += int(sampler.source[pairs].sum() + sampler.target[pairs].sum())
        computed += len(pairs) * int(sampler.source[pairs].max() + sampler.target[pairs].max())
    assert 0 < 1 - real / computed < 0.06


def test_the_source_rises_and_falls_by_hand():
    source, target = np.array([2, 3, 1, 2, 2, 3, 1]), np.array([2, 1, 2, 1, 3, 3, 1])
    order = by_length(source, target)
    pairs = list(zip(target[order].tolist(), source[order].tolist(), strict=True))
    assert pairs == [(1, 3), (1, 2), (1, 1), (2, 1), (2, 2), (3, 3), (3, 2)]


def orders(sampler, epoch):
    return [batch.tolist() for batch in sampler.micro_batches(epoch)]


def test_the_order_is_a_function_of_seed_and_epoch(part):
    sampler = BatchSampler(part, samples.training(), TOKENS)
    second = orders(sampler, 1)
    for epoch in (5, 0, 3):
        orders(sampler, epoch)
    np.random.default_rng().random(5)
    assert orders(sampler, 1) == second == orders(BatchSampler(part, samples.training(), TOKENS), 1)
    assert orders(sampler, 0) != second
    assert orders(BatchSampler(part, samples.training(seed=2), TOKENS), 1) != second


def test_batches_are_not_in_order_of_length(captions):
    """Sorted inside a pool, but shuffled as they come: the lengths of neighbours have nothing to do with each other."""
    sampler = BatchSampler(captions, settings(), TOKENS)
    means = np.array([sampler.target[batch].mean() for batch in sampler.micro_batches(0)])
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.2


def by_sentences(size, pool_pairs):
    return SentenceBatches(kind="sentences", sentences_per_update=size, pool_pairs=pool_pairs)


@pytest.mark.parametrize(("size", "pool_pairs"), [(1, 1), (1, 12), (7, 14), (8, 8), (20, 60), (60, 60), (100, 300)])
@pytest.mark.parametrize("seed", range(3))
def test_sentences_every_usable_pair_once_and_so_many_an_update(part, seed, size, pool_pairs):
    sampler = BatchSampler(part, samples.training(max_length=12, seed=seed), by_sentences(size, pool_pairs))
    assert 8 < len(sampler.usable) < 60
    updates = sampler.updates(0)
    assert np.array_equal(np.sort(np.concatenate([batch for update in updates for batch in update])), sampler.usable)
    whole, rest = divmod(len(sampler.usable), size)
    sizes = sorted(sum(map(len, update)) for update in updates)
    assert sizes == ([rest] if rest else []) + [size] * whole


def test_sentences_eighty_an_update_of_like_length(captions):
    """1,600 pairs sorted and cut into 20: an update has a length or two, in micro-batches of the budget."""
    sampler = BatchSampler(captions, settings(tokens_per_batch=700), by_sentences(80, 1600))
    updates = sampler.updates(0)
    assert [sum(map(len, update)) for update in updates] == [80] * 250
    spread = [np.ptp(sampler.target[np.concatenate(update)]) for update in updates]
    assert np.median(spread) <= 1
    for update in updates:
        pairs = np.concatenate(update)
        lengths = zip(sampler.target[pairs].tolist(), sampler.source[pairs].tolist(), strict=True)
        keys = [(target, -source if target % 2 else source) for target, source in lengths]
        assert keys == sorted(keys)
        assert all(longest(captions, batch) * len(batch) <= 700 for batch in update)
        assert len(update) > 1
    roomy = BatchSampler(captions, settings(tokens_per_batch=80 * 61), by_sentences(80, 1600))
    assert {len(update) for update in roomy.updates(0)} == {1}


def test_sentences_come_in_pools_of_their_own(captions):
    """The pools are the batches', not the corpus's: with one pool of all pairs, an update has one length or two."""
    sampler = BatchSampler(captions, settings(pool_pairs=100, tokens_per_batch=5000), by_sentences(80, 20000))
    assert np.mean([np.ptp(sampler.target[batch]) for [batch] in sampler.updates(0)]) < 0.5


def test_sentences_are_not_in_order_of_length(captions):
    sampler = BatchSampler(captions, settings(tokens_per_batch=5000), by_sentences(80, 1600))
    means = np.array([sampler.target[batch].mean() for [batch] in sampler.updates(0)])
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.25


def test_sentences_order_is_a_function_of_seed_and_epoch(part):
    def order(epoch, seed=1):
        sampler = BatchSampler(part, samples.training(seed=seed), by_sentences(5, 15))
        sampler.updates(7)
        return [[batch.tolist() for batch in update] for update in sampler.updates(epoch)]

    assert order(1) == order(1)
    assert order(0) != order(1) != order(1, seed=2)


def test_sentences_from_a_position_are_the_tail_of_all(part):
    batches = by_sentences(7, 21)
    whole = flat(load_batches(BatchSampler(part, samples.training(), batches), part, START, 30))
    assert {position.epoch for position, _ in whole} >= {0, 1, 2}
    for done in (0, 1, 8, 9, 29):
        assert (
            flat(load_batches(BatchSampler(part, samples.training(), batches), part, whole[done][0], 30))
            == whole[done:]
        )


def flat(found):
    return [(update.position, [batch.pairs.tolist() for batch in update.micro_batches.values()]) for update in found]


def test_updates_from_a_position_are_the_tail_of_all(part):
    sampler = BatchSampler(part, samples.training(), TOKENS)
    whole = flat(load_batches(sampler, part, START, 40))
    assert [position.update for position, _ in whole] == list(range(1, 41))
    assert {position.epoch for position, _ in whole} >= {0, 1, 2}
    for done in (0, 1, 7, 20, 39):
        assert (
            flat(load_batches(BatchSampler(part, samples.training(), TOKENS), part, whole[done][0], 40)) == whole[done:]
        )
    for (position, _), (after, _) in itertools.pairwise(whole):  # where a record says the next one is
        following = Position(position.update + 1, position.epoch, position.offset + 1)
        assert next(flat([one])[0] for one in load_batches(sampler, part, following, 40))[0] == after
    assert flat(load_batches(sampler, part, Position(41, 3, 2), 40)) == []


def test_updates_hold_the_plans_pairs(part):
    sampler = BatchSampler(part, samples.training(), TOKENS)
    expected = [[batch.tolist() for batch in update] for epoch in (0, 1) for update in sampler.updates(epoch)]
    assert [pairs for _, pairs in flat(load_batches(sampler, part, START, len(expected)))] == expected


def test_counts_by_hand():
    """Sources of 4, 2 and 2 positions, targets of 2, 2 and 3, EOS included; pairs 2 and 0 make one micro-batch."""
    part = samples.encoded([[5, 6, 7], [8], [9]], [[10], [4], [11, 12]])
    sampler = BatchSampler(part, samples.training(), TOKENS)
    assert sampler.counts([np.array([2, 0])]) == (5, 5 + 6, 2 * 3 + 2 * 4)
    assert sampler.counts([np.array([2, 0]), np.array([1])]) == (7, 5 + 6 + 4, 2 * 3 + 2 * 4 + 4)


def test_counts_are_those_of_the_padded_batches(part):
    sampler = BatchSampler(part, samples.training(), TOKENS)
    for update in load_batches(sampler, part, START, 9):
        batches = update.micro_batches.values()
        sides = [side for batch in batches for side in (batch.source, batch.target_output)]
        assert update.tokens == sum(int((batch.target_output != ids.PAD).sum()) for batch in batches)
        assert update.num_real_positions == sum(int((side != ids.PAD).sum()) for side in sides)
        assert update.num_positions == sum(side.numel() for side in sides)


@pytest.mark.parametrize("size", [2, 3, 9])
def test_shares_are_the_whole(part, size):
    """However many take a share of each update, together they have its micro-batches, by the same numbers."""
    sampler = BatchSampler(part, samples.training(), TOKENS)
    shares = [list(load_batches(sampler, part, START, 12, slice(rank, None, size))) for rank in range(size)]
    for whole, *others in zip(load_batches(sampler, part, START, 12), *shares, strict=True):
        found = sorted(
            (number, batch.pairs.tolist()) for other in others for number, batch in other.micro_batches.items()
        )
        assert found == [(number, batch.pairs.tolist()) for number, batch in whole.micro_batches.items()]
        assert all((other.position, *other[2:]) == (whole.position, *whole[2:]) for other in others)


def test_in_order_is_sorted_and_whole(part):
    found = sorted_batches(part, 40)
    pairs = np.concatenate(found)
    assert sorted(pairs.tolist()) == list(range(60))
    lengths = [part.target.lengths[pair] for pair in pairs]
    assert lengths == sorted(lengths)
    assert all(len(batch) * longest(part, batch) <= 40 or len(batch) == 1 for batch in found)
    assert sorted(np.concatenate(sorted_batches(part, 40, first=7)).tolist()) == list(range(7))
    assert sorted_batches(part, 40, first=0) == []


def test_in_order_keeps_empty_sentences():
    part = samples.encoded([[], [5]], [[5], []])
    assert sorted(np.concatenate(sorted_batches(part, 40)).tolist()) == [0, 1]


def test_a_filled_batch_by_hand():
    part = samples.encoded([[5, 6, 7], [8]], [[10], [11, 12]])
    batch = collate(part, np.array([1, 0]))
    same = collate(part, np.array([1, 0]), Shape(2, 4, 3))
    assert all(torch.equal(one, other) for one, other in zip(batch[:4], same[:4], strict=True))
    larger = collate(part, np.array([1, 0]), Shape(3, 5, 4))
    assert larger.source.tolist() == [[8, ids.EOS, 0, 0, 0], [5, 6, 7, ids.EOS, 0], [ids.EOS, 0, 0, 0, 0]]
    assert larger.target_input.tolist() == [[ids.BOS, 11, 12, 0], [ids.BOS, 10, 0, 0], [ids.BOS, 0, 0, 0]]
    assert larger.target_output.tolist() == [[11, 12, ids.EOS, 0], [10, ids.EOS, 0, 0], [0, 0, 0, 0]]
    assert larger.non_padding.tolist() == np.flatnonzero(larger.target_output).tolist() == [0, 1, 2, 4, 5]
    assert larger.pairs.tolist() == [1, 0]


def test_buckets_hold_the_same_micro_batches_in_few_shapes():
    lines = samples.sentences(3000, seed=1, longest=60)
    targets = [line[: 1 + len(line) * 3 // 4] for line in lines]
    part, training = samples.encoded(lines, targets), samples.training(tokens_per_batch=900, max_length=61)

    def loaded(*, bucketed):
        updates = list(load_batches(BatchSampler(part, training, TOKENS, bucketed=bucketed), part, START, 200))
        batches = [batch for update in updates for batch in update.micro_batches.values()]
        computed = sum(batch.source.numel() + batch.target_input.numel() for batch in batches)
        assert computed == sum(update.num_positions for update in updates)
        shapes = [Shape(*batch.source.shape, batch.target_input.shape[1]) for batch in batches]
        tokens = [batch.target_output.flatten()[batch.non_padding].tolist() for batch in batches]
        return shapes, [batch.pairs.tolist() for batch in batches], tokens

    (plain, *content), (few, *same_content) = (loaded(bucketed=bucketed) for bucketed in (False, True))
    assert content == same_content
    assert few == [bucket(shape) for shape in plain]
    assert len(set(few)) < 0.7 * len(set(plain))
    assert 900 < max(shape.sentences * max(shape.source, shape.target) for shape in few) < 900 * (9 / 8) ** 2


def test_collate_by_hand():
    part = samples.encoded([[5, 6, 7], [8], [9]], [[10], [], [11, 12]])
    batch = collate(part, np.array([2, 0]))
    assert batch.source.tolist() == [[9, ids.EOS, ids.PAD, ids.PAD], [5, 6, 7, ids.EOS]]
    assert batch.target_input.tolist() == [[ids.BOS, 11, 12], [ids.BOS, 10, ids.PAD]]
    assert batch.target_output.tolist() == [[11, 12, ids.EOS], [10, ids.EOS, ids.PAD]]
    assert batch.non_padding.tolist() == [0, 1, 2, 3, 4]
    assert collate(part, np.array([0, 2])).non_padding.tolist() == [0, 1, 3, 4, 5]
    assert batch.pairs.tolist() == [2, 0]
    assert {side.dtype for side in batch[:3]} == {torch.int64}
    assert collate(part, np.array([1])).target_output.tolist() == [[ids.EOS]]


def test_a_batch_moves_as_a_whole():
    moved = collate(samples.encoded([[5]], [[6]]), np.array([0])).to(torch.device("meta"))
    assert isinstance(moved, Batch)
    assert {tensor.device.type for tensor in moved[:4]} == {"meta"}
    assert moved.pairs.tolist() == [0]


@pytest.mark.gpu
def test_a_pinned_batch_arrives_whole():
    batch = collate(samples.encoded([[5, 6], [7]], [[6], [8, 9]]), np.array([0, 1]))
    pinned = batch.pinned()
    moved = pinned.to(torch.device("cuda"))
    assert all(tensor.is_pinned() for tensor in pinned[:4])
    assert all(torch.equal(there.cpu(), here) for there, here in zip(moved[:4], batch[:4], strict=True))
    assert pinned.pairs is moved.pairs is batch.pairs


def test_a_part_without_a_usable_pair_is_refused():
    expected = (
        "no training pair has 1 to 3 pieces on both sides, got 3 pairs; expected a larger max_length or other data"
    )
    part = samples.encoded([[5] * 4, [], [5]], [[5], [5], []])
    with pytest.raises(DataError, match=f"^{re.escape(expected)}$"):
        BatchSampler(part, samples.training(max_length=4), TOKENS)
