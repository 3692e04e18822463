"""Beam search: at every step the few likeliest beginnings of each sentence, all sentences of the batch at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pipeline import ids
from pipeline.decoding.search import NEVER, Hypothesis, chosen, forbidden, length_penalty
from pipeline.models import interface


@dataclass
class Beam:
    """The beginnings under way after `length` pieces: W of each of the B sentences not yet done, the best first.

    A slot for which there was no beginning left (a vocabulary smaller than the beam) has log P of minus infinity.
    """

    state: interface.State  # of B * W rows, sentence by sentence
    pieces: Tensor  # (B, W, length)
    log_p: Tensor  # (B, W)
    sentence: Tensor  # (B,) which sentence of the source
    longest: Tensor  # (B,) maximum lengths
    best: Tensor  # (B, n_best) best scores of what is finished, falling, minus infinity where there is less
    ended: Tensor  # (B,) how many translations are finished

    @property
    def length(self) -> int:
        return self.pieces.shape[2]


class Rule(NamedTuple):
    """How a search goes."""

    beam_size: int
    alpha: float
    enough: float  # finished translations of a sentence, after which it is done


class Continuations(NamedTuple):
    """The C best of each sentence's beginnings with one more piece, the best first."""

    pieces: Tensor  # (B, C, length + 1)
    parents: Tensor  # (B, C) slots of the beginnings they extend
    log_p: Tensor  # (B, C)


@torch.inference_mode()
def decode(
    model: interface.Model,
    source: Tensor,
    max_lengths: Tensor | Sequence[int],
    *,
    beam_size: int,
    alpha: float,
    n_best: int = 1,
    enough: float = math.inf,
    unknown: bool = False,
) -> list[list[Hypothesis]]:
    """The translations found of each sentence, the best first, `beam_size` of them at most; UNK with `unknown` only.

    Of the 2 * beam_size best continuations of a sentence's beginnings, those that end (EOS) and rank among the first
    beam_size are finished; the best beam_size that do not end go on, so that what is finished takes nobody's place.
    At its maximum length (pieces, EOS counted) a beginning is finished as it stands, without EOS. A sentence is done,
    and its rows leave the batch, once no beginning can still beat its best score (the last of its `n_best` scores), not
    even at maximum length without losing any more probability: the best is the same for any `n_best`, and there are
    fewer than that only where the model has no more to say. With `enough` it is done as soon as so many of its
    translations are finished, though a better one might follow. Of equals the higher-ranked beginning, then the lower
    piece, comes first. The caller has put the model into `eval()`.

    Shapes: source (B, S), each row ending with EOS and padded with PAD; max_lengths (B,).
    Source: Wu et al. 2016, section 7 for the score. fairseq takes 2 * beam_size candidates likewise, but stops at
        beam_size finished hypotheses, here `enough`; sockeye lets a finished one keep its place in the beam.
    """
    longest = torch.as_tensor(max_lengths, device=source.device)
    found: list[list[Hypothesis]] = [[] if length > 0 else [Hypothesis([], 0.0)] for length in longest.tolist()]
    rule, never = Rule(beam_size, alpha, enough), forbidden(unknown=unknown)
    with model.searching() as scorer:
        beam = first(model, source, longest, n_best)
        while len(beam.sentence):
            tokens = beam.pieces[:, :, -1] if beam.length else torch.full_like(beam.sentence, ids.BOS)
            hidden, beam.state = model.step(beam.state, tokens.flatten())
            beam = advance(beam, continuations(beam, scorer, hidden, 2 * beam_size, never), rule, found)
    return [sorted(hypotheses, key=lambda one: -one.score)[:beam_size] for hypotheses in found]


def first(model: interface.Model, source: Tensor, longest: Tensor, n_best: int) -> Beam:
    """One empty beginning of every sentence that may have any piece."""
    sentence = (longest > 0).nonzero().flatten()
    rows, device = len(sentence), source.device
    return Beam(
        state=model.start(source[sentence]) if rows else {},
        pieces=torch.empty(rows, 1, 0, dtype=torch.int64, device=device),
        log_p=torch.zeros(rows, 1, device=device),
        sentence=sentence,
        longest=longest[sentence],
        best=torch.full((rows, n_best), -math.inf, dtype=torch.float64, device=device),
        ended=torch.zeros(rows, dtype=torch.int64, device=device),
    )


