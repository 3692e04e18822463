"""HTML pages to be read without a network: text, tables and charts, with plotly's script in a file beside them."""

import os
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from plotly.offline import get_plotlyjs

from pipeline.files import new_file
from pipeline.terminal import printable

SCRIPT = "plotly.min.js"
# Without the script, or without scripts at all, the PNG files are shown in place of the charts.
PAGE = """\
<!doctype html>
<html lang="en" class="still">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
body {{ max-width: 1180px; margin: 0 auto; padding: 0 16px 64px; color: #222; background: #fff;
  font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }}
h1, h2, h3 {{ line-height: 1.2; margin: 1.6em 0 .6em; }}
h2 {{ border-bottom: 1px solid #ccc; padding-bottom: .2em; }}
a {{ color: #0b5394; }}
nav a {{ margin-right: 1.2em; }}
code {{ background: #f2f2f2; border-radius: 3px; padding: 0 .25em; font-size: .92em; overflow-wrap: anywhere; }}
pre {{ background: #f2f2f2; padding: .8em; overflow-x: auto; }}
pre code {{ padding: 0; }}
.table {{ overflow-x: auto; margin: 0 0 1em; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .25em .7em; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }}
td[style*=right] {{ white-space: nowrap; }}
figure {{ margin: 0 0 1.5em; overflow-x: auto; }}
figure img {{ max-width: 100%; }}
figcaption {{ font-size: .9em; }}
.still .chart, html:not(.still) .picture {{ display: none; }}
</style>
<script src="{script}" charset="utf-8"></script>
<script>document.documentElement.classList.toggle("still", !window.Plotly)</script>
</head>
<body>
{body}</body>
</html>
"""


def write(folder: Path, title: str, body: str, site: Path | None = None) -> Path:
    """Write `body` as `index.html` into `folder`; its path.

    Plotly's script is written beside it, unless `site` names the folder above that has it.
    """
    if site is None:
        with new_file(folder / SCRIPT) as file:
            file.write(get_plotlyjs())
    script = Path(os.path.relpath(site or folder, folder), SCRIPT).as_posix()
    path = folder / "index.html"
    with new_file(path) as file:
        file.write(PAGE.format(title=escape(title), script=escape(script), body=printable(body)))
    return path


def figure(chart: str, picture: str, about: str) -> str:
    """A chart, with a link to the PNG file of the same figure, which is shown in its place if no script runs."""
    address, words = escape(picture), escape(about)
    return (
        f'<figure>\n<div class="chart">{chart}</div>\n<img class="picture" src="{address}" alt="{words}">\n'
        f'<figcaption>{words} (<a href="{address}">PNG</a>)</figcaption>\n</figure>\n'
    )


def from_markdown(text: str, charts: Mapping[str, str]) -> str:
    """The body of a page from Markdown: pictures become their `charts`, by file name, sections can be jumped to."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("table_open", lambda *_: '<div class="table"><table>\n')
    reader.add_render_rule("table_close", lambda *_: "</table></div>\n")
    tokens: list[Token] = []
    sections: dict[str, str] = {}
    for token in reader.parse(text):
        if token.type == "inline" and tokens[-1].tag == "h2":
            anchor = re.sub(r"\W+", "-", token.content.lower())
            tokens[-1].attrSet("id", anchor)
            sections[anchor] = token.content
        picture = token.children[0] if token.type == "inline" and token.children else None
        if picture and picture.type == "image":
            address = str(picture.attrGet("src"))
            token = Token("html_block", "", 0, content=figure(charts[address], address, picture.content))
        tokens.append(token)
    rendered = str(reader.renderer.render(bare(tokens), reader.options, {}))
    links = "".join(f'<a href="#{anchor}">{escape(name)}</a>\n' for anchor, name in sections.items())
    head, end, rest = rendered.partition("</h1>\n")
    return f"{head}{end}<nav>\n{links}</nav>\n{rest}"


def bare(tokens: list[Token]) -> list[Token]:
    """The tokens without the paragraphs around charts: in HTML, a paragraph cannot hold one."""
    inside = {place for place, token in enumerate(tokens) if token.type == "html_block"}
    return [token for place, token in enumerate(tokens) if not {place - 1, place + 1} & inside]
