"""Translate any number of sentences: batches of like length, results in the order of the sources."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, TypeVar

import numpy as np
import torch
from pydantic import Field, PositiveInt

from pipeline import ids, progress
from pipeline.decoding import beam, greedy
from pipeline.decoding.search import Hypothesis, length_penalty
from pipeline.decoding.side_by_side import searched
from pipeline.encoding.padding import cuts, pad
from pipeline.models import interface
from pipeline.params import Section

Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]
DIGITS = 6  # of patience * beam_size, so that 1.1 * 10 is 11
Patience = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Source = Sequence[int] | np.ndarray
R = TypeVar("R")


class Decoding(Section):
    """Section `decode`."""

    beam_size: Annotated[int, Field(gt=0, le=1000)]  # 1 searches greedily, where a length penalty has no say
    length_penalty: Share  # alpha: 0 compares by probability alone, more favours longer translations
    patience: Patience | None  # null searches on while a better one may follow; else patience * beam_size are enough
    max_length_factor: Share  # the longest translation, EOS counted, is
    max_length_offset: Annotated[int, Field(ge=0)]  # factor * source pieces (without EOS) + offset
    tokens_per_batch: PositiveInt  # sentences * longest source, EOS counted; the search holds beam_size rows of each

    @property
    def enough(self) -> float:
        """How many finished translations end the search of a sentence; infinity where it is to be exact.

        Source: Kasai et al. 2022, `A Call for Clarity in Beam Search`; 1 is what fairseq does.
        """
        return math.inf if self.patience is None else math.ceil(round(self.patience * self.beam_size, DIGITS))

    def max_length(self, source_length: int) -> int:
        """Pieces that the translation of a source may have, EOS counted; a fraction is dropped."""
        return math.floor(self.max_length_factor * source_length) + self.max_length_offset


def translate(
    model: interface.Model,
    sources: Sequence[Source],
    decoding: Decoding,
    device: torch.device,
    what: str = "translate",
    *,
    unknown: bool = False,
) -> list[list[int]]:
    """The pieces of each source's best translation, without BOS and EOS; an empty source gives an empty one.

    With `unknown` UNK may be among them. `what` names the work on the progress bar.
    The caller has put the model on `device` and into `eval()`.
    """
    results: list[list[int]] = [[] for _ in sources]

    def best(net: interface.Model, batch: list[Source]) -> list[list[int]]:
        return search(net, batch, decoding, device, unknown=unknown)

    found = each(best, model, sources, decoding, device)
    for index, pieces in progress.track(
        found, what, total=sum(len(source) > 0 for source in sources), unit="sentences"
    ):
        results[index] = pieces
    return results


def n_best(
    model: interface.Model,
    sources: Sequence[Source],
    decoding: Decoding,
    device: torch.device,
    number: int,
    *,
    unknown: bool = False,
) -> list[list[Hypothesis]]:
    """The `number` best translations of each source, the best first; of an empty source an empty one.

    Fewer only where the model has no more to say, or `patience` ends the search before. With `unknown` UNK may be among
    their pieces. The caller has put the model on `device` and into `eval()`.
    """
    results = [[Hypothesis([], 0.0)] for _ in sources]

    def best(net: interface.Model, batch: list[Source]) -> list[list[Hypothesis]]:
        return ranked(net, batch, decoding, device, number, unknown=unknown)

    found = each(best, model, sources, decoding, device)
    for index, hypotheses in found:
        results[index] = hypotheses
    return results


def each(
    of_batch: Callable[[interface.Model, list[Source]], list[R]],
    model: interface.Model,
    sources: Sequence[Source],
    decoding: Decoding,
    device: torch.device,
) -> Iterator[tuple[int, R]]:
    """What `of_batch` makes of each source that is not empty, with its index; batch after batch, the longest first."""
    lengths = [len(source) for source in sources]
    todo = batches([index for index, length in enumerate(lengths) if length], lengths, decoding.tokens_per_batch)

    def found(net: interface.Model, batch: list[int]) -> list[R]:
        return of_batch(net, [sources[index] for index in batch])

    for batch, results in zip(todo, searched(found, model, todo, device), strict=True):
        yield from zip(batch, results, strict=True)


def ranked(
    model: interface.Model,
    sources: Sequence[Source],
    decoding: Decoding,
    device: torch.device,
    number: int,
    *,
    unknown: bool = False,
) -> list[list[Hypothesis]]:
    """The `number` best translations of each source of a batch; a beam of 1 chooses by log P alone, as greedy does."""
    source, longest = pad(sources, after=(ids.EOS,)).to(device), [decoding.max_length(len(one)) for one in sources]
    size, alpha = decoding.beam_size, decoding.length_penalty
    if size == 1:
        found = beam.decode(model, source, longest, beam_size=1, alpha=0.0, unknown=unknown)
        return [[penalised(best[0], most, alpha)] for best, most in zip(found, longest, strict=True)]
    enough = decoding.enough
    found = beam.decode(
        model, source, longest, beam_size=size, alpha=alpha, n_best=number, enough=enough, unknown=unknown
    )
    return [hypotheses[:number] for hypotheses in found]


def penalised(hypothesis: Hypothesis, max_length: int, alpha: float) -> Hypothesis:
    """A hypothesis scored by log P alone, its score divided by the length penalty."""
    length = min(len(hypothesis.ids) + 1, max_length)  # without EOS at its maximum length
    return Hypothesis(hypothesis.ids, hypothesis.score / float(length_penalty(torch.tensor(length), alpha)))


def batches(indices: Sequence[int], lengths: Sequence[int], tokens_per_batch: int) -> list[list[int]]:
    """`indices` by falling length, so that what does not fit the memory fails at once; each batch within the budget.

    A sentence longer than the budget is a batch of its own.
    """
    order = sorted(indices, key=lambda index: (-lengths[index], index))
    return [order[a:b] for a, b in cuts([lengths[index] + 1 for index in order], tokens_per_batch)]


def search(
    model: interface.Model,
    sources: Sequence[Source],
    decoding: Decoding,
    device: torch.device,
    *,
    unknown: bool = False,
) -> list[list[int]]:
    """The best translation of each source of one batch; with `unknown` UNK may be in it."""
    source = pad(sources, after=(ids.EOS,)).to(device)
    longest = [decoding.max_length(len(one)) for one in sources]
    if decoding.beam_size == 1:
        return greedy.decode(model, source, longest, unknown=unknown)
    size, alpha = decoding.beam_size, decoding.length_penalty
    found = beam.decode(model, source, longest, beam_size=size, alpha=alpha, enough=decoding.enough, unknown=unknown)
    return [best.ids for best, *_ in found]
