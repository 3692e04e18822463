"""Random translations: each piece is drawn with the probability that the model gives it."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pipeline.decoding.greedy import piece_by_piece
from pipeline.decoding.search import Hypothesis, choose_pieces, forbidden
from pipeline.models import interface
from pipeline.seeding import generator


def draws(seed: int, line: int, sample: int, length: int) -> np.ndarray:
    """The random numbers of one translation, one a piece, in [0, 1): a function of the arguments alone.

    They are multiples of 2^-32, so that a product with a sum of probabilities is less than this sum.
    """
    return generator(seed, "sample", line, sample).integers(2**32, size=length) / 2**32


@torch.inference_mode()
def decode(
    model: interface.Model,
    source: Tensor,
    uniform: Sequence[np.ndarray],
    *,
    temperature: float,
    unknown: bool = False,
) -> list[Hypothesis]:
    """One translation of each sentence and its log P in nats, at temperature 1; with `unknown` it may hold UNK.

    Step t of row b takes the first piece at which the sum of the probabilities exceeds `uniform[b][t]`. A sentence ends
    at its EOS, or without one after as many pieces, EOS counted, as there are numbers. Probabilities are those of
    logits / temperature: less than 1 favours likely pieces. The caller has put the model into `eval()`.

    Shapes: source (B, S), each row ending with EOS and padded with PAD; `uniform` holds B arrays.
    """
    device, never = source.device, forbidden(unknown=unknown)
    limits = [len(own) for own in uniform]
    drawn = torch.zeros(len(uniform), max(limits), dtype=torch.float64)
    for row, own in enumerate(uniform):
        drawn[row, : len(own)] = torch.from_numpy(own)
    drawn, total = drawn.to(device), torch.zeros(len(source), dtype=torch.float64, device=device)

    def draw(hidden: Tensor, sentence: Tensor, length: int) -> Tensor:
        numbers = drawn[sentence, length]

        def chooser(logits: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
            log_p = torch.log_softmax(logits, dim=1).double()
            likeliest = log_p.amax(dim=1, keepdim=True)  # subtracted, so that no temperature overflows
            sums = torch.softmax((log_p - likeliest) / temperature, dim=1).cumsum(dim=1)
            pieces = torch.searchsorted(sums, (numbers[rows] * sums[:, -1])[:, None], right=True)
            return pieces[:, 0], log_p.gather(1, pieces)[:, 0]

        pieces, log_p = choose_pieces(model, hidden, chooser, never)
        total[sentence] += log_p
        return pieces

    found = piece_by_piece(model, source, limits, draw)
    return [Hypothesis(pieces, log_p) for pieces, log_p in zip(found, total.tolist(), strict=True)]
