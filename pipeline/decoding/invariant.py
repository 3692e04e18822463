"""Beam search whose result for a source is the same, to the bit, whatever else is searched with it.

The batches of `translate.py` mix lengths, and sums over padding round otherwise: scores move by 1e-6, and of two
translations that are worth the same another may win. Here every source is padded to a multiple of `MULTIPLE`
positions, and only those that are then equally long share a batch, so how far a source is padded depends on itself
alone. Every batch has one thread, and the sums of a product for a row do not depend on the other rows: oneDNN's
prepacked products are such (`kernels/prepacked.py`), and recurrent models get them from `products.py`. Attention has
one product for each sentence.

A GPU chooses its kernels by the number of rows. There every batch of one length is filled up to the same number of
sources by empty ones, and all keep their rows to the end. So each step has the same kernels, which do the same in each
row. Searches with a memory, random and diverse translations have each source alone.
"""

import math
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Self, TypeVar

import numpy as np
import torch
from torch import nn

from pipeline import ids
from pipeline.decoding import constrained, diverse, sampling
from pipeline.decoding.products import RowwiseProducts
from pipeline.decoding.search import Hypothesis
from pipeline.decoding.settings import Decoding
from pipeline.decoding.side_by_side import share_weights
from pipeline.decoding.translate import n_best_batch, penalised
from pipeline.encoding.padding import pad
from pipeline.models.interface import Model, prepacking

R = TypeVar("R")
T = TypeVar("T")

MULTIPLE = 16  # positions: more padding, but larger batches, than with 8
# Of a batch of several sources on a GPU, at most. A whole one took an H200 0.95 to 1.5 times as long as one source.
GPU_SOURCES, GPU_POSITIONS, GPU_HYPOTHESES = 64, 2048, 512


