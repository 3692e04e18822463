"""Beam search: at every step the few likeliest prefixes of each sentence, all sentences of the batch at once.

`tests/toys/plain_search.py` is the same search for one sentence, in plain Python.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from ..compute import ids
from ..models import interface
from .scores import Hypothesis, logit_blocks
from .settings import length_penalty


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
    no_repeat: int = 0,
) -> list[list[Hypothesis]]:
    """The finished hypotheses of each sentence, the best first, `beam_size` of them at most; UNK only with `unknown`.

    With `no_repeat` none holds an n-gram of so many pieces twice.

    Of a sentence's 2 * beam_size best candidates, those that end with EOS and rank among the first beam_size are
    finished. The best beam_size of the others go on: finished hypotheses do not occupy beam slots. At its maximum
    length (in pieces, EOS counted) a prefix is finished without EOS.

    A sentence is done, and its rows leave the batch, once no prefix can still beat its `n_best`-th best score, not even
    by reaching the maximum length without losing any more probability. So the best hypothesis is the same for any
    `n_best`. A sentence with `max_finished` finished hypotheses is done too, even if a better one might follow. Of
    equal scores the higher-ranked prefix comes first, then the lower piece. The caller has put the model into `eval()`.

    Shapes: source (B, S), each row ending with EOS and padded with PAD; max_lengths (B,).
    Source: Wu et al. 2016, section 7 for the score. fairseq takes 2 * beam_size candidates too, but stops at
        beam_size finished hypotheses (here `max_finished`); sockeye's finished hypotheses stay in the beam.
    """
    limits = torch.as_tensor(max_lengths, device=source.device)
    finished: list[list[Hypothesis]] = [[] if limit > 0 else [Hypothesis([], 0.0)] for limit in limits.tolist()]
    if not bool((limits > 0).any()):
        return finished
    with interface.prepacking(model):
        beam = Beam.start(model, source, limits, n_best)
        while len(beam.sentence):
            hidden, beam.state = model.step(beam.state, beam.pieces[:, :, -1].flatten())
            candidates = beam.candidates(model, hidden, 2 * beam_size, unknown=unknown, no_repeat=no_repeat)
            beam = beam.advance(candidates, beam_size, alpha, max_finished, finished)
    return [sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:beam_size] for hypotheses in finished]


@dataclass
class Beam:
    """The prefixes under way, W for each of the B sentences not yet done, the best first.

    A slot without a prefix (if the vocabulary is smaller than the beam) has log P of minus infinity.
    """

    state: interface.DecoderState  # of B * W hypotheses, sentence by sentence
    pieces: Tensor  # (B, W, 1 + length), BOS first
    log_p: Tensor  # (B, W)
    sentence: Tensor  # (B,) its row in the source
    max_lengths: Tensor  # (B,)
    best_scores: Tensor  # (B, n_best) of the finished hypotheses, falling; minus infinity if there are fewer
    num_finished: Tensor  # (B,)

    @classmethod
    def start(cls, model: interface.Model, source: Tensor, max_lengths: Tensor, n_best: int) -> Self:
        """One empty prefix for each sentence that may have any piece."""
        sentence = (max_lengths > 0).nonzero().flatten()
        rows, device = len(sentence), source.device
        return cls(
            state=model.start(source[sentence]),
            pieces=torch.full((rows, 1, 1), ids.BOS, device=device),
            log_p=torch.zeros(rows, 1, device=device),
            sentence=sentence,
            max_lengths=max_lengths[sentence],
            best_scores=torch.full((rows, n_best), -math.inf, dtype=torch.float64, device=device),
            num_finished=torch.zeros(rows, dtype=torch.int64, device=device),
        )

    def candidates(
        self, model: interface.Model, hidden: Tensor, count: int, *, unknown: bool, no_repeat: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The C = `count` best prefixes of each sentence with one more piece, the best first; fewer if there are fewer.

        With the slots of the prefixes that they extend, and log P. They are among the C best of each prefix.

        Shapes: hidden (B * W, D) -> (B, C, 2 + length), (B, C) twice.
        """
        best_of_each = []
        prefixes = self.pieces.flatten(0, 1)
        for rows, logits in logit_blocks(model, hidden, prefixes, unknown=unknown, no_repeat=no_repeat):
            log_p = torch.log_softmax(logits, dim=1).add_(self.log_p.flatten()[rows, None])
            best_of_each.append(stable_topk(log_p, min(count, logits.shape[1])))
        log_p, last = (torch.cat(tensors) for tensors in zip(*best_of_each, strict=True))  # (B * W, each)
        sentences, each = len(self.sentence), log_p.shape[1]
        best, index = stable_topk(log_p.view(sentences, -1), min(count, log_p.numel() // sentences))
        parents, last = index // each, last.view(sentences, -1).gather(1, index)
        return torch.cat((take(self.pieces, parents), last[:, :, None]), dim=2), parents, best

    def advance(
        self,
        candidates: tuple[Tensor, Tensor, Tensor],
        beam_size: int,
        alpha: float,
        max_finished: float,
        finished: list[list[Hypothesis]],
    ) -> Self:
        """The prefixes one piece longer, of sentences not yet done; hypotheses that end are added to `finished`."""
        pieces, parents, log_p = candidates
        length, width, count = pieces.shape[2] - 1, self.log_p.shape[1], pieces.shape[1]
        ends, is_last_step = pieces[:, :, -1] == ids.EOS, self.max_lengths == length
        # Of each prefix one candidate at most ends, so at least C - W of them go on.
        going_on = ends.byte().argsort(dim=1, stable=True)[:, : min(beam_size, count - width)]  # (B, W)

        is_finished = ends & (torch.arange(count, device=ends.device) < beam_size)  # (B, C)
        is_finished |= torch.zeros_like(ends).scatter(1, going_on, ~ends.gather(1, going_on)) & is_last_step[:, None]
        is_finished &= log_p > -math.inf
        scores = log_p / length_penalty(float(length), alpha)
        owners = self.sentence[:, None].expand_as(is_finished)[is_finished].tolist()
        for owner, text, score in zip(owners, pieces[is_finished].tolist(), scores[is_finished].tolist(), strict=True):
            finished[owner].append(Hypothesis(text[1:-1] if text[-1] == ids.EOS else text[1:], score))

        every_score = torch.cat((self.best_scores, scores.masked_fill(~is_finished, -math.inf)), dim=1)
        best_scores = every_score.topk(self.best_scores.shape[1]).values
        num_finished = self.num_finished + is_finished.sum(dim=1)
        log_p, parents = log_p.gather(1, going_on), parents.gather(1, going_on)
        may_improve = log_p[:, 0] / length_penalty(self.max_lengths.double(), alpha) > best_scores[:, -1]
        kept = (~is_last_step & (num_finished < max_finished) & may_improve).nonzero().flatten()
        rows = parents + width * torch.arange(len(parents), device=parents.device)[:, None]
        return replace(
            self,
            state=self.state.select(rows[kept].flatten(), kept if len(kept) < len(rows) else None),
            pieces=take(pieces, going_on)[kept],
            log_p=log_p[kept],
            sentence=self.sentence[kept],
            max_lengths=self.max_lengths[kept],
            best_scores=best_scores[kept],
            num_finished=num_finished[kept],
        )


def take(pieces: Tensor, slots: Tensor) -> Tensor:
    """The prefixes in `slots` of each sentence: (B, W, T), (B, C) -> (B, C, T)."""
    return pieces.gather(1, slots[:, :, None].expand(-1, -1, pieces.shape[2]))


def stable_topk(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest values of each row and their indices, highest first; of equal values the first.

    `torch.topk` takes any of equal values. Sorting whole rows would decide it at thirty times the cost, so that is
    done only for rows whose last value taken equals the first value left.

    Shapes: values (B, K) -> (B, count), (B, count).
    """
    top, index = values.topk(min(count + 1, values.shape[1]), dim=1)
    if top.shape[1] > count and bool((tied := top[:, count - 1] == top[:, count]).any()):
        index[tied] = values[tied].argsort(dim=1, descending=True, stable=True)[:, : count + 1]
    index = index[:, :count].sort(dim=1).values
    top, order = values.gather(1, index).sort(dim=1, descending=True, stable=True)
    return top, index.gather(1, order)
