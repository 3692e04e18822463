"""Equations of the site's pages as MathML, which browsers draw without a script: run by .venv-docs after docs/pages.py.

GitHub draws the same source itself: a fence called `math`, and inline $`...`$.
"""

import re
from pathlib import Path

from latex2mathml.converter import convert  # type: ignore[import-not-found]  # of .venv-docs

FENCE = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
INLINE = re.compile(r"\$`([^`]+)`\$")

for page in Path("work/docs").glob("*.md"):
    text = page.read_text(encoding="utf-8")
    text = FENCE.sub(lambda found: f"<div>{convert(found[1].strip(), display='block')}</div>", text)
    # A span around it: at the beginning of a line, Markdown would end the paragraph before <math>.
    text = INLINE.sub(lambda found: f"<span>{convert(found[1])}</span>", text)
    page.write_text(text, encoding="utf-8")
