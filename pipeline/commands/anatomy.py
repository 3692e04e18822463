"""`nmt anatomy`: the parts of training in pictures, their numbers computed by the functions that training uses."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer

from pipeline import catalogue, ids
from pipeline.commands.out import check, new_folder
from pipeline.commands.project import check_here
from pipeline.evaluation.anatomy import Anatomy, Mask, write
from pipeline.evaluation.panels import Array
from pipeline.layers.positions import sinusoids
from pipeline.models import interface
from pipeline.params import read_yaml
from pipeline.system import config_file
from pipeline.training.learning import Learning
from pipeline.training.loss import Spread, masses, smoothed_cross_entropy

# Examples for the pictures; training does not use them.
LENGTH, WIDTH, DIMENSIONS = 100, 128, [4, 5, 6, 7]
UPDATES = [1, *range(20, 20_001, 20)]
PIECES = ["<pad>", "<unk>", "<s>", "</s>", "▁the", "▁cat", "▁sleeps", "."]
GOLD = ["▁the", "▁cat", "▁sleeps", ".", "</s>", "<pad>"]
CONFIDENCE = np.concatenate([np.arange(1, 100) / 100, 1 - np.geomspace(0.009, 1e-4, 50)])
SOURCES = [["▁le", "▁chat", "▁dort", "</s>"], ["▁oui", ".", "</s>", "<pad>"], ["▁non", "</s>", "<pad>", "<pad>"]]
INPUT = ["<s>", "▁the", "▁cat", "▁sleeps", "."]


def anatomy(
    out: Annotated[
        Path | None, typer.Option(help="Folder of the page and the pictures; work/anatomy without it.")
    ] = None,
) -> None:
    """Draw positions, learning rates, label smoothing and masks as a page (index.html, readable offline) and as PNGs.

    Learning rates and label smoothing are those of every model and size in configs/.
    """
    check_here()
    check(out, "anatomy")
    catalogue.check()
    sections = list(learnings())
    smoothings = sorted({(learning.label_smoothing, learning.smoothing_spread) for _, _, learning in sections})
    drawn = Anatomy(
        positions=sinusoids(LENGTH, WIDTH).numpy(),
        dimensions=DIMENSIONS,
        updates=UPDATES,
        rates={name_schedule(name, one): rates(width, one) for name, width, one in sections},
        pieces=PIECES,
        gold=GOLD,
        targets={name_smoothing(*smoothing): targets(*smoothing) for smoothing in smoothings},
        confidence=CONFIDENCE,
        penalties={name_smoothing(*smoothing): penalties(*smoothing) for smoothing in smoothings},
        masks=masks(),
    )
    with new_folder(out, Path("work/anatomy"), "anatomy") as (folder, path):
        page = write(folder, drawn)
    print(path / page.name)


def learnings() -> Iterator[tuple[str, int, Learning]]:
    """Name, width and learning of every size of every model."""
    for model in interface.names():
        path = config_file(model)
        for size in catalogue.sizes_of(read_yaml(path)):
            places = f"{path}:{catalogue.SHARED}", f"{path}:{size}"
            arch = interface.find(model).Arch.load_own(*places)
            yield f"{model} {size}", arch.width, Learning.load_own(*places)


def name_schedule(name: str, learning: Learning) -> str:
    """A model and its schedule in words; the picture shows the peak."""
    values, last = learning.schedule.model_dump(), UPDATES[-1]
    warmup = f", warmup {values['warmup']}" if "warmup" in values else ""
    rate = partial(learning.schedule.rate, last, width=WIDTH)
    end = f", {last} updates" if rate(updates=last) != rate(updates=2 * last) else ""  # depends on the length
    return f"{name}: {values['kind']}{warmup}{end}"


def rates(width: int, learning: Learning) -> Array:
    """The learning rate at each of `UPDATES`, in a training that ends with the last of them."""
    schedule, last = learning.schedule, UPDATES[-1]
    return np.array([schedule.rate(update, width=width, updates=last) for update in UPDATES])


def name_smoothing(smoothing: float, spread: Spread) -> str:
    """A label smoothing in words."""
    return f"{spread}, {smoothing:g}" if smoothing else "none"


def targets(smoothing: float, spread: Spread) -> Array:
    """The target distribution of each token of `GOLD`, a row each; zeros for padding: (R, V)."""
    gold, other, padding = masses(len(PIECES), smoothing, spread)
    rows = np.zeros((len(GOLD), len(PIECES)))
    for row, right in zip(rows, map(PIECES.index, GOLD), strict=True):
        if right != ids.PAD:
            row[:] = other
            row[ids.PAD], row[right] = padding, gold
    return rows


def penalties(smoothing: float, spread: Spread) -> Array:
    """The loss of one token at every one of `CONFIDENCE`, the rest of the probability spread evenly: (M,)."""
    size, right = len(PIECES), torch.tensor([len(PIECES) - 1])
    shares = ((1 - CONFIDENCE) / (size - 1))[:, None].repeat(size, axis=1)
    shares[:, -1] = CONFIDENCE
    log_p = torch.from_numpy(np.log(shares)).float()
    return np.array(
        [smoothed_cross_entropy(row[None], right, smoothing=smoothing, spread=spread).item() for row in log_p]
    )


def masks() -> dict[str, Mask]:
    """The positions that a Transformer sees: those where a random one, reading `SOURCES`, has weights above 0."""
    found = interface.find("transformer_prenorm")
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "width": 8, "heads": 1, "feed_forward": 8}
    dropout = {"dropout": 0.0, "attention_dropout": 0.0, "feed_forward_dropout": 0.0}
    others = {"tied_embeddings": "none", "initialisation": {"kind": "xavier", "sublayer_gain": 1.0}}
    arch = found.Arch.model_validate(sizes | dropout | others)
    torch.manual_seed(1)
    model = found.Model(arch, source_size=len(PIECES), target_size=len(PIECES)).eval()
    source = torch.tensor([[ids.PAD if piece == "<pad>" else ids.EOS for piece in row] for row in SOURCES])
    target_input = torch.full((len(SOURCES), len(INPUT)), ids.BOS)
    seen = {name: (heads[:, 0] > 0).numpy() for name, heads in model.attention(source, target_input).items()}
    positions = [str(position) for position, _ in enumerate(SOURCES[0], 1)]
    sentences = [f"sentence {row}" for row, _ in enumerate(SOURCES, 1)]
    return {
        "causal": Mask(INPUT, INPUT, seen["decoder 1"][0]),
        "padding": Mask(sentences, positions, seen["encoder 1"][:, 0]),
        "padding, sentence 2": Mask(INPUT, SOURCES[1], seen["cross 1"][1]),
    }
