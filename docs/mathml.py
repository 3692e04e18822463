"""Equations of the site's pages as MathML, which browsers draw without a script: run by .venv-docs after docs/pages.py.

GitHub draws the same source itself: a fence called `math`, and inline $`...`$.
"""

import re
from pathlib import Path

from latex2mathml.converter import convert  # type: ignore[import-not-found]  # of .venv-docs

FENCE = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
INLINE = re.compile(r"\$`([^`]+)`\$")


def display(formula: re.Match[str]) -> str:
    """An equation in a block of its own; browsers align columns by styles."""
    math = convert(formula[1].strip().replace("{aligned}", "{align*}"), display="block")
    styled = re.sub(r'columnalign="(\w+)"', r'style="text-align: \1"', math)
    return f"<div>{styled}</div>"


for page in Path("work/docs").glob("*.md"):
    text = FENCE.sub(display, page.read_text(encoding="utf-8"))
    # A span around it: at the beginning of a line, Markdown would end the paragraph before <math>.
    page.write_text(INLINE.sub(lambda formula: f"<span>{convert(formula[1])}</span>", text), encoding="utf-8")
