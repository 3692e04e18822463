"""Terms whose translation is given: read from a file, and found in a line as whole words."""

import re
import sys
import unicodedata
from functools import cache
from pathlib import Path

from ..common import files
from ..common.normalisation import UNSPACED, normalised

BEGINNING = re.compile(r"(?:^|[.!?…])\W*$")  # what stands before the first word of a sentence


def capitalised(text: str) -> str:
    """A text with a capital first letter, unless its first word has capitals already, as iPhone."""
    return text[:1].upper() + text[1:] if text.partition(" ")[0].islower() else text


class Glossary:
    """The terms of a file in UTF-8, a line each: the term, a tab, its translation; # begins a comment.

    Raises: DataError naming every faulty line.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise files.DataError(f"--glossary: no such file, got {str(path)!r}; expected a term a line")
        self.targets, faults = dict[str, str](), list[str]()
        for number, line in enumerate(files.read_lines(path), 1):
            if normalised(line)[:1] in ("", "#"):
                continue
            term, target, *more = map(str.strip, [*line.split("\t"), ""])
            first, where = self.targets.setdefault(normalised(term), target), f"{path} line {number}"
            if not normalised(term) or not target or any(more):
                faults.append(f"{where}: is no term, got {line[:100]!r}; expected it, a tab, and its translation")
            elif first != target:
                faults.append(f"{where}: {term!r} has two translations, got {first!r} and {target!r}; expected one")
        if faults or not self.targets:
            raise files.DataError("\n".join(faults) or f"{path}: has no term; expected one a line")
        self.initial = {capitalised(term): capitalised(target) for term, target in self.targets.items()}

    @cache  # noqa: B019 (a process has one glossary, and two patterns)
    def pattern(self, others: str) -> re.Pattern[str]:
        """Other patterns, in verbose spelling, behind the group `term`: the longest that no letter or digit touches."""
        accents = "".join(filter(lambda sign: unicodedata.category(sign)[0] == "M", map(chr, range(sys.maxunicode))))
        letter = rf"[^\W{UNSPACED}] | [{accents}]"  # next to what is written without spaces a term is a word
        terms = {unicodedata.normalize(form, term) for form in ("NFC", "NFD") for term in self.targets | self.initial}
        spelled = [r"\s+".join(map(re.escape, term.split())) for term in sorted(terms, key=len, reverse=True)]
        return re.compile(rf"(?<!{letter})(?P<term>{'|'.join(spelled)})(?!{letter}) | {others}", re.VERBOSE)

    def target(self, found: str, before: str) -> str | None:
        """The translation of a term, given the text before it; None of one whose capital begins no sentence."""
        term = normalised(found)
        return self.targets.get(term) or (self.initial[term] if BEGINNING.search(before) else None)
