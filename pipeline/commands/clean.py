"""`nmt clean --preview`: what each rule of cleaning drops from the first pairs of each bitext; nothing is written."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import compress, islice
from typing import Annotated

import typer

from ..common.files import DataError
from ..common.params import Node, nearest
from ..common.parts import Pair, RawPair
from ..common.system import corpus_file
from ..console import tables
from ..console.printing import printable
from ..corpora import downloading
from ..corpora.sources import Download
from ..preparation import bitexts, cleaning
from ..preparation.cleaning import Cleaning, Tally
from ..preparation.rules import interface
from . import catalogue, project
from .survey import downloads

PAIRS, EXAMPLES = 10_000, 3  # of each bitext that are read; of each rule that are shown


def clean(
    corpus: Annotated[str, typer.Argument(help="Its name in corpora/.")],
    preview: Annotated[bool, typer.Option("--preview", help="Of the first 10,000 pairs of each bitext.")] = False,
) -> None:
    """Show what each rule drops from a corpus, with examples, also rules that are off; nothing is written."""
    project.check_here()
    if not preview:
        raise DataError("nmt clean: shows a preview only, got no --preview; `nmt repro` cleans what `build` names")
    if not corpus_file(corpus).exists():
        raise DataError(f"CORPUS: no such corpus, got {corpus!r}{nearest(corpus, catalogue.corpus_names())}")
    download = Download.load_own(f"{corpus_file(corpus)}:")
    sections = cleaning.sections(Node.read("clean"), Node.read(f"{corpus_file(corpus)}:clean"), download.bitexts)
    table, seen = tables.titled("bitext", "rule", "pairs", "share", "examples"), set[tuple[str, int]]()
    for name, source in download.bitexts.items():
        raw = islice(downloading.read(name, source, download.languages, downloads(), {}), PAIRS)
        for row in rows(raw, sections[name], download.languages, seen):
            table.add_row(name, *row)
        table.add_section()
    tables.show(table)


def rows(
    raw: Iterator[RawPair], section: Cleaning, languages: tuple[str, str], seen: set[tuple[str, int]]
) -> Iterator[tuple[str, str, str, str]]:
    """A rule, how many pairs it drops, their share, and examples; `kept` comes before what drops none."""
    tally, off = Tally(EXAMPLES), Tally(EXAMPLES)
    kept = list(bitexts.kept_pairs(raw, section, languages, tally, seen))
    for rule in interface.names():
        if getattr(section, rule) in (False, "off"):
            with suppress(DataError):  # of a language that nobody knows
                off.note(rule, compress(kept, interface.find(rule).broken(kept, True, languages)), off.counted)
    counts: list[tuple[str, int, list[Pair]]] = [("read", tally.read, []), ("kept", tally.kept, [])]
    counts[1:1] = [(rule, number, tally.examples.get(rule, [])) for rule, number in tally.dropped.items()]
    for each, what in ((tally, "count"), (off, "off")):
        counts += [(f"{rule}: {what}", number, each.examples[rule]) for rule, number in each.counted.items()]
    for rule, number, examples in counts:
        if number:
            shown = "\n".join(printable(" | ".join(pair)) for pair in examples)
            yield rule, f"{number:,}", f"{number / tally.read:.1%}", shown