class InvariantSearch:
    """Searches with one network, whose weights may not change any more, in so many threads."""

    def __init__(
        self, model: Model, decoding: Decoding, device: torch.device, *, unknown: bool, threads: int = 1
    ) -> None:
        self.decoding, self.device, self.unknown = decoding, device, unknown
        self.threads = threads if device.type == "cpu" else 1
        self.on_gpu = device.type != "cpu"
        self.has_others = not self.on_gpu and has_other_products(model)
        self.networks: queue.SimpleQueue[Model] = queue.SimpleQueue()
        for _ in range(self.threads):
            self.networks.put(share_weights(model))
        self.local = threading.local()
        self.torch_threads = torch.get_num_threads()
        self.pool = ThreadPoolExecutor(self.threads, "search", self.set_up)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown(cancel_futures=True)
        torch.set_num_threads(self.torch_threads)  # of threads that start later

    def set_up(self) -> None:
        """Give the thread that starts its network, and to each product one thread: more may sum in another order."""
        if self.device.type == "cpu":
            torch.set_num_threads(1)
        self.local.model = self.networks.get()
        self.local.prepacking = prepacking(self.local.model)
        self.local.prepacking.__enter__()  # for as long as the thread lives: each matrix is rearranged once
        self.local.products = RowwiseProducts() if self.has_others else nullcontext()

    def computed(self, function: Callable[[T], R], given: T) -> R:
        """What `function` gives, with this thread's products.

        A thread that ended with the mode still entered would have to release a Python object after its last Python
        instruction; while the program ends, too, that aborts it.
        """
        with self.local.products:
            return function(given)

    def search(self, sources: Sequence[Sequence[int]], number: int) -> list[list[Hypothesis]]:
        """The `number` best translations of each source, the best first; an empty one for an empty source."""

        def search_batch(batch: list[int]) -> list[list[Hypothesis]]:
            given = [sources[index] for index in batch]
            return n_best_batch(
                self.local.model,
                given,
                self.decoding,
                self.device,
                number,
                unknown=self.unknown,
                multiple=MULTIPLE,
                fixed_size=self.gpu_size(padded(len(given[0]))) if self.on_gpu else None,
            )

        found = self.by_batch(search_batch, [len(source) for source in sources], together=True)
        return [found.get(index, [Hypothesis([], 0.0)]) for index in range(len(sources))]

    def sample(
        self, sources: Sequence[Sequence[int]], uniform: Sequence[np.ndarray], temperature: float
    ) -> list[Hypothesis]:
        """A random translation of each source by its own numbers, with its score; an empty one for an empty source.

        See `sampling.decode`.
        """

        def sample_batch(batch: list[int]) -> list[Hypothesis]:
            source = pad([sources[index] for index in batch], after=(ids.EOS,), multiple=MULTIPLE).to(self.device)
            drawn = sampling.decode(
                self.local.model,
                source,
                [uniform[index] for index in batch],
                temperature=temperature,
                unknown=self.unknown,
            )
            limits = [len(uniform[index]) for index in batch]
            return [
                penalised(one, limit, self.decoding.length_penalty) for one, limit in zip(drawn, limits, strict=True)
            ]

        found = self.by_batch(sample_batch, [len(source) for source in sources])
        return [found.get(index, Hypothesis([], 0.0)) for index in range(len(sources))]

    def diverse(self, sources: Sequence[Sequence[int]], number: int, strength: float) -> list[list[Hypothesis]]:
        """`number` diverse translations of each source with their scores, the best first; see `diverse.decode`."""

        def diverse_batch(batch: list[int]) -> list[list[Hypothesis]]:
            given = [sources[index] for index in batch]
            source = pad(given, after=(ids.EOS,), multiple=MULTIPLE).to(self.device)
            limits, alpha = [self.decoding.max_length(len(one)) for one in given], self.decoding.length_penalty
            found = diverse.decode(
                self.local.model, source, limits, number=number, strength=strength, unknown=self.unknown
            )
            for every, limit in zip(found, limits, strict=True):
                every[:] = sorted((penalised(one, limit, alpha) for one in every), key=lambda one: -one.score)
            return found

        found = self.by_batch(diverse_batch, [len(source) for source in sources], rows=number)
        return [found.get(index, [Hypothesis([], 0.0)] * number) for index in range(len(sources))]

    def by_batch(
        self, function: Callable[[list[int]], list[R]], lengths: Sequence[int], *, rows: int = 1, together: bool = False
    ) -> dict[int, R]:
        """What `function` gives for the sources of each batch, by the index of the source; the threads share them.

        It computes so many `rows` of each source. On a GPU each source is alone, unless `function` computes them
        `together` in batches of `gpu_size`.
        """
        todo = list(self.batches(lengths, rows, together=together))
        pairs = zip(todo, self.pool.map(partial(self.computed, function), todo), strict=True)
        return {index: one for batch, found in pairs for index, one in zip(batch, found, strict=True)}

    def constrained(
        self, source: Sequence[int], terms: Sequence[Sequence[int]], number: int, continuing: Sequence[int]
    ) -> list[Hypothesis]:
        """The `number` best translations of a source that hold all terms; see `constrained.decode`."""

        def search(required: Sequence[Sequence[int]]) -> list[Hypothesis]:
            return constrained.decode(
                self.local.model,
                source,
                required,
                self.decoding,
                self.device,
                number,
                continuing=continuing,
                unknown=self.unknown,
            )

        return self.pool.submit(self.computed, search, terms).result()

    def batches(self, lengths: Sequence[int], rows: int = 1, *, together: bool = False) -> Iterator[list[int]]:
        """Indices of sources that are padded alike, the longest first, in batches within the budget for all threads.

        On a GPU a batch has at most `gpu_size` sources, if they are searched `together`, else one.
        """
        by_length: dict[int, list[int]] = defaultdict(list)
        for index in sorted(range(len(lengths)), key=lambda index: lengths[index]):
            if lengths[index]:
                by_length[padded(lengths[index])].append(index)
        for length, indices in sorted(by_length.items(), reverse=True):
            if self.on_gpu:
                size = self.gpu_size(length) if together else 1
            else:
                most = self.decoding.tokens_per_batch // (length * rows)
                size = max(1, min(most, math.ceil(len(indices) / self.threads)))
            yield from (indices[begin : begin + size] for begin in range(0, len(indices), size))

    def gpu_size(self, length: int) -> int:
        """Sources that a batch on a GPU has, which are padded to this length: the same whatever there is to search."""
        if self.decoding.memory_pairs:  # compares sentence by sentence
            return 1
        return max(1, min(GPU_SOURCES, GPU_POSITIONS // length, GPU_HYPOTHESES // self.decoding.beam_size))


def padded(num_pieces: int) -> int:
    """Positions of a source with its EOS and its padding."""
    return math.ceil((num_pieces + 1) / MULTIPLE) * MULTIPLE


def has_other_products(model: Model) -> bool:
    """Whether a model has matrices that only `products.py` can prepack, as recurrent cells have."""
    layers = (nn.Linear, nn.RNNBase, nn.RNNCellBase)
    return any(isinstance(module, layers) and not hasattr(module, "prepacked") for module in model.modules())
