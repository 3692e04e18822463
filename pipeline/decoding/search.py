"""The one search of the stage `decode`, `nmt translate` and the server: any number of sentences, in batches.

Sentences that are padded to the same length share a batch, on a CPU each batch has one thread. So the translation of a
sentence does not depend on what else is translated: to the bit for Transformers, whose products oneDNN sums row by row
(`kernels/prepacked.py`). Recurrent cells, and all models on a GPU, may round otherwise in a batch of another size: of
two translations that are worth the same either may win.
"""

import math
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import torch

from ..compute import ids
from ..compute.padding import cuts, pad
from ..models import interface
from . import beam, greedy
from .sampling import Sampling
from .scores import Hypothesis
from .settings import Decoding

MULTIPLE = 8  # positions of a padded source; with more there are fewer batches, but more padding
MAX_THREADS = 8  # each holds a batch in memory
ONE_SEARCH = threading.Lock()  # a search changes the number of torch's threads, which is that of the process


def search(
    model: interface.Model,
    sources: Sequence[Sequence[int]],
    decoding: Decoding,
    device: torch.device,
    number: int = 1,
    *,
    unknown: bool = False,
    sampling: Sampling | None = None,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Index and `number` best translations of each source that is not empty, batch after batch, the longest first.

    There are fewer only if no more are possible, or if `patience` ends the search earlier. With `unknown` UNK may be
    among their pieces. With `sampling` there is one of each, which is drawn. The caller has put the model on `device`
    and into `eval()`; no weight may change until the last result is taken.
    """
    settings: dict[str, Any] = {"alpha": decoding.length_penalty, "unknown": unknown}
    settings["no_repeat"] = decoding.no_repeat_ngram_size

    def search_batch(batch: list[int]) -> list[list[Hypothesis]]:
        texts = [sources[index] for index in batch]
        source = pad(texts, after=(ids.EOS,), multiple=MULTIPLE).to(device)
        limits = [decoding.max_length(len(text)) for text in texts]
        if sampling or decoding.beam_size == 1:
            choose = sampling.chooser(texts) if sampling else greedy.likeliest
            return [[best] for best in greedy.decode(model, source, limits, choose=choose, **settings)]
        width, most = decoding.beam_size, decoding.max_finished
        results = beam.decode(model, source, limits, beam_size=width, n_best=number, max_finished=most, **settings)
        return [hypotheses[:number] for hypotheses in results]

    todo = batches([len(source) for source in sources], decoding.tokens_per_batch)
    with ONE_SEARCH, interface.prepacking(model), single_threads(device) as pool:
        for batch, results in zip(todo, pool.map(search_batch, todo), strict=True):
            yield from zip(batch, results, strict=True)


def batches(lengths: Sequence[int], tokens_per_batch: int) -> list[list[int]]:
    """Indices of sources that are padded alike, the longest first: a batch too large for memory fails at once.

    In a batch the sources' number times the longest is within the budget, or there is one. Empty sources are left out.
    """
    by_size: dict[int, list[int]] = defaultdict(list)
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if lengths[index]:
            by_size[math.ceil((lengths[index] + 1) / MULTIPLE)].append(index)
    return [
        indices[begin:end]
        for indices in by_size.values()
        for begin, end in cuts([lengths[index] + 1 for index in indices], tokens_per_batch)
    ]


@contextmanager
def single_threads(device: torch.device) -> Iterator[ThreadPoolExecutor]:
    """Threads, on a CPU as many as torch has, each of which computes every product alone."""
    threads, on_cpu = torch.get_num_threads(), device.type == "cpu"
    number = min(threads, MAX_THREADS) if on_cpu else 1
    with ThreadPoolExecutor(number, "search", lambda: torch.set_num_threads(1) if on_cpu else None) as pool:
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(threads)  # of threads that start later
