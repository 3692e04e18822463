"""Validation loss in nats per target token and greedy BLEU, of a model whose answers are known."""

import contextlib
import math
from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pipeline.common import files
from pipeline.compute import ids
from pipeline.layers.decoder_state import DecoderState, Rows
from pipeline.models.transformer_prenorm import Arch, Model
from pipeline.training.batching import collate, sorted_batches
from pipeline.training.loop import DivergedError
from pipeline.training.ranks import Ranks
from pipeline.training.validation import Validator, check_progress, token_scores
from tests.toys import samples

CPU = torch.device("cpu")
SIZE = 30
LINES = [[5, 6, 7, 8, 9], [10, 11, 12, 13], [], [14, 15, 16, 17, 18, 19, 20], [21, 22, 23, 24, 25, 26], [9, 8, 7, 6]]


@dataclass(frozen=True)
class Sources(Rows):
    pieces: torch.Tensor


@dataclass(frozen=True)
class Reading(DecoderState):
    position: torch.Tensor


class Copier(nn.Module):
    """Says the source again; the right piece has the logit `sure`, all others 0."""

    def __init__(self, sure: float) -> None:
        super().__init__()
        self.sure = sure
        self.modes: list[bool] = []  # training or not, at each call

    def hidden(self, source, target_input):
        self.modes.append(self.training)
        assert not torch.is_grad_enabled() or self.training
        return self.sure * F.one_hot(source[:, : target_input.shape[1]], SIZE).float()

    def logits(self, hidden):
        return hidden.clone()

    def start(self, source):
        self.modes.append(self.training)
        return Reading(Sources(source), torch.zeros(len(source), dtype=torch.int64))

    def step(self, state, tokens):
        pieces = state.source.pieces
        current = pieces[torch.arange(len(tokens)), state.position.clamp(max=pieces.shape[1] - 1)]
        return self.sure * F.one_hot(current, SIZE).float(), Reading(state.source, state.position + 1)


class Numbers:
    """A vocabulary whose pieces are their own numbers."""

    def decode_target(self, sentences):
        return [text(sentence) for sentence in sentences]


def text(sentence):
    return " ".join(f"number{piece}" for piece in sentence)


@pytest.fixture
def validator(tmp_path):
    """Builds the validator of a copying task."""

    def build(references=None, tokenize="13a", **changed):
        lines = [text(line) for line in LINES] if references is None else references
        files.write_lines(tmp_path / "references.txt", lines)
        settings = samples.training(**{"validation_sentences": 100, "tokens_per_batch": 16} | changed)
        part, references, learning = samples.encoded(LINES, LINES), tmp_path / "references.txt", samples.learning()
        return Validator(part, references, Numbers(), settings, learning, tokenize=tokenize)

    return build


@pytest.mark.parametrize("sure", [0.0, 1.0, 4.0])
def test_loss_by_hand(validator, sure):
    """Every token, EOS included, has the probability e^sure / (e^sure + 29)."""
    scores = validator().validate(Copier(sure), CPU, Ranks(), 8)
    expected = math.log(1 + 29 * math.exp(-sure))
    assert scores["validation_loss"] == pytest.approx(expected, rel=1e-6)
    assert scores["validation_perplexity"] == pytest.approx(1 + 29 * math.exp(-sure), rel=1e-6)


@pytest.mark.parametrize("sure", [math.nan, math.inf])
def test_a_loss_that_is_no_number_ends_the_training(validator, sure):
    with pytest.raises(DivergedError, match=r"^update 8, validation part: loss is nan; expected a finite number"):
        validator().validate(Copier(sure), CPU, Ranks(), 8)


