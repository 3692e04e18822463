"""The attention of a model while it translates: the sentences to show, and their weights."""

from collections.abc import Sequence
from typing import Annotated, Self, TypeAlias

import numpy as np
import torch
from pydantic import Field, PositiveInt, model_validator

from ..common.normalisation import normalised, num_words
from ..common.params import Section
from ..common.seeding import generator
from ..compute import ids
from ..compute.padding import pad
from ..models import interface
from . import greedy

Weights: TypeAlias = dict[str, list[list[list[float]]]]  # name -> heads, rows, columns

DECIMALS = 4  # of a weight: finer than any picture shows


class Attending(Section):
    """Section `attend`: the sentences of each test part whose attention is shown."""

    sentences: PositiveInt
    min_words: PositiveInt  # of a source
    max_words: PositiveInt  # shorter and longer sources are shown only if there are too few others
    max_length_offset: PositiveInt  # the longest translation, EOS counted, is source pieces + offset
    seed: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def leave_some_lengths(self) -> Self:
        """Some number of words must be allowed."""
        if self.max_words < self.min_words:
            raise ValueError(f"max_words must be at least min_words {self.min_words}, got {self.max_words}")
        return self


def choose(lines: Sequence[str], attending: Attending, part: str) -> list[int]:
    """Indices of the lines to show, rising; every system of a corpus shows the same.

    Lines without a word are never shown, so there may be fewer than asked for.
    """
    words = [num_words(normalised(line)) for line in lines]
    allowed = range(attending.min_words, attending.max_words + 1)
    wanted = [index for index, count in enumerate(words) if count in allowed]
    others = [index for index, count in enumerate(words) if count and count not in allowed]
    random = generator(attending.seed, f"attend {part}")
    drawn = [*random.permutation(wanted), *random.permutation(others)][: attending.sentences]
    return sorted(map(int, drawn))


def likeliest(model: interface.Model, source: Sequence[int], max_length: int, device: torch.device) -> list[int]:
    """The greedy translation of one source, as `written` gives it. The caller has put the model into `eval()`."""
    [best] = greedy.decode(model, pad([source], after=(ids.EOS,)).to(device), [max_length])
    return written(best.ids, max_length)


def written(pieces: Sequence[int], max_length: int) -> list[int]:
    """The pieces of a translation, and EOS unless the maximum length cut it off."""
    return [*pieces, ids.EOS] if len(pieces) < max_length or not pieces else [*pieces]


@torch.inference_mode()
def weights(model: interface.Model, source: Sequence[int], output: Sequence[int], device: torch.device) -> Weights:
    """The model's attention, rounded, over `source` (without EOS) while it writes `output` (as `written` returns it).

    Row t of a decoder's matrix belongs to the step that writes piece t of `output`. The caller has put the model on
    `device` and into `eval()`.
    """
    target_input = torch.tensor([[ids.BOS, *output[:-1]]], device=device)
    by_name = model.attention(pad([source], after=(ids.EOS,)).to(device), target_input)
    return {name: torch.round(heads[0].double(), decimals=DECIMALS).tolist() for name, heads in by_name.items()}


@torch.inference_mode()
def reliance(
    model: interface.Model, source: Sequence[int], output: Sequence[int], gap: slice, device: torch.device
) -> np.ndarray:
    """How much less likely each piece of `output` is without a stretch of the source: (T,), 1 where it costs most.

    Source: Li et al. 2019, *On the Word Alignment from Neural Machine Translation*, prediction difference.
    """
    rest = [*source]
    del rest[gap]
    given = torch.tensor([[ids.BOS, *output[:-1]]] * 2, device=device)
    hidden = model.hidden(pad([source, rest], after=(ids.EOS,)).to(device), given)
    log_p = model.logits(hidden).float().log_softmax(dim=2)[:, range(len(output)), output]
    losses = (log_p[0] - log_p[1]).clamp(min=0).double().cpu().numpy()
    return np.asarray(losses / max(losses.max(), 1e-9))


def of_source(by_name: Weights) -> np.ndarray | None:
    """The mean of all attention to the source, over layers and heads: (T, S + 1); None of a model without any."""
    heads = [head for name, heads in by_name.items() if name.startswith(("attention", "cross")) for head in heads]
    return np.mean(heads, axis=0) if heads else None
