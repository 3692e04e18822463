"""A model card, which is Markdown, as HTML for the page: nothing in it is taken as HTML or loaded from elsewhere."""

import re

from markdown_it import MarkdownIt

FRONT_MATTER = re.compile(r"---\n.*?\n---\n", re.DOTALL)  # what the hub indexes
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def card_html(card: str) -> str:
    """The HTML of a card."""
    tokens = MARKDOWN.parse(FRONT_MATTER.sub("", card, count=1))
    for token in tokens:
        if token.attrs.pop("style", None) == "text-align:right":  # the page takes no styles in elements
            token.attrs["class"] = "number"
    return str(MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}))
