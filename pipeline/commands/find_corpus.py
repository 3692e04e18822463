"""`nmt find-corpus`: what OPUS has in two languages, as items for the training part of a corpus."""

from typing import Annotated

import typer

from ..common.files import DataError
from ..common.params import nearest
from ..corpora.importers import opus
from ..languages import codes
from .own_texts import unique
from .survey import downloads

HEAD = """\
# OPUS in {}: {} corpora, the largest last.
# Paste those that you trust, best first, below `train:` in `parts` of corpora/<corpus>.yaml. Text of the web is in
# other languages too: say `language: true` in `clean`.
# Sources and licences are at https://opus.nlpl.eu/.\
"""


def find_corpus(
    source: Annotated[str, typer.Argument(help="Code of one language, such as de.")],
    target: Annotated[str, typer.Argument(help="Code of the other, such as en.")],
) -> None:
    """List the corpora of OPUS in two languages, with their pairs and megabytes, ready for a corpus's file.

    `nmt new-corpus NAME --opus CORPUS` takes them by name. OPUS's own codes, such as pt_br, are taken as they are.
    """
    languages = source, target
    if unknown := [code for code in languages if not codes.tag(code)]:
        by_name = {name.lower(): code for code, name in codes.NAMES.items()}
        code = by_name.get(unknown[0].lower(), unknown[0])
        raise DataError(f"{unknown[0]}: unknown language{nearest(code, codes.CODES)}")
    own_codes = [code if "_" in code else opus.usual(code) for code in languages]
    entries = opus.entries((own_codes[0], own_codes[1]), downloads())
    names = " and ".join(f"{codes.name_of((codes.tag(code) or '').split('-')[0])} ({code})" for code in languages)
    if not entries:
        raise DataError(f"OPUS has no corpus in {names}; expected other codes, perhaps with a region, such as zh_CN")
    print(HEAD.format(names, len(entries)))
    for name, entry in zip(unique([entry.corpus.split("/")[0] for entry in entries]), entries, strict=True):
        pairs = f"{entry.pairs:,} pairs" if entry.pairs else "pairs unknown"
        print(f"  - name: {name}  # {pairs}, {entry.kilobytes / 1000:,.1f} MB")
        print(f"    kind: opus\n    corpus: {entry.corpus}")
        if {*entry.codes} != {*map(opus.usual, languages)}:
            print(f"    pair: {'-'.join(entry.codes)}")
