"""What a training is judged by on its way: validation loss, and greedy translations of the first sentences."""

import math
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import torch
from torch.nn import functional as F

from pipeline.data.batching import Batch, collate, in_order
from pipeline.data.budget import Training
from pipeline.data.shards import Encoded
from pipeline.data.vocabulary import Vocabulary
from pipeline.decoding import greedy
from pipeline.evaluation.bleu import bleu
from pipeline.files import read_lines
from pipeline.models.interface import Model
from pipeline.training.loop import autocast, real_logits


class Judge:
    """Measures a model on the validation part, always the same way."""

    def __init__(
        self, validation: Encoded, references: Path, vocabulary: Vocabulary, training: Training, precision: str
    ) -> None:
        self.validation, self.vocabulary, self.training, self.precision = validation, vocabulary, training, precision
        self.references = list(islice(read_lines(references), training.validation_sentences))

    @torch.inference_mode()
    def __call__(self, model: Model, device: torch.device) -> dict[str, float]:
        """validation_loss (nats per target token), _perplexity, _accuracy (of tokens), _bleu (greedy, 13a, cased)."""
        model.eval()
        batches = (collate(self.validation, p) for p in in_order(self.validation, self.training.tokens_per_batch))
        loss, accuracy = token_scores(model, batches, precision=self.precision, device=device)
        scores = {"validation_loss": loss, "validation_perplexity": math.exp(min(loss, 700.0))}
        scores["validation_accuracy"] = accuracy
        if self.references:
            scores["validation_bleu"] = bleu(self.translations(model, device), self.references)
        return scores

    def translations(self, model: Model, device: torch.device) -> list[str]:
        """Greedy translations of the first `validation_sentences`, at most as long as a training sentence may be."""
        found: dict[int, list[int]] = {}
        for pairs in in_order(self.validation, self.training.tokens_per_batch, first=len(self.references)):
            source = collate(self.validation, pairs).source.to(device)
            pieces = greedy.decode(model, source, [self.training.max_length] * len(pairs))
            found |= zip(pairs.tolist(), pieces, strict=True)
        return self.vocabulary.decode_target(found[pair] for pair in sorted(found))


def token_scores(
    model: Model, batches: Iterable[Batch], *, precision: str, device: torch.device
) -> tuple[float, float]:
    """Plain cross-entropy in nats per target token, whatever the training loss, and the share of them found likeliest.

    The true prefix is given, and the end of the sentence is a token.
    """
    total, right, tokens = 0.0, 0, 0
    for batch in batches:
        with autocast(precision, device):
            logits, targets = real_logits(model, batch.to(device))
        total += F.cross_entropy(logits.float(), targets, reduction="sum").item()
        right += int((logits.argmax(dim=1) == targets).sum())
        tokens += len(targets)
    return total / tokens, right / tokens
