"""Batches of the training part, padded, and loaded ahead of the loop."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..compute import ids
from ..compute.padding import Shape, cuts, pad
from ..encoding.shards import Encoded
from .sampler import BatchSampler, Indices, by_length

AHEAD = 2  # global batches loaded in advance


class Batch(NamedTuple):
    """A micro-batch: the pairs that go through the model together, padded with PAD."""

    source: Tensor  # (B, S) int64, EOS at each row's end
    target_input: Tensor  # (B, T) int64, begins with BOS
    target_output: Tensor  # (B, T) int64, EOS at each row's end
    non_padding: Tensor  # (N,) int64, positions of pieces in the flattened target_output; on a GPU it would sync
    pairs: Indices  # indices of these pairs in their part

    def to(self, device: torch.device) -> "Batch":
        """A copy on `device`; from pinned memory the copying is asynchronous."""
        return Batch._make((*(tensor.to(device, non_blocking=True) for tensor in self[:4]), self.pairs))

    def pinned(self) -> "Batch":
        """A copy in pinned memory, from which a GPU reads without the CPU."""
        return Batch._make((*map(Tensor.pin_memory, self[:4]), self.pairs))

    def twice(self) -> "Batch":
        """The batch and a copy of it behind: (2 B, S) and so on; `pairs` are those of one copy."""
        non_padding = torch.cat((self.non_padding, self.non_padding + self.target_output.numel()))
        return Batch._make((*(torch.cat((side, side)) for side in self[:3]), non_padding, self.pairs))


class Position(NamedTuple):
    """The place of an update in the data: number `update` (from 1), at `offset` (from 0) of a block of an epoch."""

    update: int
    epoch: int
    block: int
    offset: int


START = Position(update=1, epoch=0, block=0, offset=0)


class GlobalBatch(NamedTuple):
    """All pairs of one update, over all ranks: this rank's shard of the micro-batches, and counts of the whole."""

    position: Position
    micro_batches: dict[int, Batch]  # this rank's, by number (from 0) in the update
    tokens: int  # target tokens, EOS included, no padding
    num_real_positions: int  # source and target positions that hold a piece
    num_positions: int  # all source and target positions, padding included


def load_batches(
    sampler: BatchSampler, encoded: Encoded, start: Position, last_update: int, shard: slice = slice(None)
) -> Iterator[GlobalBatch]:
    """One global batch per update, from `start` to update number `last_update`, with the micro-batches in `shard`."""
    update, epoch, block, offset = start
    while update <= last_update:
        for pairs in sampler.updates(epoch, block)[offset:]:
            if update > last_update:
                return
            numbers = range(len(pairs))[shard]
            micro_batches = {index: collate(encoded, pairs[index], sampler.shape(pairs[index])) for index in numbers}
            yield GlobalBatch(Position(update, epoch, block, offset), micro_batches, *sampler.counts(pairs))
            update, offset = update + 1, offset + 1
        epoch, block, offset = epoch + (block + 1) // sampler.num_blocks, (block + 1) % sampler.num_blocks, 0


def prefetch(batches: Iterable[GlobalBatch], *, pinned: bool) -> Iterator[GlobalBatch]:
    """The batches, loaded by a thread `AHEAD` of the caller; for a GPU in `pinned` memory.

    An error in the thread is raised here, in place of the batch.
    """
    source = iter(batches)

    def load() -> GlobalBatch | None:
        batch = next(source, None)
        if batch is None or not pinned:
            return batch
        return batch._replace(micro_batches={index: micro.pinned() for index, micro in batch.micro_batches.items()})

    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prefetch")
    try:
        waiting = deque(thread.submit(load) for _ in range(AHEAD))
        while (batch := waiting.popleft().result()) is not None:
            waiting.append(thread.submit(load))
            yield batch
    finally:
        thread.shutdown(cancel_futures=True)


def sorted_batches(encoded: Encoded, tokens_per_batch: int, *, first: int | None = None) -> list[Indices]:
    """The pairs of a part, or its `first` ones, in length-sorted micro-batches without shuffling: for validation."""
    source, target = encoded.source.lengths[:first], encoded.target.lengths[:first]
    order = by_length(source, target)
    return [order[a:b] for a, b in cuts((np.maximum(source, target)[order] + 1).tolist(), tokens_per_batch)]


def collate(encoded: Encoded, pairs: Indices, shape: Shape | None = None) -> Batch:
    """Pad the pairs with these indices into one micro-batch.

    A larger shape has empty sentences behind them: EOS alone, and BOS in front of nothing that counts.
    """
    source, target = ([side[int(pair)] for pair in pairs] for side in (encoded.source, encoded.target))
    sentences, source_length, target_length = shape or (len(pairs), 0, 0)
    added = [np.empty(0, dtype=np.int64)] * (sentences - len(pairs))
    padded_source = pad([*source, *added], after=(ids.EOS,), length=source_length)
    target_input = pad([*target, *added], before=(ids.BOS,), length=target_length)
    target_output = pad(target, after=(ids.EOS,), length=target_length, rows=sentences)
    non_padding = torch.from_numpy(np.flatnonzero(target_output.numpy() != ids.PAD))  # numpy: starts no torch threads
    return Batch(padded_source, target_input, target_output, non_padding, pairs)
