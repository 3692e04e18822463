"""Validation during training: loss on the whole part, BLEU of greedy translations of its first sentences."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import torch
from torch.nn import functional as F

from ..common.files import read_lines
from ..common.normalisation import normalised
from ..compute.device import release_memory
from ..decoding import greedy
from ..encoding.shards import Encoded
from ..evaluation.bleu import bleu
from ..models.interface import Model
from ..vocabularies.vocabulary import Vocabulary
from .batching import Batch, collate, sorted_batches
from .budget import Training
from .learning import Learning
from .loop import LOGIT_ROWS, DivergedError, autocast, unpadded_hidden
from .ranks import Ranks
from .state import TrainState


class Validator:
    """Scores a model on the validation part."""

    def __init__(
        self,
        validation: Encoded,
        references: Path,
        vocabulary: Vocabulary,
        training: Training,
        learning: Learning,
        *,
        tokenize: str,
    ) -> None:
        self.validation, self.vocabulary, self.tokenize = validation, vocabulary, tokenize
        self.training, self.precision, self.warmup = training, learning.precision, learning.schedule.warmup
        self.references = [normalised(line) for line in islice(read_lines(references), training.validation_sentences)]

    def validated(self, state: TrainState, model: Model, device: torch.device, ranks: Ranks) -> TrainState:
        """The state with one more validation.

        Raises: DivergedError if the training does not learn.
        """
        state = state.with_validation(self.validate(model, device, ranks, state.update))
        is_last = state.is_finished(self.training)
        check_progress(state.history, self.vocabulary.target_size, self.warmup, is_last=is_last)
        return state

    @torch.inference_mode()
    def validate(self, model: Model, device: torch.device, ranks: Ranks, update: int) -> dict[str, float]:
        """validation_loss (nats per target token), _perplexity, _accuracy (of tokens), _bleu (greedy, cased).

        Each rank scores its shard of the micro-batches; all return the same scores.
        Raises: DivergedError naming the update if the loss is not finite.
        """
        release_memory()  # validation's peak comes on top of what the updates have left allocated
        model.eval()
        shard = sorted_batches(self.validation, self.training.tokens_per_batch)[ranks.shard]
        batches = (collate(self.validation, pairs) for pairs in shard)
        scored = ranks.all_gather(list(token_scores(model, batches, precision=self.precision, device=device)))
        loss, correct, tokens = (sum(numbers) for numbers in zip(*scored, strict=True))
        loss, accuracy = loss / tokens, correct / tokens
        if not math.isfinite(loss):
            expected = "expected a finite number: lower the learning rate or clip harder"
            raise DivergedError(f"update {update}, validation part: loss is {loss}; {expected}")
        scores = {"validation_loss": loss, "validation_perplexity": math.exp(min(loss, 700.0))}
        scores["validation_accuracy"] = accuracy
        if self.references:
            scores["validation_bleu"] = bleu(self.translations(model, device, ranks), self.references, self.tokenize)
        return scores

    def translations(self, model: Model, device: torch.device, ranks: Ranks) -> list[str]:
        """Greedy translations of the first `validation_sentences`, each at most `max_length` pieces long."""
        shard: list[dict[int, list[int]]] = []
        batches = sorted_batches(self.validation, self.training.tokens_per_batch, first=len(self.references))
        for pairs in batches[ranks.shard]:
            source = collate(self.validation, pairs).source.to(device)
            hypotheses = greedy.decode(model, source, [self.training.max_length] * len(pairs))
            shard.append({pair: best.ids for pair, best in zip(pairs.tolist(), hypotheses, strict=True)})
        translated = {pair: pieces for batch in ranks.all_gather(shard) for pair, pieces in batch.items()}
        return self.vocabulary.decode_target(translated[pair] for pair in sorted(translated))


def check_progress(history: Sequence[Mapping[str, float]], num_pieces: int, warmup: int, *, is_last: bool) -> None:
    """Check that a training does better than to find all pieces equally likely, which costs log(`num_pieces`).

    Checked after warm-up, and before the last validation only unless the loss is still falling. A training loss below
    that is no divergence: the network has learnt, if not what the validation part holds.

    Raises: DivergedError naming the update and both losses.
    """
    guess = math.log(num_pieces)
    rows = [row for row in history if row["update"] > warmup][-1 if is_last else -2 :]
    losses = [row["validation_loss"] for row in rows if min(row["validation_loss"], row["train_loss"]) > guess]
    if len(losses) == (1 if is_last else 2) and losses[-1] >= losses[0]:
        raise DivergedError(
            f"update {rows[-1]['update']}, validation part: loss is {losses[-1]:.4g} nats per token, in training "
            f"{rows[-1]['train_loss']:.4g}; expected less than a guess among all pieces, {guess:.2f}, after warm-up: "
            "lower the learning rate (`schedule` of the model's size)"
        )


def token_scores(
    model: Model, batches: Iterable[Batch], *, precision: str, device: torch.device
) -> Iterator[tuple[float, int, int]]:
    """For each micro-batch: cross-entropy in nats (never smoothed), tokens predicted correctly, tokens.

    Each token, EOS included, is predicted from the true prefix (teacher forcing). Logits are in fp32: in bf16 many
    pieces would share the highest.
    """
    for batch in batches:
        with autocast(precision, device):
            hidden, targets = unpadded_hidden(model, batch.to(device))
        loss, correct = 0.0, 0
        blocks = (torch.split(tensor, LOGIT_ROWS[device.type]) for tensor in (hidden, targets))
        for rows, gold in zip(*blocks, strict=True):
            logits = model.logits(rows.float())
            loss += F.cross_entropy(logits, gold, reduction="sum").item()
            correct += int((logits.argmax(dim=1) == gold).sum())
        yield loss, correct, len(targets)
