"""Findings on the curves of a training: each in a line, with its number and the usual cure."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, variance
from typing import Any, TypeAlias

from ..common import files

Rows: TypeAlias = Sequence[Mapping[str, float | str]]  # of numbers, or of a table that was read
Point: TypeAlias = tuple[int, float]

NOTHING = "nothing unusual"
# Losses are in nats a target token: 0.05 are 5 % of perplexity.
FALL = 0.05  # in the last tenth of a training that should go on; a schedule that ended well leaves 0.01 to 0.04
RISE = 0.05  # of the validation loss above its lowest
GAP = 1.0  # of validation above training, whose loss smoothing and dropout raise: good systems are below 0
JUMP = 0.15  # of the training loss above its lowest, in means of tenths of the training: good ones fall to the end
ERRORS = 4  # standard errors of that rise, else it is chance: a batch of long lines, or of a hard bitext
TENTHS = 10


def read(folder: Path) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Validations and training loss in the folder of a training; none if it was trained elsewhere."""
    paths = folder / "curves.csv", folder / "train_loss.csv"
    history, curve = (files.read_table(path) if path.exists() else [] for path in paths)
    return history, curve


def of_training(history: Rows, curve: Rows, summary: Mapping[str, Any]) -> list[str]:
    """The findings on a training, given its validations, the curve of its training loss and what it says of itself.

    The loss of several bitexts says nothing beside that of a validation part, which may be like one of them alone. A
    training that its patience has stopped is expected to have risen: what it learned best is kept.
    """
    if not history:
        return ["trained elsewhere"]
    validated = [(int(row["update"]), float(row["validation_loss"])) for row in history]
    blocks = tenths([(int(row["update"]), float(row["train_loss"])) for row in curve])
    trained = [(block[-1][0], fmean(loss for _, loss in block)) for block in blocks]
    too_high = jump(blocks)
    later = over_fitting(trained, validated, summary) or ("" if too_high else fall(trained, validated))
    return [*filter(None, (too_high, later))] or [NOTHING]


def tenths(curve: Sequence[Point]) -> list[Sequence[Point]]:
    """The tenths of a curve."""
    size = math.ceil(len(curve) / TENTHS)
    return [curve[begin : begin + size] for begin in range(0, len(curve), size)]


def jump(blocks: Sequence[Sequence[Point]]) -> str:
    """The largest rise of the training loss above what it had been; of single values none says something."""
    most, text, lowest, lowest_error = JUMP, "", math.inf, 0.0
    for losses, update in (([loss for _, loss in block], block[-1][0]) for block in blocks if len(block) > 1):
        loss, error = fmean(losses), variance(losses) / len(losses)
        if loss - lowest >= max(most, ERRORS * math.sqrt(error + lowest_error)):
            most = loss - lowest
            text = f"training loss rose from {lowest:.2f} to {loss:.2f} by update {update}"
        lowest, lowest_error = min((lowest, lowest_error), (loss, error))
    return f"{text}: the learning rate is too high; try a third of `peak_rate`, or a longer `warmup`" if text else ""


def over_fitting(trained: Sequence[Point], validated: Sequence[Point], summary: Mapping[str, Any]) -> str:
    """The rise of the validation loss since its lowest, else how far it stayed above the training loss."""
    best, lowest = min(validated, key=lambda point: point[1])
    last, known = validated[-1][1], trained[-1][1]
    if last - lowest >= RISE and summary["stopped"] != "patience":
        symptom = f"validation loss rose from {lowest:.2f} at update {best} to {last:.2f}"
    elif len(summary["mixture"]) == 1 and last - known >= GAP:
        symptom = f"validation loss is {last:.2f}, training loss {known:.2f}"
    else:
        return ""
    cure = "more text or dropout, `patience` or fewer updates, validation text of the same kind"
    return f"over-fitting: {symptom}; try {cure}"


def fall(trained: Sequence[Point], validated: Sequence[Point]) -> str:
    """How much the loss still fell in the last tenth: of validation, or of training with fewer than three of these."""
    name, curve = ("validation", validated) if len(validated) > 2 else ("training", trained)
    if len(curve) < 2:
        return ""
    (before, high), (last, low) = curve[-2:]
    fell = (high - low) / TENTHS * last / (last - before)
    if fell < FALL:
        return ""
    return f"still learning at the end: {name} loss fell by {fell:.2f} in the last tenth; try more `updates`"
