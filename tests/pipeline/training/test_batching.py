"""Every usable pair once an epoch, within the budgets, in an order that depends on (seed, epoch) alone."""

import itertools
import re

import numpy as np
import pytest
import torch

from pipeline.common.files import DataError
from pipeline.common.parts import Shard
from pipeline.compute import ids
from pipeline.compute.padding import Shape, bucket, cuts, pad, round_up
from pipeline.encoding.shards import Encoded, Ragged, pack
from pipeline.training import sampler as sampler_module
from pipeline.training.batching import START, collate, load_batches, sorted_batches
from pipeline.training.budget import SentenceBatches, TokenBatches
from pipeline.training.sampler import BatchSampler
from tests.toys import samples

TOKENS = TokenBatches(kind="tokens")
LINES = samples.sentences(60, seed=1, longest=15), samples.sentences(60, seed=2, longest=15)


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
    return samples.encoded(*LINES)


def sampler(encoded, batches=TOKENS, *, seed=1, bucketed=False, mixture={}, **training):  # noqa: B006
    return BatchSampler(encoded, samples.training(**training), batches, mixture, seed=seed, bucketed=bucketed)


def large(encoded, batches=TOKENS, **training):
    """A sampler of a large part."""
    sizes = {"tokens_per_update": 1500, "tokens_per_batch": 2000, "max_length": 61}
    return sampler(encoded, batches, **sizes | training)


def sentences(size, pool_pairs):
    return SentenceBatches(kind="sentences", sentences_per_update=size, pool_pairs=pool_pairs)


def pairs_of(updates):
    return [[batch.tolist() for batch in update] for update in updates]


def flat(updates):
    return sorted(pair for update in updates for batch in update for pair in batch.tolist())


def longest(encoded, pairs):
    return int(max(encoded.source.lengths[pairs].max(), encoded.target.lengths[pairs].max())) + 1


@pytest.mark.parametrize("batches", [TOKENS, sentences(1, 12), sentences(7, 14), sentences(20, 60), sentences(60, 60)])
def test_every_usable_pair_once_an_epoch(part, batches):
    for seed, epoch in ((1, 0), (1, 3), (2, 0)):
        all_of_it = sampler(part, batches, seed=seed, max_length=12)
        assert 8 < len(all_of_it.block(epoch, 0)) < 60
        assert flat(all_of_it.updates(epoch)) == all_of_it.block(epoch, 0).tolist()


def test_what_is_usable():
    """9 pieces and EOS fit into 10, 10 do not; nothing empty."""
    source = [[5], [5, 6], [], [5] * 9, [5] * 10, [7]]
    target = [[5], [], [5], [5], [5], [5] * 10]
    assert sampler(samples.encoded(source, target), max_length=10).block(0, 0).tolist() == [0, 3]


def test_the_budgets_hold(captions):
    """Of a micro-batch to the position, of an update nearly."""
    for budget, batch in ((1500, 2000), (1500, 500), (6000, 2000)):
        chosen = large(captions, tokens_per_update=budget, tokens_per_batch=batch)
        updates = chosen.updates(0)
        sizes = [longest(captions, pairs) * len(pairs) for update in updates for pairs in update]
        assert 0.9 * batch < np.mean(sizes) <= max(sizes) <= batch
        tokens = [sum(int(chosen.target[pairs].sum()) for pairs in update) for update in updates]
        assert 0.5 * budget <= min(tokens) <= max(tokens) <= max(1.5 * budget, batch)


def test_a_sentence_beyond_the_budget_goes_alone():
    part = samples.encoded([[5] * 9, [5], [5]], [[5] * 9, [5], [5]])
    [batches] = sampler(part, tokens_per_batch=5, max_length=10).updates(0)
    assert sorted(sorted(batch.tolist()) for batch in batches) == [[0], [1, 2]]


@pytest.mark.parametrize(("budget", "sizes"), [(4, [1] * 5), (8, [2, 2, 1]), (9, [2, 3]), (12, [3, 2]), (20, [5])])
def test_a_rest_of_less_than_half_an_update_joins_the_last(budget, sizes):
    """Five pairs of 4 target tokens: with a budget of 8 two and two, and the fifth is half an update, so it stands."""
    part = samples.encoded([[5, 5, 5]] * 5, [[5, 5, 5]] * 5)
    updates = sampler(part, tokens_per_batch=4, tokens_per_update=budget).updates(0)
    assert [len(update) for update in updates] == sizes


