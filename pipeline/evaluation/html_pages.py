"""HTML pages to be read without a network: text, tables and charts, with plotly's script in a file beside them."""

import os
import re
from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from plotly.offline import get_plotlyjs

from pipeline.files import new_file
from pipeline.terminal import printable

SCRIPT = "plotly.min.js"
HERE = Path(__file__).parent
# Without plotly's script, or without scripts at all, the PNG files are shown in place of the charts.
PAGE = """\
<!doctype html>
<html lang="en" class="still">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
<script>document.documentElement.classList.remove("still")</script>
<script src="{script}" charset="utf-8" defer onerror="document.documentElement.classList.add('still')"></script>
<script>
{code}</script>
</head>
<body>
{body}</body>
</html>
"""


class Fragment(NamedTuple):
    """A block that is richer on a page than Markdown allows."""

    markdown: str
    html: str


Block = str | Fragment  # Markdown, or both forms


def write(folder: Path, title: str, body: str, site: Path | None = None, scripts: Iterable[str] = ()) -> Path:
    """Write `body` as `index.html` into `folder`; its path.

    Plotly's script is written beside it, unless `site` names the folder above that has it. `scripts` are more files
    of this folder that the page runs.
    """
    if site is None:
        with new_file(folder / SCRIPT) as file:
            file.write(get_plotlyjs())
    script = Path(os.path.relpath(site or folder, folder), SCRIPT).as_posix()
    path = folder / "index.html"
    page = PAGE.format(
        title=escape(title),
        style=asset("page.css"),
        script=escape(script),
        code="".join(f"{{\n{asset(name)}}}\n" for name in ("page.js", *scripts)),  # braces: names of their own
        body=printable(body),
    )
    with new_file(path) as file:
        file.write(page)
    return path


def asset(name: str) -> str:
    """A style sheet or script of this folder."""
    return (HERE / name).read_text(encoding="utf-8")


def figure(chart: str, picture: str, about: str) -> str:
    """A chart, with a link to the PNG file of the same figure, which is shown in its place if no script runs."""
    address, words = escape(picture), escape(about)
    return (
        f'<figure>\n<div class="chart" role="img" aria-label="{words}">{chart}</div>\n'
        f'<img class="picture" src="{address}" alt="{words}" loading="lazy">\n'
        f'<figcaption>{words} (<a href="{address}">PNG</a>)</figcaption>\n</figure>\n'
    )


def markdown(blocks: Iterable[Block]) -> str:
    """All blocks as one text."""
    return "\n".join(block.markdown if isinstance(block, Fragment) else block for block in blocks)


def abreast(blocks: Iterable[str]) -> Fragment:
    """Blocks of Markdown side by side, as far as the page is wide enough."""
    blocks = list(blocks)
    columns = "".join(f"<div>\n{from_markdown(block, {}, {})}</div>\n" for block in blocks)
    return Fragment("\n".join(blocks), f'<div class="abreast">\n{columns}</div>\n')


def from_blocks(blocks: Iterable[Block], charts: Mapping[str, str]) -> str:
    """The body of a page: pictures of Markdown become their `charts`, by file name, sections can be jumped to.

    What stands before the first section is the page's head.
    """
    sections: dict[str, str] = {}
    rendered = ""
    for rich, group in groupby(blocks, lambda block: isinstance(block, Fragment)):
        if rich:
            rendered += "".join(block.html for block in group if isinstance(block, Fragment))
        else:
            rendered += from_markdown(markdown(group), charts, sections)
    links = "".join(f'<a href="#{anchor}">{escape(name)}</a>\n' for anchor, name in sections.items())
    head, begins, rest = rendered.partition("<h2")
    skip = '<a class="skip" href="#main">To the text</a>'
    nav = f'<nav aria-label="Sections">\n{links}</nav>'
    return f'{skip}\n<header>\n{head}</header>\n{nav}\n<main id="main">\n{begins}{rest}</main>\n'


def from_markdown(text: str, charts: Mapping[str, str], sections: dict[str, str]) -> str:
    """Markdown as HTML; its sections, by anchor, are added to `sections`."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("table_open", lambda *_: '<div class="table"><table>\n')
    reader.add_render_rule("table_close", lambda *_: "</table></div>\n")
    tokens: list[Token] = []
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
    return str(reader.renderer.render(bare(tokens), reader.options, {}))


def bare(tokens: list[Token]) -> list[Token]:
    """The tokens without the paragraphs around charts: in HTML, a paragraph cannot hold one."""
    inside = {place for place, token in enumerate(tokens) if token.type == "html_block"}
    return [token for place, token in enumerate(tokens) if not {place - 1, place + 1} & inside]
