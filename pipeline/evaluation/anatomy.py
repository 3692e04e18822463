"""The parts of training, drawn: positions, learning rates, label smoothing, masks. The numbers come in."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

from pipeline.evaluation import charts, grid_charts, html_pages, pictures
from pipeline.evaluation.panels import Array, Curves, Grid

TITLE = "Anatomy of a training"
FINE, COARSE, WIDE = 6, 28, 50  # pixels of a cell: less than a label, a label, a number
SPAN = 20  # times as high as the lowest line of a figure may the highest be


class Mask(NamedTuple):
    """Which columns each row may see."""

    rows: list[str]
    columns: list[str]
    seen: Array  # (rows, columns), true where the row may see the column


class Anatomy(NamedTuple):
    """The numbers to draw, computed by the functions that training uses."""

    positions: Array  # (P, D): what is added to the embedding at each position
    dimensions: list[int]  # those of the D that are drawn as curves
    updates: list[int]  # N of them, counted from 1
    rates: dict[str, Array]  # name of a schedule -> (N,) learning rates
    pieces: list[str]  # labels of a small vocabulary of V pieces
    gold: list[str]  # labels of R right pieces
    targets: dict[str, Array]  # name of a reading of label smoothing -> (R, V) target distribution of each right piece
    confidence: Array  # (M,) probability that the model gives the right piece
    penalties: dict[str, Array]  # name of a reading -> (M,) loss in nats; not drawn if it is not finite
    masks: dict[str, Mask]


def write(folder: Path, anatomy: Anatomy) -> Path:
    """Write the page as `index.html`, its PNG files and plotly's script into `folder`; the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    blocks = [block for section in (positions, rates, smoothing, masks) for block in section(folder, anatomy)]
    return html_pages.write(folder, TITLE, f"<h1>{TITLE}</h1>\n{''.join(blocks)}")


def positions(folder: Path, anatomy: Anatomy) -> Iterator[str]:
    """The table of positions: some dimensions as curves, all of them as a grid."""
    num_positions, width = anatomy.positions.shape
    yield heading("Positional encodings", "Added to the embedding of the piece at each position.")
    lines = {f"dimension {d}": (range(num_positions), anatomy.positions[:, d].tolist()) for d in anatomy.dimensions}
    about = "Some dimensions of the positional encoding over the position"
    yield curves(folder, "position_curves", about, Curves("", "position", "value", lines, [], None))
    columns, rows = [*map(str, range(width))], [*map(str, range(num_positions))]
    grid = Grid("", "dimension", "position", rows, columns, anatomy.positions, -1.0, 1.0, FINE, None)
    yield grids(folder, "positions", "The positional encoding of every position, in every dimension", {"": grid})


def rates(folder: Path, anatomy: Anatomy) -> Iterator[str]:
    """Learning rates over the updates, those of about one size in one figure."""
    yield heading("Learning-rate schedules", "The learning rate of each update.")
    for number, group in enumerate(alike(anatomy.rates), 1):
        lines = {name: (anatomy.updates, values.tolist()) for name, values in group.items()}
        panel = Curves("", "update", "learning rate", lines, [], None)
        yield curves(folder, f"rates_{number}", f"Learning rates of at most {most(group):g} over the updates", panel)


def alike(rates: dict[str, Array]) -> Iterator[dict[str, Array]]:
    """The rates in groups that one axis can show, the small ones first."""
    group: dict[str, Array] = {}
    for name, values in sorted(rates.items(), key=lambda named: float(named[1].max())):
        if group and values.max() > SPAN * next(iter(group.values())).max():
            yield group
            group = {}
        group[name] = values
    yield group


def most(rates: dict[str, Array]) -> float:
    """The highest of all rates."""
    return max(float(values.max()) for values in rates.values())


def smoothing(folder: Path, anatomy: Anatomy) -> Iterator[str]:
    """The targets of label smoothing, by each reading, and the loss over the model's certainty."""
    yield heading(
        "Label smoothing",
        "The distribution that training aims at, a row for each right piece; then the loss as the model grows surer of "
        "the right piece and spreads the rest evenly: where the labels are smoothed, certainty costs.",
    )
    targets = {
        name: Grid(name, "piece", "right piece", anatomy.gold, anatomy.pieces, values, 0.0, 1.0, WIDE, 4)
        for name, values in anatomy.targets.items()
    }
    yield grids(folder, "targets", "Target distributions, by the reading of label smoothing", targets)
    lines = {name: (anatomy.confidence.tolist(), values.tolist()) for name, values in anatomy.penalties.items()}
    panel = Curves("", "probability of the right piece", "loss (nats)", lines, [], None)
    yield curves(folder, "penalties", "Loss over the probability of the right piece", panel)


def masks(folder: Path, anatomy: Anatomy) -> Iterator[str]:
    """The masks: which column each row may see."""
    yield heading("Masks", "Dark where the row may see the column.")
    for number, (name, mask) in enumerate(anatomy.masks.items(), 1):
        grid = Grid(name, "seen", "seeing", mask.rows, mask.columns, mask.seen.astype(float), 0.0, 1.0, COARSE, None)
        yield f"<h3>{escape(name)}</h3>\n"
        yield grids(folder, f"mask_{number}", f"The mask: {name}", {"": grid})


def heading(title: str, about: str) -> str:
    """The beginning of a section."""
    return f"<h2>{title}</h2>\n<p>{about}</p>\n"


def curves(folder: Path, name: str, about: str, panel: Curves) -> str:
    """A panel of curves as a part of the page, and its PNG file in `folder`."""
    pictures.curves(folder / f"{name}.png", [panel])
    return html_pages.figure(charts.html(charts.curves([panel]), name), f"{name}.png", about)


def grids(folder: Path, name: str, about: str, named: dict[str, Grid]) -> str:
    """Grids to choose from as a part of the page, and their PNG file, side by side, in `folder`."""
    pictures.grids(folder / f"{name}.png", list(named.values()))
    chart = grid_charts.grids({title: {"": grid} for title, grid in named.items()})
    return html_pages.figure(charts.html(chart, name), f"{name}.png", about)
