"""Gather the pages of the site in work/docs/, with the tables of every key; `make docs` runs this, then the generator.

Pages that stand outside docs/ move into it, so links are renamed.
"""

import json
import posixpath
import re
import shutil
import sys
from pathlib import Path

from docs.reference import reference
from pipeline.commands import catalogue

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

    Raises: ValueError naming a link to a file that the site lacks; the generator itself checks pages and anchors.
    """

    def renamed(link: re.Match[str]) -> str:
        name = posixpath.normpath(posixpath.join(posixpath.dirname(page), link[0]))
        if name not in OUTSIDE and (not name.startswith("docs/") or not (ROOT / name).is_file()):
            raise ValueError(f"{page}: link to {link[0]}, which the site lacks; expected a page or picture of docs/")
        return posixpath.relpath(on_site(name), posixpath.dirname(on_site(page)) or ".")

    return LINK.sub(renamed, text)


def gather() -> None:
    """Write work/docs/ anew."""
    shutil.rmtree(SITE, ignore_errors=True)
    SITE.mkdir(parents=True)
    for path in [*sorted((ROOT / "docs").glob("*.[mps][dnv]*")), *(ROOT / name for name in OUTSIDE)]:
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".md":
            (SITE / on_site(name)).write_text(with_links(path.read_text(encoding="utf-8"), name), encoding="utf-8")
        else:
            shutil.copy(path, SITE / on_site(name))
    with (SITE / "parameters.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{reference()}")
    for name, section in (("params", catalogue.Params), ("corpus", catalogue.Corpus)):
        schema = json.dumps(section.model_json_schema(), indent=1)
        (SITE / f"{name}.schema.json").write_text(schema, encoding="utf-8")


if __name__ == "__main__":
    try:
        gather()
    except ValueError as error:
        sys.exit(f"error: {error}")
