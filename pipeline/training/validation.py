"""What a training is judged by on its way: validation loss, and greedy translations of the first sentences."""

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import torch
from torch.nn import functional as F

from pipeline.decoding import greedy
from pipeline.encoding.batching import Batch, collate, in_order
from pipeline.encoding.budget import Training
from pipeline.encoding.shards import Encoded
from pipeline.evaluation.bleu import bleu
from pipeline.files import DataError, count_lines, read_lines
from pipeline.models.interface import Model
from pipeline.training.loop import ROWS, autocast, real_hidden
from pipeline.training.ranks import Ranks
from pipeline.vocabularies.vocabulary import Vocabulary


class Judge:
    """Measures a model on the validation part, always the same way."""

    def __init__(
        self, validation: Encoded, references: Path, vocabulary: Vocabulary, training: Training, precision: str
    ) -> None:
        self.validation, self.vocabulary, self.training, self.precision = validation, vocabulary, training, precision
        if (count := count_lines(references)) != len(validation.source):
            raise DataError(
                f"{references}: {count} lines, {len(validation.source)} encoded pairs: they must be parallel"
            )
        self.references = list(islice(read_lines(references), training.validation_sentences))

    @torch.inference_mode()
    def __call__(self, model: Model, device: torch.device, ranks: Ranks) -> dict[str, float]:
        """validation_loss (nats per target token), _perplexity, _accuracy (of tokens), _bleu (greedy, 13a, cased).

        The ranks share the micro-batches and all have the scores.
        """
        model.eval()
        mine = in_order(self.validation, self.training.tokens_per_batch)[ranks.share]
        batches = (collate(self.validation, pairs) for pairs in mine)
        scored = ranks.collect(list(token_scores(model, batches, precision=self.precision, device=device)))
        losses, right, tokens = (sum(numbers) for numbers in zip(*scored, strict=True))
        loss, accuracy = losses / tokens, right / tokens
        scores = {"validation_loss": loss, "validation_perplexity": math.exp(min(loss, 700.0))}
        scores["validation_accuracy"] = accuracy
        if self.references:
            scores["validation_bleu"] = bleu(self.translations(model, device, ranks), self.references)
        return scores

    def translations(self, model: Model, device: torch.device, ranks: Ranks) -> list[str]:
        """Greedy translations of the first `validation_sentences`, at most as long as a training sentence may be."""
        mine: list[dict[int, list[int]]] = []
        batches = in_order(self.validation, self.training.tokens_per_batch, first=len(self.references))
        for pairs in batches[ranks.share]:
            source = collate(self.validation, pairs).source.to(device)
            pieces = greedy.decode(model, source, [self.training.max_length] * len(pairs))
            mine.append(dict(zip(pairs.tolist(), pieces, strict=True)))
        found = {pair: pieces for some in ranks.collect(mine) for pair, pieces in some.items()}
        return self.vocabulary.decode_target(found[pair] for pair in sorted(found))


def token_scores(
    model: Model, batches: Iterable[Batch], *, precision: str, device: torch.device
) -> Iterator[tuple[float, int, int]]:
    """Of each micro-batch the cross-entropy in nats, how many target tokens were found likeliest, and how many are.

    The loss is plain, whatever the training's is; the true prefix is given, and the end of the sentence is a token.
    """
    for batch in batches:
        with autocast(precision, device):
            hidden, targets = real_hidden(model, batch.to(device))
        loss = right = 0.0
        blocks = (torch.split(tensor, ROWS[device.type]) for tensor in (hidden, targets))
        for rows, gold in zip(*blocks, strict=True):
            with autocast(precision, device):
                logits = model.logits(rows)
            loss += F.cross_entropy(logits.float(), gold, reduction="sum").item()
            right += int((logits.argmax(dim=1) == gold).sum())
        yield loss, int(right), len(targets)
