"""Greedy search: the likeliest piece at every step, or one that is drawn."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..compute import ids
from ..models import interface
from .scores import Hypothesis, logit_blocks
from .settings import length_penalty


def likeliest(logits: Tensor, sentence: Tensor) -> Tensor:
    """The likeliest piece of each row; the first of equals."""
    return logits.max(dim=1).indices  # `argmax` takes three times as long


@torch.inference_mode()
def decode(
    model: interface.Model,
    source: Tensor,
    max_lengths: Tensor | Sequence[int],
    *,
    alpha: float = 0.0,
    unknown: bool = False,
    no_repeat: int = 0,
    choose: Callable[[Tensor, Tensor], Tensor] = likeliest,
) -> list[Hypothesis]:
    """The translation of each sentence; its score is log P over the length penalty. UNK only with `unknown`.

    With `no_repeat` none holds an n-gram of so many pieces twice. `choose` gives the next pieces of some sentences, by
    their logits and their rows in `source`.

    A sentence ends at its EOS, or without one at its maximum length (in pieces, EOS counted); its row then leaves the
    batch. Of equally likely pieces the lower id is taken. The caller has put the model into `eval()`.

    Shapes: source (B, S), each row ending with EOS and padded with PAD; max_lengths (B,).
    """
    limits = torch.as_tensor(max_lengths, device=source.device)
    sentence = (limits > 0).nonzero().flatten()  # (N,) the sentence of each row
    if len(sentence) == 0:
        return [Hypothesis([], 0.0) for _ in range(len(source))]
    log_p = torch.zeros(len(source), device=source.device)
    written: list[Tensor] = []  # columns (B,); as many as the longest translation has, which may be far below its limit
    with interface.prepacking(model):
        state, tokens = model.start(source[sentence]), torch.full_like(sentence, ids.BOS)
        while len(sentence):
            hidden, state = model.step(state, tokens)
            prefixes = torch.stack(written, dim=1)[sentence] if no_repeat and written else None
            best = []
            for rows, logits in logit_blocks(model, hidden, prefixes, unknown=unknown, no_repeat=no_repeat):
                tokens = choose(logits, sentence[rows])
                best.append((tokens, torch.log_softmax(logits, dim=1).gather(1, tokens[:, None])[:, 0]))
            tokens, scores = (torch.cat(tensors) for tensors in zip(*best, strict=True))
            log_p.index_add_(0, sentence, scores)
            written.append(torch.full_like(limits, ids.EOS).index_copy_(0, sentence, tokens))
            alive = ((tokens != ids.EOS) & (len(written) < limits[sentence])).nonzero().flatten()
            if len(alive) < len(sentence):
                state, tokens, sentence = state.select(alive, alive), tokens[alive], sentence[alive]
    lines = torch.stack(written, dim=1).tolist()
    lines = [line[: line.index(ids.EOS)] if ids.EOS in line else line for line in lines]
    lengths = torch.tensor([len(line) + 1 for line in lines]).minimum(limits.cpu()).double()
    scores = log_p.cpu() / length_penalty(lengths, alpha)
    return [Hypothesis(line, score) for line, score in zip(lines, scores.tolist(), strict=True)]