@pytest.mark.parametrize(
    ("losses", "warmup", "is_last", "diverged"),
    [
        ([(8.0, 9.0), (8.1, 9.0)], 0, False, True),  # log(30) is 3.4
        ([(8.0, 9.0), (7.9, 9.0)], 0, False, False),  # a slow start
        ([(8.0, 9.0), (7.9, 9.0)], 0, True, True),  # ... and no more than that
        ([(8.0, 9.0), (8.1, 9.0)], 2, True, False),
        ([(8.0, 9.0), (8.1, 0.5)], 0, True, False),  # learnt by heart
        ([(2.0, 2.0), (8.1, 9.0)], 0, False, False),  # one validation may be bad
    ],
)
def test_a_training_worse_than_guessing_has_diverged(losses, warmup, is_last, diverged):
    keys = ("update", "validation_loss", "train_loss")
    history = [dict(zip(keys, (update, *both), strict=True)) for update, both in enumerate(losses, 1)]
    with pytest.raises(DivergedError) if diverged else contextlib.nullcontext():
        check_progress(history, SIZE, warmup, is_last=is_last)


def test_a_perfect_copy_scores_100(validator):
    """Batches are made in order of length; two references swapped, and it is no perfect copy any more."""
    scores = validator().validate(Copier(9.0), CPU, Ranks(), 8)
    assert scores["validation_bleu"] == pytest.approx(100)
    assert scores["validation_accuracy"] == 1
    swapped = [text(LINES[row]) for row in (1, 0, 2, 3, 4, 5)]
    assert validator(swapped).validate(Copier(9.0), CPU, Ranks(), 8)["validation_bleu"] < 70


def test_references_are_normalised_as_translations_are(validator):
    marked = [text(line).replace(" ", "\u200f  ") for line in LINES]
    assert validator(marked).validate(Copier(9.0), CPU, Ranks(), 8)["validation_bleu"] == pytest.approx(100)


def test_the_first_sentences_only_are_translated(validator):
    translations = validator(validation_sentences=2).translations(Copier(9.0), CPU, Ranks())
    assert translations == [text(line) for line in LINES[:2]]
    scores = validator(validation_sentences=0).validate(Copier(9.0), CPU, Ranks(), 8)
    assert list(scores) == ["validation_loss", "validation_perplexity", "validation_accuracy"]


def test_translations_are_as_long_as_training_sentences_at_most(validator):
    translations = validator(max_length=3).translations(Copier(9.0), CPU, Ranks())
    assert translations == [text(line[:3]) for line in LINES]


def test_the_model_is_validated_without_dropout(validator):
    model = Copier(1.0).train()
    validator().validate(model, CPU, Ranks(), 8)
    assert set(model.modes) == {False}


@pytest.mark.parametrize("tokens_per_batch", [1, 20, 1000])
def test_loss_and_accuracy_are_torchs_whatever_the_batches(tokens_per_batch):
    torch.manual_seed(1)
    part = samples.encoded(samples.sentences(20, seed=1), samples.sentences(20, seed=2))
    model = Model(Arch.model_validate(samples.ARCH), source_size=11, target_size=11).eval()
    batches = [collate(part, pairs) for pairs in sorted_batches(part, tokens_per_batch)]
    total = right = tokens = 0
    with torch.no_grad():
        for pair in range(20):
            source = torch.tensor([[*part.source[pair].tolist(), ids.EOS]])
            target = [*part.target[pair].tolist(), ids.EOS]
            log_p = model.logits(model.hidden(source, torch.tensor([[ids.BOS, *target[:-1]]]))).log_softmax(dim=2)
            total -= sum(log_p[0, position, piece].item() for position, piece in enumerate(target))
            right += sum(log_p[0, position].argmax().item() == piece for position, piece in enumerate(target))
            tokens += len(target)
        scored = list(token_scores(model, batches, precision="fp32", device=CPU))
    assert len(scored) == len(batches)
    assert sum(loss for loss, _, _ in scored) == pytest.approx(total, rel=1e-5)
    assert [sum(counts) for counts in list(zip(*scored, strict=True))[1:]] == [right, tokens]
    assert 0 < right < tokens