def test_padding_is_under_six_per_cent(captions):
    chosen = large(captions, pool_pairs=20000)
    _, real, computed = chosen.counts([batch for update in chosen.updates(0) for batch in update])
    assert 0 < 1 - real / computed < 0.06


@pytest.mark.parametrize("batches", [TOKENS, sentences(5, 15)])
def test_the_order_is_a_function_of_seed_and_epoch(part, batches):
    chosen = sampler(part, batches)
    second = pairs_of(chosen.updates(1))
    chosen.updates(5)
    assert pairs_of(chosen.updates(1)) == second == pairs_of(sampler(part, batches).updates(1))
    assert pairs_of(chosen.updates(0)) != second != pairs_of(sampler(part, batches, seed=2).updates(1))


@pytest.mark.parametrize("batches", [TOKENS, sentences(80, 1600)])
def test_updates_are_not_in_order_of_length(captions, batches):
    """Sorted inside a pool, then shuffled: the lengths of neighbours have nothing to do with each other."""
    chosen = large(captions, batches)
    means = np.array([chosen.target[np.concatenate(update)].mean() for update in chosen.updates(0)])
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.25


def test_eighty_sentences_an_update_are_of_like_length(captions):
    """1,600 pairs sorted and cut into 20: an update has a length or two, in micro-batches of the budget."""
    chosen = large(captions, sentences(80, 1600), tokens_per_batch=700)
    updates = chosen.updates(0)
    assert [sum(map(len, update)) for update in updates] == [80] * 250
    assert np.median([np.ptp(chosen.target[np.concatenate(update)]) for update in updates]) <= 1
    assert all(longest(captions, batch) * len(batch) <= 700 for update in updates for batch in update)


def bitexts(**counts):
    """Bitexts of sentences that begin with their number, in shards of 30."""
    rows, shards = [], []
    for name, count in counts.items():
        sizes = [min(30, count), count - 30] if count > 30 else [count]
        shards += [Shard(name, number, size) for number, size in enumerate(sizes)]
        rows += samples.sentences(count, seed=len(rows), longest=15)
    rows = [[number, *row] for number, row in enumerate(rows, 20)]
    return Encoded(pack(rows, 999), pack(rows, 999), tuple(shards))


def texts(part, updates):
    return [[[part.source[int(pair)].tolist()[1:] for pair in batch] for batch in update] for update in updates]


@pytest.mark.parametrize("block_pairs", [1000, 7])
def test_a_pair_is_taken_as_often_as_its_bitext_weighs(monkeypatch, block_pairs):
    """0.5: another half each pass; 2.5: two or three times; a bitext without a weight once, as all are without any."""
    monkeypatch.setattr(sampler_module, "BLOCK_PAIRS", block_pairs)
    chosen = sampler(bitexts(own=40, web=50, back=20), mixture={"own": 2.5, "web": 0.5}, seed=3)
    assert chosen.num_blocks == (1 if block_pairs == 1000 else 21)
    counts = np.zeros((8, 110), dtype=int)
    for epoch in range(8):
        for block in range(chosen.num_blocks):
            np.add.at(counts[epoch], flat(chosen.updates(epoch, block)), 1)
    own, web, back = counts[:, :40], counts[:, 40:90], counts[:, 90:]
    assert {*own.ravel()} == {2, 3}
    assert (own[::2] + own[1::2] == 5).all()
    assert (web[::2] + web[1::2] == 1).all()
    assert all(15 < count < 35 for count in web.sum(axis=1))
    assert (back == 1).all()
    tokens = [2.5 * chosen.target[:40].sum(), 0.5 * chosen.target[40:90].sum(), chosen.target[90:].sum()]
    passes = 100 * 40 / sum(tokens)  # updates of 40 tokens
    assert chosen.portions(100)["web"] == pytest.approx((50, 0.5, tokens[1] / sum(tokens), 0.5 * passes))


def test_a_weight_of_two_is_the_text_twice():
    """Batch by batch, where a pass is one block."""
    twice = sampler(once := bitexts(own=40, web=20), mixture={"own": 2.0})
    rows = [once.source[pair].tolist() for pair in [*range(40), *range(60)]]
    shards = (*once.shards[:2], *(shard._replace(bitext="again") for shard in once.shards[:2]), once.shards[2])
    listed = Encoded(pack(rows, 999), pack(rows, 999), shards)
    for epoch in (0, 1):
        assert texts(once, twice.updates(epoch)) == texts(listed, sampler(listed).updates(epoch))


