"""Translate with a CTranslate2 model: what `translate.translate` finds with the same weights, but for rounding.

CTranslate2 shares out the beam as `beam` does, but divides log P by |Y| ** penalty, which no penalty makes
((5 + |Y|) / 6) ** alpha, and stops once beam_size * patience translations have ended. Where the search is to be exact,
it is asked for all that ends within some length, and for what is under way there; we score them, and where a beginning
under way could still win, ask again for twice the length. What can differ from `beam` is then only which of two
translations wins whose scores are equal but for the last bits. With a `patience` CTranslate2 stops where `beam` does,
and returns as many translations as are enough; where the last step ended more than that, the worst by its own score are
left out.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch

from pipeline import ids, progress
from pipeline.decoding.search import Hypothesis, forbidden, length_penalty
from pipeline.decoding.translate import Decoding, Source, batches

ROUND = 4  # first lengths are multiples of it, so that sentences of like length share a batch
NO_PENALTY = 1e-9  # divides log P by 1 in fp32; at 0 CTranslate2 stops at the first end of the likeliest


class Found(NamedTuple):
    """A translation, or the beginning of one, that CTranslate2 returns."""

    tokens: list[str]
    log_p: float


class Engine:
    """A model folder, loaded: on the CPU, in fp32, with as many threads as torch has; UNK with `unknown` only."""

    def __init__(self, folder: Path, *, unknown: bool = False) -> None:
        import ctranslate2  # late, since the search by torch does without it

        threads = torch.get_num_threads()
        self.translator = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=threads)
        self.source, self.target = (read_tokens(folder, side) for side in ("source", "target"))
        self.ids = {token: number for number, token in enumerate(self.target)}
        self.end = self.target[ids.EOS]
        self.never = [[self.target[piece]] for piece in forbidden(unknown=unknown)]

    def search(self, sources: Sequence[Source], limit: int, decoding: Decoding) -> list[list[Found]]:
        """What ends within `limit` pieces (EOS counted) until enough has ended, and what is under way at `limit`."""
        alpha = max(decoding.length_penalty if ends_itself(decoding) else 0.0, NO_PENALTY)
        results = self.translator.translate_batch(
            [[self.source[piece] for piece in source] for source in sources],
            beam_size=decoding.beam_size,
            patience=enough(decoding, limit) / decoding.beam_size,
            num_hypotheses=enough(decoding, limit),
            length_penalty=alpha,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=limit,
            suppress_sequences=self.never,
            return_end_token=True,
            return_scores=True,
        )
        return [
            [Found(one, score * len(one) ** alpha) for one, score in zip(result.hypotheses, result.scores, strict=True)]
            for result in results
        ]

    def best(self, found: Sequence[Found], limit: int, longest: int, decoding: Decoding) -> Hypothesis | None:
        """The best translation; None where it is not known at `limit`, as what is under way may go on to `longest`."""
        penalty = penalties(longest, decoding.length_penalty)
        ended = [one for one in found if one.tokens[-1] == self.end or limit == longest]
        if not ended:
            return None
        best = max(ended, key=lambda one: one.log_p / penalty[len(one.tokens)])
        score = best.log_p / penalty[len(best.tokens)]
        if ends_itself(decoding):
            is_over = len(ended) == len(found) == enough(decoding, limit)
        else:
            is_over = self.under_way(found, limit) / penalty[longest] <= score
        if is_over or limit == longest:
            return Hypothesis([self.ids[token] for token in best.tokens if token != self.end], score)
        return None

    def under_way(self, found: Sequence[Found], limit: int) -> float:
        """The highest log P that a beginning of `limit` pieces may have.

        Of that step CTranslate2 returns the beam_size likeliest: what else goes on is no likelier than any of them.
        """
        last = [one for one in found if len(one.tokens) == limit]
        going_on = [one.log_p for one in last if one.tokens[-1] != self.end]
        return max(going_on, default=min((one.log_p for one in last), default=-math.inf))


@cache
def penalties(longest: int, alpha: float) -> tuple[float, ...]:
    """The length penalty of every length up to the longest."""
    return tuple(length_penalty(torch.arange(longest + 1), alpha).tolist())


def ends_itself(decoding: Decoding) -> bool:
    """Whether CTranslate2 stops where `beam` does: with a patience; and in a greedy search, which ends once."""
    return decoding.beam_size == 1 or decoding.patience is not None


def enough(decoding: Decoding, limit: int) -> int:
    """How many translations end a search; where it is to be exact as many as it has room for: beam_size a step."""
    return int(min(decoding.max_finished, decoding.beam_size * limit)) if decoding.beam_size > 1 else 1


def translate(
    folder: Path, sources: Sequence[Source], decoding: Decoding, what: str = "translate", *, unknown: bool = False
) -> list[list[int]]:
    """The pieces of each source's best translation, without BOS and EOS; an empty source gives an empty one.

    With `unknown` UNK may be among them. `folder` holds a model for as many `positions` as these sources need. `what`
    names the work on the progress bar.
    """
    return [hypothesis.ids for hypothesis in search(folder, sources, decoding, what, unknown=unknown)]


def positions(sources: Sequence[Source], decoding: Decoding) -> int:
    """The longest that a source or its translation can get, EOS counted."""
    return max((max(len(source) + 1, decoding.max_length(len(source))) for source in sources), default=1)


def search(
    folder: Path, sources: Sequence[Source], decoding: Decoding, what: str = "translate", *, unknown: bool = False
) -> list[Hypothesis]:
    """The best translation of each source; of an empty one an empty one."""
    results = [Hypothesis([], 0.0) for _ in sources]
    longest = {index: decoding.max_length(len(source)) for index, source in enumerate(sources) if len(source)}
    longest = {index: length for index, length in longest.items() if length}
    found = rounds(Engine(folder, unknown=unknown), sources, longest, decoding)
    for index, hypothesis in progress.track(found, what, total=len(longest), unit="sentences"):
        results[index] = hypothesis
    return results


def rounds(
    engine: Engine, sources: Sequence[Source], longest: Mapping[int, int], decoding: Decoding
) -> Iterator[tuple[int, Hypothesis]]:
    """The best translation of each source that has a maximum length, with its index, as they come to be known."""
    lengths, budget = [len(source) for source in sources], decoding.tokens_per_batch
    if ends_itself(decoding):
        todo = [(min(longest[index] for index in batch), batch) for batch in batches(list(longest), lengths, budget)]
    else:
        todo = together({index: first_limit(lengths[index], most) for index, most in longest.items()}, lengths, budget)
    while todo:
        again = {}
        for limit, batch in todo:
            found = engine.search([sources[index] for index in batch], limit, decoding)
            for index, translations in zip(batch, found, strict=True):
                if best := engine.best(translations, limit, longest[index], decoding):
                    yield index, best
                else:
                    again[index] = min(2 * limit, longest[index])
        todo = together(again, lengths, budget)


def first_limit(source_length: int, longest: int) -> int:
    """The length within which a source is first translated where the search is to be exact: room enough for most."""
    room = source_length + source_length // 4 + ROUND
    return min(longest, -(-room // ROUND) * ROUND)


def together(limits: Mapping[int, int], lengths: Sequence[int], tokens_per_batch: int) -> list[tuple[int, list[int]]]:
    """Batches of sources of one limit, which is the same for all that CTranslate2 translates at once."""
    groups = defaultdict(list)
    for index, limit in limits.items():
        groups[limit].append(index)
    return [
        (limit, batch)
        for limit in sorted(groups, reverse=True)
        for batch in batches(groups[limit], lengths, tokens_per_batch)
    ]


def read_tokens(folder: Path, side: str) -> list[str]:
    """The tokens of a side, `source` or `target`, by their ids."""
    shared = folder / "shared_vocabulary.json"
    path = shared if shared.exists() else folder / f"{side}_vocabulary.json"
    found: list[str] = json.loads(path.read_text(encoding="utf-8"))
    return found