def advance(beam: Beam, candidates: Continuations, rule: Rule, found: list[list[Hypothesis]]) -> Beam:
    """The beginnings one piece longer; what is finished goes to `found`, sentences that are done drop out."""
    pieces, parents, log_p = candidates
    beam_size, alpha, enough = rule
    length, width = beam.length + 1, beam.log_p.shape[1]
    full = beam.longest == length
    ends = pieces[:, :, -1] == ids.EOS
    # No beginning has two continuations that end, so all candidates but `width` at most go on.
    going_on = ends.byte().argsort(dim=1, stable=True)[:, : min(beam_size, ends.shape[1] - width)]  # (B, W)

    finished = ends & (torch.arange(ends.shape[1], device=ends.device) < beam_size)
    finished |= torch.zeros_like(ends).scatter(1, going_on, ~ends.gather(1, going_on)) & full[:, None]
    finished &= log_p > -math.inf
    scores = log_p / length_penalty(torch.tensor(length, device=ends.device), alpha)
    collect(found, beam.sentence, finished, pieces, scores)

    best = torch.cat((beam.best, scores.masked_fill(~finished, -math.inf)), dim=1).topk(beam.best.shape[1]).values
    log_p, parents = log_p.gather(1, going_on), parents.gather(1, going_on)
    ended = beam.ended + finished.sum(dim=1)
    alive = ~full & (ended < enough) & (log_p[:, 0] / length_penalty(beam.longest, alpha) > best[:, -1])
    rows = parents + width * torch.arange(len(parents), device=parents.device)[:, None]
    sentences = None if bool(alive.all()) else alive.nonzero().flatten()
    return Beam(
        state=interface.select(beam.state, rows[alive].flatten(), sentences),
        pieces=take(pieces, going_on)[alive],
        log_p=log_p[alive],
        sentence=beam.sentence[alive],
        longest=beam.longest[alive],
        best=best[alive],
        ended=ended[alive],
    )


def continuations(
    beam: Beam, scorer: interface.LinearMap, hidden: Tensor, count: int, never: Sequence[int] = NEVER
) -> Continuations:
    """The `count` best of each sentence's beginnings with one more piece, the best first (C of them at most).

    They are among the `count` best of each beginning, which are found first.

    Shapes: hidden (N, D).
    """
    sentences, width = beam.log_p.shape

    def best_of_each(logits: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        log_p = torch.log_softmax(logits, dim=1).add_(beam.log_p.flatten()[rows, None])
        return highest(log_p, min(count, logits.shape[1]))

    log_p, last = chosen(scorer, hidden, best_of_each, never)
    each = log_p.shape[1]
    best, index = highest(log_p.view(sentences, -1), min(count, width * each))
    parents, last = index // each, last.view(sentences, -1).gather(1, index)
    return Continuations(torch.cat((take(beam.pieces, parents), last[:, :, None]), dim=2), parents, best)


def highest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest values of each row, highest first, and where they stand; of equal ones the first.

    `torch.topk` takes any of equal values. Sorting whole rows would settle it at thirty times the cost, so that is
    done only for rows where the last one taken equals the first one left.

    Shapes: values (B, K) -> (B, count), (B, count).
    """
    top, index = values.topk(min(count + 1, values.shape[1]), dim=1)
    if top.shape[1] > count and bool((tied := top[:, count - 1] == top[:, count]).any()):
        index[tied] = values[tied].argsort(dim=1, descending=True, stable=True)[:, : count + 1]
    index = index[:, :count].sort(dim=1).values
    top, order = values.gather(1, index).sort(dim=1, descending=True, stable=True)
    return top, index.gather(1, order)


def take(pieces: Tensor, slots: Tensor) -> Tensor:
    """The sequences in `slots` of each sentence: (B, W, T), (B, C) -> (B, C, T)."""
    return pieces.gather(1, slots[:, :, None].expand(-1, -1, pieces.shape[2]))


def collect(found: list[list[Hypothesis]], sentence: Tensor, finished: Tensor, pieces: Tensor, scores: Tensor) -> None:
    """Append what is finished to its sentence's list, without EOS.

    Shapes: sentence (B,), finished (B, C), pieces (B, C, T), scores (B, C).
    """
    owners = sentence[:, None].expand_as(finished)[finished].tolist()
    for owner, text, score in zip(owners, pieces[finished].tolist(), scores[finished].tolist(), strict=True):
        found[owner].append(Hypothesis(text[:-1] if text[-1] == ids.EOS else text, score))
