"""Gather the pages of the site in work/docs/: docs/, pages that stand outside it, and the reference of every key.

The pages that stand outside docs/ move into it, so links are renamed; equations become MathML. `make docs` runs this,
then the generator.
"""

import posixpath
import re
import shutil
import sys
from pathlib import Path

from docs.equations import with_mathml
from docs.reference import reference

ROOT = Path(__file__).parents[1]
SITE = ROOT / "work/docs"
OUTSIDE = {  # a file of the repository -> its name on the site
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LOG.md": "log.md",
    "benchmarks/README.md": "benchmarks.md",
    "LICENSE": "LICENSE.txt",
}
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)[^)#\s]+")


def on_site(name: str) -> str:
    """The name on the site of a file of the repository."""
    return OUTSIDE.get(name, name.removeprefix("docs/"))


def with_links(text: str, page: str) -> str:
    """A page of the repository with its links as they are on the site.

    Raises: ValueError naming a link to what the site lacks; the generator itself checks pages and anchors only.
    """

    def renamed(link: re.Match[str]) -> str:
        path, _, anchor = link[0].partition("#")
        name = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if name not in OUTSIDE and (not name.startswith("docs/") or not (ROOT / name).is_file()):
            raise ValueError(f"{page}: link to {path}, which the site lacks; expected a page or picture of docs/")
        found = posixpath.relpath(on_site(name), posixpath.dirname(on_site(page)) or ".")
        return found + (f"#{anchor}" if anchor else "")

    return LINK.sub(renamed, text)


def gather() -> None:
    """Write work/docs/ anew."""
    shutil.rmtree(SITE, ignore_errors=True)
    SITE.mkdir(parents=True)
    documents = [path for path in sorted((ROOT / "docs").rglob("*")) if path.suffix in (".md", ".png", ".svg")]
    for path in [*documents, *(ROOT / name for name in OUTSIDE)]:
        name = path.relative_to(ROOT).as_posix()
        page = SITE / on_site(name)
        page.parent.mkdir(exist_ok=True)
        if path.suffix == ".md":
            page.write_text(with_mathml(with_links(path.read_text(encoding="utf-8"), name), name), encoding="utf-8")
        else:
            shutil.copy(path, page)
    (SITE / "reference.md").write_text(reference(), encoding="utf-8")


if __name__ == "__main__":
    try:
        gather()
    except ValueError as error:
        sys.exit(f"error: {error}")
