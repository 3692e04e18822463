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
# OPUS in {}: {}, the smallest first. Choose what you trust, best first, and paste it below
# `train:` in `parts` of corpora/<corpus>.yaml. Text of the web is in other languages too: have section `clean` say
# `language: true`. Licences and sources are at https://opus.nlpl.eu/.\
"""


def find_corpus(
    source: Annotated[str, typer.Argument(help="Code of one language, such as de.")],
    target: Annotated[str, typer.Argument(help="Code of the other, such as en.")],
) -> None:
    """List the corpora of OPUS in two languages, with their pairs and megabytes, ready for a corpus's file.

    `nmt new-corpus NAME --opus CORPUS` takes them by name. OPUS's own codes, such as pt_br, are taken as they are.
    """
    languages = source, target
    for code in languages:
        if not codes.tag(code):
            raise DataError(f"{code}: unknown language{nearest(code, codes.CODES)}")
    entries = opus.entries((opus_code(source), opus_code(target)), downloads())
    names = " and ".join(f"{codes.name_of((codes.tag(code) or '').split('-')[0])} ({code})" for code in languages)
    if not entries:
        raise DataError(
            f"OPUS has no corpus in {names}; expected another pair, or a code with its region, such as zh_CN"
        )
    count = f"{len(entries)} corpora" if len(entries) > 1 else "one corpus"
    print(HEAD.format(names, count))
    for name, entry in zip(unique([entry.corpus.split("/")[0] for entry in entries]), entries, strict=True):
        pairs = f"{entry.pairs:,} pairs" if entry.pairs else "pairs unknown"
        print(f"  - name: {name}  # {pairs}, {entry.kilobytes / 1000:,.1f} MB")
        print(f"    kind: opus\n    corpus: {entry.corpus}")
        if {*entry.codes} != {*map(opus.usual, languages)}:
            print(f"    pair: {'-'.join(entry.codes)}")


def opus_code(text: str) -> str:
    """OPUS's code of a language: as it is given, where only OPUS writes so."""
    return text if "_" in text else opus.usual(text)