def test_blocks_are_samples_of_all_bitexts(monkeypatch):
    monkeypatch.setattr(sampler_module, "BLOCK_PAIRS", 20)
    chosen = sampler(bitexts(own=40, web=60), mixture={"own": 2.0})
    for epoch in (0, 1):
        blocks = [chosen.block(epoch, block) for block in range(chosen.num_blocks)]
        assert all(18 <= len(block) <= 22 for block in blocks)
        assert all(9 <= (block < 40).sum() <= 14 for block in blocks)
    assert chosen.block(0, 0).tolist() != chosen.block(1, 0).tolist()


def loaded(updates):
    return [(update.position, [batch.pairs.tolist() for batch in update.micro_batches.values()]) for update in updates]


@pytest.mark.parametrize("batches", [TOKENS, sentences(7, 21)])
@pytest.mark.parametrize("block_pairs", [1000, 25])
def test_updates_from_a_position_are_the_tail_of_all(part, batches, block_pairs, monkeypatch):
    monkeypatch.setattr(sampler_module, "BLOCK_PAIRS", block_pairs)
    whole = loaded(load_batches(sampler(part, batches), part, START, 40))
    planned = [
        pairs
        for epoch, block in itertools.product(range(9), range(1 if block_pairs == 1000 else 3))
        for pairs in pairs_of(sampler(part, batches).updates(epoch, block))
    ]
    assert [pairs for _, pairs in whole] == planned[:40]
    assert [position.update for position, _ in whole] == list(range(1, 41))
    assert {position.epoch for position, _ in whole} >= {0, 1, 2}
    for done in (1, 8, 39):
        assert loaded(load_batches(sampler(part, batches), part, whole[done][0], 40)) == whole[done:]
    for (position, _), (after, _) in itertools.pairwise(whole):  # where a state says the next one is
        following = position._replace(update=position.update + 1, offset=position.offset + 1)
        assert next(load_batches(sampler(part, batches), part, following, 40)).position == after


def test_counts_are_those_of_the_padded_batches(part):
    for update in load_batches(sampler(part), part, START, 9):
        batches = update.micro_batches.values()
        sides = [side for batch in batches for side in (batch.source, batch.target_output)]
        assert update.tokens == sum(int((batch.target_output != ids.PAD).sum()) for batch in batches)
        assert update.num_real_positions == sum(int((side != ids.PAD).sum()) for side in sides)
        assert update.num_positions == sum(side.numel() for side in sides)


@pytest.mark.parametrize("size", [2, 3, 9])
def test_shards_are_the_whole(part, size):
    """However many ranks take a shard of each update, together they have its micro-batches, by the same numbers."""
    shards = [list(load_batches(sampler(part), part, START, 12, slice(rank, None, size))) for rank in range(size)]
    for whole, *others in zip(load_batches(sampler(part), part, START, 12), *shards, strict=True):
        numbered = [(index, batch.pairs.tolist()) for other in others for index, batch in other.micro_batches.items()]
        assert sorted(numbered) == [(index, batch.pairs.tolist()) for index, batch in whole.micro_batches.items()]
        assert all((other.position, *other[2:]) == (whole.position, *whole[2:]) for other in others)


def test_batches_for_validation_are_sorted_and_whole(part):
    batches = sorted_batches(part, 40)
    pairs = np.concatenate(batches)
    assert sorted(pairs.tolist()) == list(range(60))
    assert (np.diff(part.target.lengths[pairs]) >= 0).all()
    assert all(len(batch) * longest(part, batch) <= 40 or len(batch) == 1 for batch in batches)
    assert sorted(np.concatenate(sorted_batches(part, 40, first=7)).tolist()) == list(range(7))
    assert sorted_batches(part, 40, first=0) == []


