"""`nmt anatomy`: the parts of training in pictures, their numbers computed by the functions that training uses."""

from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer

from ..common import files
from ..common.system import Build, config_file
from ..compute import ids
from ..layers.attention import attention_weights
from ..layers.positions import sinusoids
from ..report import attention, charts, page
from ..report.charts import Chart
from ..training.learning import Learning
from ..training.loss import masses
from . import catalogue
from .project import check_here

# Examples for the pictures; training does not use them.
LENGTH, WIDTH, DIMENSIONS = 100, 128, (24, 25, 40, 41)
UPDATES = [1, *range(10, 1001, 10)]
PIECES = ["<pad>", "<unk>", "<s>", "</s>", "▁the", "▁cat", "▁sleeps", "."]
TARGET = ["▁the", "▁cat", "▁sleeps", ".", "</s>"]


def anatomy(
    out: Annotated[Path, typer.Option(help="The page.")] = Path("work/anatomy.html"),
) -> None:
    """Draw positions, learning rates, label smoothing and the causal mask as an HTML page that needs no network.

    Learning rates and label smoothing are those of the systems that `build` chooses.
    """
    check_here()
    catalogue.check()
    learnings = {}
    for system in Build.load("build").systems():
        place = f"{config_file(system.model)}:"
        learnings[f"{system.model} {system.size}"] = Learning.load_own(f"{place}shared", f"{place}{system.size}")
    maps = {"causal mask": [causal_mask()]}
    for learning in learnings.values():
        smoothing = f"{learning.label_smoothing:g} over {learning.smoothing_spread}"
        maps[f"target, label smoothing: {smoothing if learning.label_smoothing else 'none'}"] = [targets(learning)]
    with files.new_file(out) as file:
        drawn = [positions(), rates(learnings)]
        file.write(page.TEMPLATES.get_template("anatomy.html").render(charts=drawn, maps=maps))
    print(out)


def positions() -> Chart:
    """Some dimensions of the table that is added to the embeddings."""
    table = sinusoids(LENGTH, WIDTH)
    lines = {f"dimension {d}": [(float(n), float(row[d])) for n, row in enumerate(table)] for d in DIMENSIONS}
    return charts.chart("Positional encoding", "position", lines)


def rates(learnings: dict[str, Learning]) -> Chart:
    """Learning rates of a training of `UPDATES`, in shares of each one's highest."""
    lines = {}
    for name, learning in learnings.items():
        values = [learning.schedule.rate(update, width=WIDTH, updates=UPDATES[-1]) for update in UPDATES]
        lines[name] = [(update, value / max(values)) for update, value in zip(UPDATES, values, strict=True)]
    return charts.chart("Learning rate, in shares of its highest", "updates", lines, from_zero=True)


def targets(learning: Learning) -> dict[str, object]:
    """The distribution that training aims at, a row for each right piece."""
    gold, other, padding = masses(len(PIECES), learning.label_smoothing, learning.smoothing_spread)
    rows = np.full((len(TARGET), len(PIECES)), other)
    rows[:, ids.PAD] = padding
    rows[range(len(TARGET)), [PIECES.index(piece) for piece in TARGET]] = gold
    return matrix(TARGET, PIECES, rows)


def causal_mask() -> dict[str, object]:
    """Which pieces the decoder of a Transformer sees: where its self-attention has weights above 0."""
    nothing = torch.zeros(1, 1, len(TARGET), 1)
    seen = attention_weights(nothing, nothing, None, causal=True)[0, 0] > 0
    return matrix(TARGET, ["<s>", *TARGET[:-1]], seen.numpy())


def matrix(rows: list[str], columns: list[str], values: object) -> dict[str, object]:
    """Values from 0 to 1 as the page's script draws them."""
    heads = {"values": attention.encoded(np.asarray(values, dtype=float))}
    maps = [{"title": "", "rows": "target", "columns": "source", "heads": heads}]
    return {"title": "", "text": "", "source": columns, "target": rows, "maps": maps}
