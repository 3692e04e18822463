"""What a model looks at while it translates: which sentences to show, and the weights of its attention."""

from collections.abc import Sequence
from typing import Annotated, Self, TypeAlias

import torch
from pydantic import Field, PositiveInt, model_validator

from pipeline import ids
from pipeline.decoding import greedy
from pipeline.encoding.padding import pad
from pipeline.models import interface
from pipeline.params import Section
from pipeline.seeding import generator

Weights: TypeAlias = dict[str, list[list[list[float]]]]  # name -> heads, rows, columns

DECIMALS = 4  # of a weight: finer than any picture shows


class Attending(Section):
    """Section `attend`: how many sentences of each test part, and which."""

    sentences: PositiveInt
    min_words: PositiveInt  # of a source, at spaces; others are taken
    max_words: PositiveInt  # only where these are too few
    max_length_offset: PositiveInt  # the longest translation, EOS counted, is source pieces + offset
    seed: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def leave_some_lengths(self) -> Self:
        """A sentence that is too short is not too long."""
        if self.max_words < self.min_words:
            raise ValueError(f"max_words must be at least min_words {self.min_words}, got {self.max_words}")
        return self


def choose(lines: Sequence[str], attending: Attending, part: str) -> list[int]:
    """Indices of the lines to show, rising; every system of a corpus shows the same.

    Lines without a word are never among them, so there may be fewer than asked for.
    """
    words = [len(line.split()) for line in lines]
    fits = [attending.min_words <= count <= attending.max_words for count in words]
    fitting = [index for index, count in enumerate(words) if count and fits[index]]
    others = [index for index, count in enumerate(words) if count and not fits[index]]
    random = generator(attending.seed, f"attend {part}")
    drawn = [*random.permutation(fitting), *random.permutation(others)][: attending.sentences]
    return sorted(map(int, drawn))


def likeliest(model: interface.Model, source: Sequence[int], max_length: int, device: torch.device) -> list[int]:
    """The greedy translation of one source, as `written` gives it. The caller has put the model into `eval()`."""
    [pieces] = greedy.decode(model, pad([source], after=(ids.EOS,)).to(device), [max_length])
    return written(pieces, max_length)


def written(pieces: Sequence[int], max_length: int) -> list[int]:
    """All that the model wrote of a translation: its pieces, and EOS where it came to its end by itself."""
    return [*pieces, ids.EOS] if len(pieces) < max_length or not pieces else [*pieces]


@torch.inference_mode()
def weights(model: interface.Model, source: Sequence[int], output: Sequence[int], device: torch.device) -> Weights:
    """The model's attention while it reads `source` (without EOS) and writes `output` (as `written` gives it), rounded.

    Row t of a target-side picture is the step that writes piece t of `output`. The caller has put the model on
    `device` and into `eval()`.
    """
    target_input = torch.tensor([[ids.BOS, *output[:-1]]], device=device)
    found = model.attention(pad([source], after=(ids.EOS,)).to(device), target_input)
    return {name: torch.round(heads[0].double(), decimals=DECIMALS).tolist() for name, heads in found.items()}
