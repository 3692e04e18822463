"""Beam search for one sentence in plain Python, to be read and compared with `pipeline/decoding/beam.py`."""

import math

import torch
from torch import Tensor

from pipeline.compute import ids
from pipeline.decoding.scores import Hypothesis, mask_pieces
from pipeline.models import interface


@torch.inference_mode()
def decode(
    model: interface.Model, source: Tensor, max_length: int, *, beam_size: int, alpha: float, max_finished: float
) -> list[Hypothesis]:
    """The finished hypotheses of a sentence, the best first; see `beam.decode`.

    Shapes: source (1, S), ending with EOS.
    """
    finished: list[Hypothesis] = []
    prefixes = [([ids.BOS], 0.0, model.start(source))]  # pieces, log P, and the decoder's state
    for length in range(1, max_length + 1):
        candidates = []
        for pieces, log_p, state in prefixes:
            hidden, state = model.step(state, torch.tensor(pieces[-1:]))
            for piece, log_q in enumerate(mask_pieces(model.logits(hidden))[0].log_softmax(0).tolist()):
                candidates.append(([*pieces, piece], log_p + log_q, state))
        candidates.sort(key=lambda candidate: -candidate[1])

        penalty = ((5 + length) / 6) ** alpha
        for pieces, log_p, _ in candidates[:beam_size]:
            if pieces[-1] == ids.EOS:
                finished.append(Hypothesis(pieces[1:-1], log_p / penalty))
        prefixes = [candidate for candidate in candidates if candidate[0][-1] != ids.EOS][:beam_size]
        if length == max_length:
            finished += [Hypothesis(pieces[1:], log_p / penalty) for pieces, log_p, _ in prefixes]

        best_score = max((hypothesis.score for hypothesis in finished), default=-math.inf)
        best_hope = prefixes[0][1] / ((5 + max_length) / 6) ** alpha  # if every further piece were certain
        if best_hope <= best_score or len(finished) >= max_finished:
            break
    return sorted(finished, key=lambda hypothesis: -hypothesis.score)[:beam_size]
