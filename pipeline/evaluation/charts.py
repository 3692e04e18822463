"""Interactive figures for a page: those of the PNG files, with values under the mouse.

A chart is plotly's own dictionary of a figure. Text is escaped where plotly would take it for markup.
"""

import json
import math
from collections.abc import Sequence
from html import escape
from itertools import islice
from typing import Any

from plotly.io import to_json

from pipeline.evaluation.panels import Curves
from pipeline.evaluation.pictures import DASHES, MARKED, longest, looks

Chart = dict[str, Any]

FONT = {"family": "system-ui, 'DejaVu Sans', sans-serif", "size": 12, "color": "#222222"}
COMMON: Chart = {"template": "none", "font": FONT}
# no button that would send the chart to plotly's makers
CONFIG: Chart = {
    "displaylogo": False,
    "modeBarButtons": [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    "responsive": True,
}
DASH_NAMES = dict(zip(DASHES, ("solid", "dash", "dot", "dashdot"), strict=True))
PLOT, ABOVE, BELOW = 290, 60, 70  # pixels of a panel: its plot, the margins
LEGEND, KEY, LETTER = 29, 55, 6.2  # pixels of the legend: a row, the key of a line, a letter
ROW, NARROW = 1080, 350  # and the width of a row, on a wide and on a narrow page


def html(chart: Chart, name: str) -> str:
    """A chart as a part of a page on which no other has this name; page.js draws it."""
    known = json.loads(to_json({"data": chart["data"], "layout": chart["layout"]}, validate=True, engine="json"))
    if narrow := chart.get("narrow"):
        known["narrow"] = json.loads(to_json({"data": [], "layout": narrow}, validate=True, engine="json"))["layout"]
    height = f"height: {chart['layout']['height']}px"  # until it is drawn, so that the page does not jump
    return f'<div id="{escape(name)}" data-chart style="{height}"></div>\n{embedded(known | {"config": CONFIG})}'


def embedded(value: Any) -> str:
    """JSON for a script of the page; no text in it can end the element that holds it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json">{text}</script>\n'


def shown(text: str) -> str:
    """`text` for plotly to show letter for letter, line by line."""
    return escape(text, quote=False).replace("\n", "<br>")


def curves(panels: Sequence[Curves]) -> Chart:
    """Panels two abreast, with one legend that hides and shows a line in all of them; on a narrow page one abreast."""
    traces: list[Chart] = []
    for index, panel in enumerate(panels):
        axis = str(index + 1) if index else ""
        traces += [line | {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "showlegend": not index} for line in lines(panel)]
    return {"data": traces, "layout": layout(panels, 2, ROW), "narrow": layout(panels, 1, NARROW) | {"dragmode": False}}


def layout(panels: Sequence[Curves], most: int, row_width: int) -> Chart:
    """Where the panels stand, `most` of them abreast, above a legend in rows of this width."""
    num_rows, num_columns = math.ceil(len(panels) / most), min(most, len(panels))
    abreast = max(1, int(row_width / (KEY + LETTER * longest([*panels[0].lines]))))
    legend = LEGEND * math.ceil(len(panels[0].lines) / abreast)
    inside = num_rows * PLOT + (num_rows - 1) * (ABOVE + BELOW)
    placed: Chart = COMMON | {"hovermode": "closest", "hoverlabel": {"namelength": -1}, "annotations": []}
    placed |= {"height": ABOVE + inside + BELOW + legend}
    placed |= {"margin": {"l": 60, "r": 20, "t": ABOVE, "b": BELOW + legend}}
    placed |= {"legend": {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}}
    for index, panel in enumerate(panels):
        row, column = divmod(index, num_columns)
        axis = str(index + 1) if index else ""
        left, high = 0.54 * column, 1 - row * (PLOT + ABOVE + BELOW) / inside
        width = 1 if num_columns == 1 else 0.46
        placed[f"xaxis{axis}"] = x_axis(panel) | {"domain": [left, left + width], "anchor": f"y{axis}"}
        placed[f"yaxis{axis}"] = y_axis(panel) | {"domain": [max(0, high - PLOT / inside), high], "anchor": f"x{axis}"}
        placed["annotations"].append(title(panel.title, axis))
    return placed


def x_axis(panel: Curves) -> Chart:
    """The horizontal axis of a panel."""
    axis: Chart = {"title": {"text": shown(panel.x_title)}, "zeroline": False, "showline": True, "tickformat": ","}
    if panel.ticks:
        axis |= {"tickmode": "array", "tickvals": [*range(len(panel.ticks))], "ticktext": [*map(shown, panel.ticks)]}
        axis |= {"range": [-0.4, len(panel.ticks) - 0.6]}
    return axis


def y_axis(panel: Curves) -> Chart:
    """The vertical axis of a panel."""
    axis: Chart = {"title": {"text": shown(panel.y_title)}, "zeroline": False, "showline": True}
    return axis if panel.top is None else axis | {"range": [0, panel.top]}


def title(text: str, axis: str) -> Chart:
    """A title above the panel of these axes."""
    place = {"xref": f"x{axis} domain", "yref": f"y{axis} domain", "x": 0.5, "y": 1, "yanchor": "bottom"}
    return {"text": shown(text), "showarrow": False, "font": {"size": 14}, **place}


def lines(panel: Curves) -> list[Chart]:
    """The lines of a panel, in the looks that they have in the PNG."""
    return [
        {
            "type": "scatter",
            "mode": "lines+markers" if len(places) <= MARKED else "lines",
            "name": shown(name),
            "legendgroup": name,
            "x": list(places),
            "y": [value if value is not None and math.isfinite(value) else None for value in values],
            "line": {"color": look["color"], "dash": DASH_NAMES[look["linestyle"]], "width": 2},
            "hovertemplate": f"{shown(name)}<br>%{{x}}: %{{y:.4~g}}<extra></extra>",
        }
        for (name, (places, values)), look in zip(panel.lines.items(), islice(looks(), len(panel.lines)), strict=True)
    ]