def test_collate_by_hand():
    part = samples.encoded([[5, 6, 7], [8], [9]], [[10], [], [11, 12]])
    batch = collate(part, np.array([2, 0]))
    assert batch.source.tolist() == [[9, ids.EOS, ids.PAD, ids.PAD], [5, 6, 7, ids.EOS]]
    assert batch.target_input.tolist() == [[ids.BOS, 11, 12], [ids.BOS, 10, ids.PAD]]
    assert batch.target_output.tolist() == [[11, 12, ids.EOS], [10, ids.EOS, ids.PAD]]
    assert batch.non_padding.tolist() == [0, 1, 2, 3, 4]
    assert batch.pairs.tolist() == [2, 0]
    assert {side.dtype for side in batch[:3]} == {torch.int64}
    larger = collate(part, np.array([2, 0]), Shape(3, 5, 4))
    assert larger.source.tolist() == [[9, ids.EOS, 0, 0, 0], [5, 6, 7, ids.EOS, 0], [ids.EOS, 0, 0, 0, 0]]
    assert larger.target_input.tolist() == [[ids.BOS, 11, 12, 0], [ids.BOS, 10, 0, 0], [ids.BOS, 0, 0, 0]]
    assert larger.target_output.tolist() == [[11, 12, ids.EOS, 0], [10, ids.EOS, 0, 0], [0, 0, 0, 0]]
    assert larger.non_padding.tolist() == [0, 1, 2, 4, 5]


def test_buckets_hold_the_same_micro_batches_in_few_shapes():
    lines = samples.sentences(3000, seed=1, longest=60)
    part = samples.encoded(lines, [line[: 1 + len(line) * 3 // 4] for line in lines])

    def shapes_and_content(*, bucketed):
        chosen = sampler(part, tokens_per_batch=900, max_length=61, bucketed=bucketed)
        updates = list(load_batches(chosen, part, START, 200))
        batches = [batch for update in updates for batch in update.micro_batches.values()]
        shapes = [Shape(*batch.source.shape, batch.target_input.shape[1]) for batch in batches]
        assert sum(a * (b + c) for a, b, c in shapes) == sum(update.num_positions for update in updates)
        return shapes, [batch.target_output.flatten()[batch.non_padding].tolist() for batch in batches]

    (plain, content), (few, same_content) = (shapes_and_content(bucketed=bucketed) for bucketed in (False, True))
    assert content == same_content
    assert few == [bucket(shape) for shape in plain]
    assert len(set(few)) < 0.7 * len(set(plain))
    assert 900 < max(shape.sentences * max(shape.source, shape.target) for shape in few) < 900 * (9 / 8) ** 2


def test_few_numbers_are_kept_and_each_adds_less_than_an_eighth():
    assert [round_up(number) for number in (1, 15, 16, 17, 19, 32, 33, 37, 64, 65, 129)] == [
        *(1, 15, 16, 18, 20, 32, 36, 40, 64, 72, 144)
    ]
    assert len({round_up(number) for number in range(1, 4097)}) == 16 + 8 * 8
    assert all(0 <= round_up(number) - number < number / 8 for number in range(1, 4097))


def test_cuts_by_hand():
    assert list(cuts([2, 2, 2, 2], 4)) == [(0, 2), (2, 4)]
    assert list(cuts([1, 2, 3, 3], 6)) == [(0, 2), (2, 4)]  # 3 sentences of 3 would be 9
    assert list(cuts([3, 1, 1], 6)) == [(0, 2), (2, 3)]  # the longest counts wherever it stands
    assert list(cuts([9, 9], 6)) == [(0, 1), (1, 2)]
    assert list(cuts([], 6)) == []


def test_pad_has_room_for_every_id():
    padded = pad([np.array([2**32 - 1], dtype=np.uint32)], before=(8,))
    assert (padded.dtype, padded.tolist()) == (torch.int64, [[8, 2**32 - 1]])


@pytest.mark.gpu
def test_a_pinned_batch_arrives_whole():
    batch = collate(samples.encoded([[5, 6], [7]], [[6], [8, 9]]), np.array([0, 1]))
    pinned = batch.pinned()
    moved = pinned.to(torch.device("cuda"))
    assert all(tensor.is_pinned() for tensor in pinned[:4])
    assert all(torch.equal(there.cpu(), here) for there, here in zip(moved[:4], batch[:4], strict=True))


def test_a_part_without_a_usable_pair_is_refused():
    expected = "no training pair has 1 to 3 pieces on both sides, got 3 pairs; expected a larger max_length or other"
    with pytest.raises(DataError, match=f"^{re.escape(expected)}"):
        sampler(samples.encoded([[5] * 4, [], [5]], [[5], [5], []]), max_length=4)
