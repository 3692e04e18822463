"""A model card, which is Markdown, as HTML for the page: nothing in it is taken as HTML or loaded from elsewhere."""

import re

from markdown_it import MarkdownIt

FRONT_MATTER = re.compile(r"---\n.*?\n---\n", re.DOTALL)  # what the hub indexes
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
TOP = 3  # level of the card's heading: the dialog's own is 2


def card_html(card: str) -> str:
    """The HTML of a card."""
    tokens = MARKDOWN.parse(FRONT_MATTER.sub("", card, count=1))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + TOP - 1)}"
        if token.attrs.pop("style", None) == "text-align:right":  # the page takes no styles in elements
            token.attrs["class"] = "number"
    return str(MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}))
