"""Translate any number of sentences: batches of like length, results in the order of the sources."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import torch

from pipeline import ids, progress
from pipeline.decoding import beam, greedy, minimum_bayes_risk
from pipeline.decoding.search import Hypothesis, length_penalty
from pipeline.decoding.settings import Decoding as Decoding
from pipeline.decoding.side_by_side import search_batches
from pipeline.encoding.padding import cuts, pad
from pipeline.models import interface

SourceIds = Sequence[int] | np.ndarray
R = TypeVar("R")


def translate(
    model: interface.Model,
    sources: Sequence[SourceIds],
    decoding: Decoding,
    device: torch.device,
    what: str = "translate",
    *,
    unknown: bool = False,
) -> list[list[int]]:
    """The pieces of each source's best translation, without BOS and EOS; that of an empty source is empty.

    With `unknown` UNK may be among them. `what` is the label of the progress bar.
    The caller has put the model on `device` and into `eval()`.
    """
    results: list[list[int]] = [[] for _ in sources]

    def best(net: interface.Model, batch: list[SourceIds]) -> list[list[int]]:
        return translate_batch(net, batch, decoding, device, unknown=unknown)

    translated = by_batch(best, model, sources, decoding, device)
    total = sum(len(source) > 0 for source in sources)
    for index, pieces in progress.track(translated, what, total=total, unit="sentences"):
        results[index] = pieces
    return results


def n_best(
    model: interface.Model,
    sources: Sequence[SourceIds],
    decoding: Decoding,
    device: torch.device,
    number: int,
    *,
    unknown: bool = False,
) -> list[list[Hypothesis]]:
    """The `number` best translations of each source, the best first; an empty one for an empty source.

    With `mbr_temperature` the best is the one with the highest expected BLEU, and its score need not be the highest.
    There are fewer only if no more are possible, or if `patience` ends the search earlier. With `unknown` UNK may be
    among their pieces. The caller has put the model on `device` and into `eval()`.
    """
    results = [[Hypothesis([], 0.0)] for _ in sources]

    def best(net: interface.Model, batch: list[SourceIds]) -> list[list[Hypothesis]]:
        return n_best_batch(net, batch, decoding, device, number, unknown=unknown)

    for index, hypotheses in by_batch(best, model, sources, decoding, device):
        results[index] = hypotheses
    return results


def by_batch(
    search: Callable[[interface.Model, list[SourceIds]], list[R]],
    model: interface.Model,
    sources: Sequence[SourceIds],
    decoding: Decoding,
    device: torch.device,
) -> Iterator[tuple[int, R]]:
    """Index and result of each source that is not empty, searched batch after batch, the longest first."""
    lengths = [len(source) for source in sources]
    todo = batches([index for index, length in enumerate(lengths) if length], lengths, decoding.tokens_per_batch)

    def search_indices(net: interface.Model, batch: list[int]) -> list[R]:
        return search(net, [sources[index] for index in batch])

    for batch, results in zip(todo, search_batches(search_indices, model, todo, device), strict=True):
        yield from zip(batch, results, strict=True)


def n_best_batch(
    model: interface.Model,
    sources: Sequence[SourceIds],
    decoding: Decoding,
    device: torch.device,
    number: int,
    *,
    unknown: bool = False,
    multiple: int = 1,
    fixed_size: int | None = None,
) -> list[list[Hypothesis]]:
    """The `number` best translations of each source of a batch, padded to a multiple of positions.

    A batch of a `fixed_size` is filled up to so many sources by empty ones, for which nothing is written, and keeps all
    rows to the end. A beam of 1 chooses by log P alone, as greedy search does.
    """
    keep_rows, num_empty = fixed_size is not None, (fixed_size or len(sources)) - len(sources)
    source = pad([*sources, *[()] * num_empty], after=(ids.EOS,), multiple=multiple).to(device)
    limits = [decoding.max_length(len(one)) for one in sources]
    max_lengths = [*limits, *[0] * num_empty]
    size, alpha, temperature = decoding.beam_size, decoding.length_penalty, decoding.mbr_temperature
    if size == 1:
        greedily = beam.decode(model, source, max_lengths, beam_size=1, alpha=0.0, unknown=unknown, keep_rows=keep_rows)
        bests = zip(greedily[: len(sources)], limits, strict=True)
        return [[penalised(best, limit, alpha)] for [best, *_], limit in bests]
    finished = beam.decode(
        model,
        source,
        max_lengths,
        beam_size=size,
        alpha=alpha,
        n_best=number if temperature is None else size,
        max_finished=decoding.max_finished,
        unknown=unknown,
        keep_rows=keep_rows,
    )[: len(sources)]
    if temperature is not None:
        finished = [by_expected_bleu(hypotheses, temperature) for hypotheses in finished]
    return [hypotheses[:number] for hypotheses in finished]


def by_expected_bleu(hypotheses: Sequence[Hypothesis], temperature: float) -> list[Hypothesis]:
    """The hypotheses of one sentence, the one with the highest expected BLEU first."""
    texts, scores = [one.ids for one in hypotheses], [one.score for one in hypotheses]
    return [hypotheses[index] for index in minimum_bayes_risk.ranking(texts, scores, temperature)]


def penalised(hypothesis: Hypothesis, max_length: int, alpha: float) -> Hypothesis:
    """A hypothesis scored by log P alone, its score divided by the length penalty."""
    length = min(len(hypothesis.ids) + 1, max_length)  # without EOS at its maximum length
    return Hypothesis(hypothesis.ids, hypothesis.score / float(length_penalty(torch.tensor(length), alpha)))


def batches(indices: Sequence[int], lengths: Sequence[int], tokens_per_batch: int) -> list[list[int]]:
    """Batches of `indices` within the budget, the longest sentences first: a batch too large for memory fails at once.

    A sentence longer than the budget is a batch of its own.
    """
    order = sorted(indices, key=lambda index: (-lengths[index], index))
    return [order[a:b] for a, b in cuts([lengths[index] + 1 for index in order], tokens_per_batch)]


def translate_batch(
    model: interface.Model,
    sources: Sequence[SourceIds],
    decoding: Decoding,
    device: torch.device,
    *,
    unknown: bool = False,
) -> list[list[int]]:
    """The best translation of each source of one batch; with `unknown` UNK may be among its pieces."""
    if decoding.beam_size == 1:
        source = pad(sources, after=(ids.EOS,)).to(device)
        return greedy.decode(model, source, [decoding.max_length(len(one)) for one in sources], unknown=unknown)
    found = n_best_batch(model, sources, decoding, device, 1, unknown=unknown)
    return [best.ids for best, *_ in found]
