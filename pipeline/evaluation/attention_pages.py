"""Pages that show what a model attended to, sentence by sentence."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from pipeline.evaluation import charts, grid_charts, html_pages, pictures
from pipeline.evaluation.attended import Attended
from pipeline.evaluation.panels import Array, Grid

KINDS = {  # the first word of an attention's name -> what it is, what its columns are, what its rows are
    "encoder": ("encoder self-attention", "source", "source"),
    "decoder": ("decoder self-attention", "target read", "target written"),
    "cross": ("cross-attention", "source", "target written"),
    "attention": ("attention", "source", "target written"),
}
MEAN = "mean of heads"
SMALLEST, LARGEST, PLOT = 22, 40, 400  # pixels of a cell, and about those of a plot
GUIDE = (
    "A row for each step, a column for each piece that the step could attend to: the stronger the blue, the more of it "
    "went into the result. Point at a cell for its weight. The weights of a row add up to 1, except where the model "
    "scales them by their distance from a centre."
)
NONE = "This model has no attention: its decoder sees the source through a single vector, and there is nothing to draw."


def write(folder: Path, title: str, sentences: Sequence[Attended], site: Path | None = None) -> Path:
    """Write the page of a model as `index.html`, and the PNG files it shows, into `folder`; the page's path.

    Plotly's script is written beside them, unless `site` names the folder above that has it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    guide = GUIDE if all(sentence.weights for sentence in sentences) else NONE
    body = [f"<h1>{escape(title)}</h1>\n<p>{guide}</p>\n"]
    for number, sentence in enumerate(sentences, 1):
        body += block(folder, f"sentence_{number}", sentence)
    return html_pages.write(folder, title, "".join(body), site)


def block(folder: Path, name: str, sentence: Attended) -> Iterator[str]:
    """One sentence on the page; its PNG file is written into `folder`."""
    place = f"{sentence.part}, line {sentence.line}" if sentence.part else f"line {sentence.line}"
    yield f"<h2>{escape(place)}</h2>\n"
    yield f"<p>source: {pieces(sentence.source)}<br>\ntarget: {pieces(sentence.target)}<br>\n"
    yield f"translation: {escape(sentence.text) or '<em>(empty)</em>'}</p>\n"
    if sentence.weights:
        pictures.grids(folder / f"{name}.png", still(sentence))
        chosen = {title(name): heads(sentence, name) for name in by_kind(sentence)}
        chart = charts.html(grid_charts.grids(chosen), name)
        yield html_pages.figure(chart, f"{name}.png", f"Attention of {place}")


def pieces(labels: Sequence[str]) -> str:
    """Pieces, separated."""
    return " ".join(f"<code>{escape(label)}</code>" for label in labels)


def title(name: str) -> str:
    """An attention's name in full: `cross 2` is `cross-attention, layer 2`."""
    kind, _, layer = name.partition(" ")
    return KINDS[kind][0] + (f", layer {layer}" if layer else "")


def heads(sentence: Attended, name: str) -> dict[str, Grid]:
    """The grid of each head of an attention, after their mean if there are several."""
    weights = sentence.weights[name]
    if len(weights) == 1:
        return {MEAN: grid(sentence, name, weights[0])}
    means = {MEAN: grid(sentence, name, weights.mean(axis=0).round(4))}
    return means | {f"head {number}": grid(sentence, name, head) for number, head in enumerate(weights, 1)}


def by_kind(sentence: Attended) -> list[str]:
    """The names of a sentence's attentions, one kind after the other; layers stay in their order."""
    return sorted(sentence.weights, key=lambda name: [*KINDS].index(name.split()[0]))


def still(sentence: Attended) -> list[Grid]:
    """What the PNG file shows: of each kind of attention the last layer, the mean of its heads."""
    last = [[*names][-1] for _, names in groupby(by_kind(sentence), lambda name: name.split()[0])]
    means = {title(name) + (f", {MEAN}" if len(sentence.weights[name]) > 1 else ""): name for name in last}
    return [heads(sentence, name)[MEAN]._replace(title=shown) for shown, name in means.items()]


def grid(sentence: Attended, name: str, weights: Array) -> Grid:
    """One head's weights between the pieces."""
    _, x_title, y_title = KINDS[name.split()[0]]
    rows, columns = sentence.rows(name), sentence.columns(name)
    cell = min(LARGEST, max(SMALLEST, PLOT // max(len(sentence.source), len(sentence.target))))
    return Grid("", x_title, y_title, rows, columns, weights, 0.0, 1.0, cell, None)
