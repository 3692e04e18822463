"""Diverse translations: each hypothesis pays for a piece that an earlier one of its sentence has at this position."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pipeline.decoding.greedy import piece_by_piece
from pipeline.decoding.search import Hypothesis, choose_pieces, forbidden
from pipeline.models import interface


@torch.inference_mode()
def decode(
    model: interface.Model,
    source: Tensor,
    max_lengths: Sequence[int],
    *,
    number: int,
    strength: float,
    unknown: bool = False,
) -> list[list[Hypothesis]]:
    """`number` translations of each sentence and their log P in nats, in the order in which they were searched.

    The first is the greedy one. Each further one takes at every step the piece with the highest log P less `strength`
    times the number of hypotheses before it that take this piece at this step. Scores are without that penalty. Two
    translations may still be the same. A sentence ends as in greedy search; with `unknown` it may hold UNK. The caller
    has put the model into `eval()`.

    Shapes: source (B, S), each row ending with EOS and padded with PAD; max_lengths (B,).
    Source: Vijayakumar et al. 2018, diverse beam search with Hamming diversity, whose groups are a hypothesis each.
        fairseq calls these `--diverse-beam-groups` and `--diverse-beam-strength`.
    """
    never, rows = forbidden(unknown=unknown), source.repeat_interleave(number, dim=0)
    total = torch.zeros(len(rows), dtype=torch.float64, device=source.device)

    def choose(hidden: Tensor, row: Tensor, _: int) -> Tensor:
        [log_p] = choose_pieces(model, hidden, lambda logits, _: (torch.log_softmax(logits, dim=1),), never)
        taken = log_p.new_zeros(len(source), log_p.shape[1])  # how often, by sentence and piece
        pieces, sentence = torch.empty_like(row), row // number
        for member in range(number):
            mine = (row % number == member).nonzero().flatten()
            found = (log_p[mine] - strength * taken[sentence[mine]]).max(dim=1).indices
            taken[sentence[mine], found] += 1
            pieces[mine] = found
        total[row] += log_p.gather(1, pieces[:, None])[:, 0]
        return pieces

    limits = torch.as_tensor(max_lengths).repeat_interleave(number)
    texts = piece_by_piece(model, rows, limits, choose)
    found = [Hypothesis(text, score) for text, score in zip(texts, total.tolist(), strict=True)]
    return [found[begin : begin + number] for begin in range(0, len(found), number)]
