"""Beam search: at every step the few likeliest prefixes of each sentence, all sentences of the batch at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from pipeline import ids
from pipeline.decoding.search import FORBIDDEN, Hypothesis, choose_pieces, forbidden, length_penalty
from pipeline.models import interface


@dataclass
class Beam:
    """The prefixes under way, W for each of the B sentences not yet done, the best first.

    With `keep_rows` there are all sentences, and the prefixes of those that are done count for nothing. A slot without
    a prefix (if the vocabulary is smaller than the beam) has log P of minus infinity.
    """

    state: interface.DecoderState  # of B * W hypotheses, sentence by sentence
    pieces: Tensor  # (B, W, length)
    log_p: Tensor  # (B, W)
    sentence: Tensor  # (B,) its row in the source
    max_lengths: Tensor  # (B,)
    best_scores: Tensor  # (B, n_best) of the finished hypotheses, falling; minus infinity if there are fewer
    num_finished: Tensor  # (B,)
    under_way: Tensor  # (B,) whether a sentence is not yet done

    @property
    def length(self) -> int:
        """How many pieces each prefix has."""
        return self.pieces.shape[2]


class Settings(NamedTuple):
    """What steers a search."""

    beam_size: int
    alpha: float  # of the length penalty
    max_finished: float  # hypotheses after which a sentence is done
    keep_rows: bool  # of a sentence that is done, until all are


class Candidates(NamedTuple):
    """The C best prefixes of each sentence with one more piece, the best first."""

    pieces: Tensor  # (B, C, length + 1)
    parents: Tensor  # (B, C) slots of the prefixes they extend
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
    max_finished: float = math.inf,
    unknown: bool = False,
    keep_rows: bool = False,
) -> list[list[Hypothesis]]:
    """The finished hypotheses of each sentence, the best first, `beam_size` of them at most; UNK only with `unknown`.

    Of a sentence's 2 * beam_size best candidates, those that end with EOS and rank among the first beam_size are
    finished. The best beam_size of the others go on: finished hypotheses do not occupy beam slots. At its maximum
    length (in pieces, EOS counted) a prefix is finished without EOS.

    A sentence is done, and its rows leave the batch, once no prefix can still beat its `n_best`-th best score, not even
    by reaching the maximum length without losing any more probability. So the best hypothesis is the same for any
    `n_best`. A sentence with `max_finished` finished hypotheses is done too, even if a better one might follow. Of
    equal scores the higher-ranked prefix comes first, then the lower piece. The caller has put the model into `eval()`.

    With `keep_rows` the rows of a sentence stay until all sentences are done. So the size of what a step computes
    depends on B, S, the beam size and the number of the step alone.

    Shapes: source (B, S), each row ending with EOS and padded with PAD; max_lengths (B,).
    Source: Wu et al. 2016, section 7 for the score. fairseq takes 2 * beam_size candidates too, but stops at
        beam_size finished hypotheses (here `max_finished`); sockeye's finished hypotheses stay in the beam.
    """
    limits = torch.as_tensor(max_lengths, device=source.device)
    finished: list[list[Hypothesis]] = [[] if limit > 0 else [Hypothesis([], 0.0)] for limit in limits.tolist()]
    if not bool((limits > 0).any()):
        return finished
    settings, never = Settings(beam_size, alpha, max_finished, keep_rows), forbidden(unknown=unknown)
    with interface.prepacking(model):
        beam = empty_prefixes(model, source, limits, n_best, keep_rows=keep_rows)
        while len(beam.sentence):
            tokens = beam.pieces[:, :, -1] if beam.length else torch.full_like(beam.sentence, ids.BOS)
            hidden, beam.state = model.step(beam.state, tokens.flatten())
            beam = advance(beam, candidates(beam, model, hidden, 2 * beam_size, never), settings, finished)
    return [sorted(hypotheses, key=lambda one: -one.score)[:beam_size] for hypotheses in finished]


def empty_prefixes(
    model: interface.Model, source: Tensor, max_lengths: Tensor, n_best: int, *, keep_rows: bool = False
) -> Beam:
    """One empty prefix for each sentence that may have any piece; with `keep_rows` the others have rows too."""
    under_way = max_lengths > 0
    sentence = (under_way | keep_rows).nonzero().flatten()
    rows, device = len(sentence), source.device
    return Beam(
        state=model.start(source[sentence]),
        pieces=torch.empty(rows, 1, 0, dtype=torch.int64, device=device),
        log_p=torch.zeros(rows, 1, device=device),
        sentence=sentence,
        max_lengths=max_lengths[sentence],
        best_scores=torch.full((rows, n_best), -math.inf, dtype=torch.float64, device=device),
        num_finished=torch.zeros(rows, dtype=torch.int64, device=device),
        under_way=under_way[sentence],
    )


def advance(beam: Beam, found: Candidates, settings: Settings, finished: list[list[Hypothesis]]) -> Beam:
    """The prefixes one piece longer; hypotheses that end are added to `finished`.

    Sentences that are done drop out, with `keep_rows` all at once.
    """
    pieces, parents, log_p = found
    beam_size, alpha, max_finished, keep_rows = settings
    length, width = beam.length + 1, beam.log_p.shape[1]
    is_last_step = beam.max_lengths == length
    ends = pieces[:, :, -1] == ids.EOS
    # Of each prefix one candidate at most ends, so at least C - W of them go on.
    going_on = ends.byte().argsort(dim=1, stable=True)[:, : min(beam_size, ends.shape[1] - width)]  # (B, W)

    is_finished = ends & (torch.arange(ends.shape[1], device=ends.device) < beam_size)
    is_finished |= torch.zeros_like(ends).scatter(1, going_on, ~ends.gather(1, going_on)) & is_last_step[:, None]
    is_finished &= (log_p > -math.inf) & beam.under_way[:, None]
    scores = log_p / length_penalty(torch.tensor(length, device=ends.device), alpha)
    collect(finished, beam.sentence, is_finished, pieces, scores)

    every_score = torch.cat((beam.best_scores, scores.masked_fill(~is_finished, -math.inf)), dim=1)
    best_scores = every_score.topk(beam.best_scores.shape[1]).values
    num_finished = beam.num_finished + is_finished.sum(dim=1)
    log_p, parents = log_p.gather(1, going_on), parents.gather(1, going_on)
    may_improve = log_p[:, 0] / length_penalty(beam.max_lengths, alpha) > best_scores[:, -1]
    under_way = beam.under_way & ~is_last_step & (num_finished < max_finished) & may_improve
    everyone = bool(under_way.any() if keep_rows else under_way.all())
    kept = slice(None) if everyone else under_way
    rows = parents + width * torch.arange(len(parents), device=parents.device)[:, None]
    return Beam(
        state=beam.state.select(rows[kept].flatten(), None if everyone else under_way.nonzero().flatten()),
        pieces=take(pieces, going_on)[kept],
        log_p=log_p[kept],
        sentence=beam.sentence[kept],
        max_lengths=beam.max_lengths[kept],
        best_scores=best_scores[kept],
        num_finished=num_finished[kept],
        under_way=under_way[kept],
    )


def candidates(
    beam: Beam, model: interface.Model, hidden: Tensor, count: int, never: Sequence[int] = FORBIDDEN
) -> Candidates:
    """The `count` best prefixes of each sentence with one more piece, the best first; fewer if there are fewer.

    They are among the `count` best of each prefix, which are found first.

    Shapes: hidden (N, D).
    """
    sentences, width = beam.log_p.shape

    def best_of_each(logits: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        log_p = log_probabilities(logits).add_(beam.log_p.flatten()[rows, None])
        return stable_topk(log_p, min(count, logits.shape[1]))

    log_p, last = choose_pieces(model, hidden, best_of_each, never)
    each = log_p.shape[1]
    best, index = stable_topk(log_p.view(sentences, -1), min(count, width * each))
    parents, last = index // each, last.view(sentences, -1).gather(1, index)
    return Candidates(torch.cat((take(beam.pieces, parents), last[:, :, None]), dim=2), parents, best)


def log_probabilities(logits: Tensor) -> Tensor:
    """`log_softmax` of each row, which does not depend on where the row stands.

    A GPU sums a long row in an order that depends on the alignment of its first number. So rows are made longer until
    each begins at a multiple of 16 bytes.

    Shapes: (N, V) -> (N, V).
    """
    num_pieces = logits.shape[1]
    if logits.device.type == "cpu" or num_pieces % 4 == 0:
        return torch.log_softmax(logits, dim=1)
    return torch.log_softmax(aligned(logits), dim=1)[:, :num_pieces]


def aligned(logits: Tensor) -> Tensor:
    """Logits with columns of minus infinity up to a multiple of 4: (N, V) -> (N, W)."""
    return nn.functional.pad(logits, (0, -logits.shape[1] % 4), value=-math.inf)


def stable_topk(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest values of each row and their indices, highest first; of equal values the first.

    `torch.topk` takes any of equal values. Sorting whole rows would settle it at thirty times the cost, so that is
    done only for rows whose last value taken equals the first value left.

    Shapes: values (B, K) -> (B, count), (B, count).
    """
    top, index = values.topk(min(count + 1, values.shape[1]), dim=1)
    if top.shape[1] > count and bool((tied := top[:, count - 1] == top[:, count]).any()):
        index[tied] = values[tied].argsort(dim=1, descending=True, stable=True)[:, : count + 1]
    index = index[:, :count].sort(dim=1).values
    top, order = values.gather(1, index).sort(dim=1, descending=True, stable=True)
    return top, index.gather(1, order)


def take(pieces: Tensor, slots: Tensor) -> Tensor:
    """The prefixes in `slots` of each sentence: (B, W, T), (B, C) -> (B, C, T)."""
    return pieces.gather(1, slots[:, :, None].expand(-1, -1, pieces.shape[2]))


def collect(
    finished: list[list[Hypothesis]], sentence: Tensor, is_finished: Tensor, pieces: Tensor, scores: Tensor
) -> None:
    """Append the finished hypotheses to the lists of their sentences, without EOS.

    Shapes: sentence (B,), is_finished (B, C), pieces (B, C, T), scores (B, C).
    """
    owners = sentence[:, None].expand_as(is_finished)[is_finished].tolist()
    for owner, text, score in zip(owners, pieces[is_finished].tolist(), scores[is_finished].tolist(), strict=True):
        finished[owner].append(Hypothesis(text[:-1] if text[-1] == ids.EOS else text, score))
