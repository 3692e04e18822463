"""Greedy search: the likeliest piece at every step."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pipeline import ids
from pipeline.decoding.logits import logit_blocks
from pipeline.models import interface


@torch.inference_mode()
def decode(model: interface.Model, source: Tensor, max_lengths: Tensor | Sequence[int]) -> list[list[int]]:
    """The pieces of each translation, without BOS and EOS.

    A sentence ends at its EOS, or without one at its maximum length (in pieces, EOS counted); its row then leaves the
    batch. Of equally likely pieces the lower id is taken. The caller has put the model into `eval()`.

    Shapes: source (B, S), each row ending with EOS and padded with PAD; max_lengths (B,).
    """
    limits = torch.as_tensor(max_lengths, device=source.device)
    sentence = (limits > 0).nonzero().flatten()  # (N,) the sentence of each row
    if len(sentence) == 0:
        return [[] for _ in range(len(source))]
    written = []  # columns (B,); as many as the longest translation has, which may be far below its limit
    with interface.prepacking(model):
        state, tokens = model.start(source[sentence]), torch.full_like(sentence, ids.BOS)
        while len(sentence):
            hidden, state = model.step(state, tokens)
            # `max` takes a third of the time of `argmax`.
            tokens = torch.cat([logits.max(dim=1).indices for _, logits in logit_blocks(model, hidden)])
            written.append(torch.full_like(limits, ids.EOS).index_copy_(0, sentence, tokens))
            alive = ((tokens != ids.EOS) & (len(written) < limits[sentence])).nonzero().flatten()
            if len(alive) < len(sentence):
                state, tokens, sentence = state.select(alive, alive), tokens[alive], sentence[alive]
    return [line[: line.index(ids.EOS)] if ids.EOS in line else line for line in torch.stack(written, dim=1).tolist()]
