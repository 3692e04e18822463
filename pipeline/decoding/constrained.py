"""Beam search for one sentence whose translation must hold given terms: a grid of beams.

A beam for each number of pieces of the terms that are written so far, each of them as wide as an ordinary beam. Every
prefix may begin or go on with any term that is missing, and only one that holds all of them may end, none inside
another. A prefix that leaves a term half-written loses what it had of it. Where a piece may belong to several terms,
there is a prefix for each.

Prefixes are compared by log P without the pieces of a term behind its first: they are given, and what they cost says
nothing about where the term belongs. Nor is there a length penalty, which rewards a rambling second clause that holds
the term. Both were chosen by looking at translations of four tiny systems. Without a term, and with a length penalty of
0, it is ordinary beam search.

Source: Hokamp and Liu 2017, but free pieces that happen to be a term's are counted, as in Post and Vilar 2018. Their
    one beam for all numbers costs the same for any number of terms, and prunes more.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pipeline import ids
from pipeline.decoding.beam import stable_topk
from pipeline.decoding.search import Hypothesis, choose_pieces, forbidden
from pipeline.decoding.settings import Decoding
from pipeline.encoding.padding import pad
from pipeline.models import interface


class TermProgress(NamedTuple):
    """What a prefix has written of the terms."""

    missing: tuple[int, ...]  # indices of the terms not yet written
    current: int | None = None  # the term that is half-written
    written: int = 0  # how many of its pieces
    just_ended: bool = False  # the last piece was a term's last: no piece may go on with its word


class Prefix(NamedTuple):
    """A translation under way, or a candidate for the next step."""

    pieces: list[int]
    log_p: float
    rank: float  # log P without the pieces of terms behind their first
    parent: int  # its row in the step before
    progress: TermProgress


class RequiredTerms:
    """The terms of one sentence, each a list of pieces."""

    def __init__(self, terms: Sequence[Sequence[int]]) -> None:
        self.terms = [list(term) for term in terms]
        self.num_pieces = sum(map(len, self.terms))

    def level(self, progress: TermProgress) -> int:
        """How many pieces of the terms are written."""
        return self.num_pieces - sum(len(self.terms[term]) for term in progress.missing) + progress.written

    def wanted(self, progress: TermProgress) -> set[int]:
        """The piece that goes on with the half-written term, or else every piece that begins a missing one."""
        if progress.current is not None:
            return {self.terms[progress.current][progress.written]}
        return {self.terms[term][0] for term in progress.missing}

    def after(self, progress: TermProgress, piece: int) -> list[TermProgress]:
        """What may be written after a piece: for each missing term of which it is one, and that none of them is."""
        half_written = [] if progress.current is None else self.terms[progress.current][: progress.written]
        last, tried = [*half_written, piece], list[list[int]]()
        found = []
        for term in progress.missing:
            if (pieces := self.terms[term]) in tried:
                continue
            tried.append(pieces)
            sizes = range(min(len(last), len(pieces)), 0, -1)
            if size := next((size for size in sizes if last[-size:] == pieces[:size]), 0):
                found.append(self.with_so_many(progress, term, size))
        return found or [TermProgress(progress.missing)]

    def with_so_many(self, progress: TermProgress, term: int, written: int) -> TermProgress:
        """The progress once so many pieces of a term are written."""
        if written < len(self.terms[term]):
            return TermProgress(progress.missing, term, written)
        return TermProgress(tuple(other for other in progress.missing if other != term), just_ended=True)


@torch.inference_mode()
def decode(
    model: interface.Model,
    source: Sequence[int],
    terms: Sequence[Sequence[int]],
    decoding: Decoding,
    device: torch.device,
    number: int,
    *,
    continuing: Sequence[int] = (),
    unknown: bool = False,
) -> list[Hypothesis]:
    """The `number` best translations of a source (without EOS) that hold all `terms`, the best first; scores as ever.

    None of the pieces `continuing` follows a term. The maximum length grows by the pieces of the terms, so that there
    always is a translation. The caller has put the model on `device` and into `eval()`.
    """
    given, never = RequiredTerms(terms), forbidden(unknown=unknown)
    max_length = decoding.max_length(len(source)) + given.num_pieces
    if max_length == 0:
        return [Hypothesis([], 0.0)]
    prefixes = [Prefix([], 0.0, 0.0, 0, TermProgress(tuple(range(len(terms)))))]
    finished: list[tuple[float, Hypothesis]] = []
    no_word_goes_on = torch.tensor(list(continuing), dtype=torch.int64, device=device)
    with interface.prepacking(model):
        state = model.start(pad([source], after=(ids.EOS,)).to(device))
        for length in range(1, max_length + 1):
            tokens = torch.tensor([prefix.pieces[-1] if prefix.pieces else ids.BOS for prefix in prefixes])
            hidden, state = model.step(state, tokens.to(device))
            found = candidates(model, hidden, prefixes, given, 2 * decoding.beam_size, never, no_word_goes_on)
            prefixes, ended = advance(found, given, decoding.beam_size, is_last=length == max_length)
            finished += [(one.rank, Hypothesis(one.pieces, one.log_p / decoding.penalty(length))) for one in ended]
            finished.sort(key=lambda one: -one[0])
            beaten = len(finished) >= number and best_rank(prefixes) <= finished[number - 1][0]
            if not prefixes or beaten or len(finished) >= decoding.max_finished:
                break
            state = state.select(torch.tensor([prefix.parent for prefix in prefixes], device=device))
    return [hypothesis for _, hypothesis in finished[:number]]


def best_rank(prefixes: Sequence[Prefix]) -> float:
    """The highest rank, which no longer prefix exceeds."""
    return max((prefix.rank for prefix in prefixes), default=-math.inf)


def candidates(
    model: interface.Model,
    hidden: Tensor,
    prefixes: Sequence[Prefix],
    terms: RequiredTerms,
    count: int,
    never: Sequence[int],
    continuing: Tensor,
) -> list[Prefix]:
    """Every prefix with each of its `count` likeliest pieces, and with each piece that a term wants next.

    Of two with the same pieces and the same progress the better one.

    Shapes: hidden (N, D), continuing (K,).
    """
    after_term = torch.tensor([prefix.progress.just_ended for prefix in prefixes], device=hidden.device)

    def best_of_each(logits: Tensor, rows: slice) -> tuple[Tensor, Tensor, Tensor]:
        log_p = torch.log_softmax(logits, dim=1)
        begun = after_term[rows].nonzero()
        if len(begun) and len(continuing):
            log_p[begun, continuing] = -math.inf
        return *stable_topk(log_p, min(count, log_p.shape[1])), log_p

    top, pieces, every = choose_pieces(model, hidden, best_of_each, never)
    found: dict[tuple[tuple[int, ...], TermProgress], Prefix] = {}
    for row, (prefix, scores, likeliest) in enumerate(zip(prefixes, top.tolist(), pieces.tolist(), strict=True)):
        options = dict(zip(likeliest, scores, strict=True))
        for wanted in sorted(terms.wanted(prefix.progress)):
            options.setdefault(wanted, every[row, wanted].item())
        for piece, score in options.items():
            if prefix.log_p + score == -math.inf:
                continue
            for after in terms.after(prefix.progress, piece):
                is_given = terms.level(after) > terms.level(prefix.progress) and prefix.progress.current is not None
                rank = prefix.rank + (0.0 if is_given else score)
                one = Prefix([*prefix.pieces, piece], prefix.log_p + score, rank, row, after)
                key = tuple(one.pieces), after
                if key not in found or found[key].rank < rank:
                    found[key] = one
    return list(found.values())


def advance(
    found: Sequence[Prefix], terms: RequiredTerms, beam_size: int, *, is_last: bool
) -> tuple[list[Prefix], list[Prefix]]:
    """The prefixes that go on, `beam_size` of each level, and those that end, without EOS; none goes on at the end."""
    levels: dict[int, list[Prefix]] = defaultdict(list)
    for prefix in found:
        level = terms.level(prefix.progress)
        if prefix.pieces[-1] != ids.EOS or level == terms.num_pieces:
            levels[level].append(prefix)
    going_on: list[Prefix] = []
    ended: list[Prefix] = []
    for level, ranked in sorted(levels.items()):
        ranked.sort(key=lambda one: -one.rank)
        ended += [one._replace(pieces=one.pieces[:-1]) for one in ranked[:beam_size] if one.pieces[-1] == ids.EOS]
        kept = [one for one in ranked if one.pieces[-1] != ids.EOS][:beam_size]
        if not is_last:
            going_on += kept
        elif level == terms.num_pieces:
            ended += {tuple(one.pieces): one for one in reversed(kept)}.values()  # each translation once
    return going_on, ended
