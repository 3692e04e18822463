"""A glossary: fixed translations of terms, read from a file, and the terms that a line holds."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from pipeline import files, ids
from pipeline.preparation.normalisation import normalised
from pipeline.vocabularies.vocabulary import Vocabulary

FORM = "a term, a tab and its translation"


class Term(NamedTuple):
    """A line of a glossary."""

    source: str
    target: str
    where: str  # the file and its line


class Glossary:
    """Terms with their translations, in the pieces of a system's target vocabulary.

    A term in small letters matches in any case, one with a capital letter only as it is written. It matches whole
    words, with any white space between them. Of two terms at the same place the longer one matches.
    """

    def __init__(self, terms: Sequence[Term], vocabulary: Vocabulary) -> None:
        self.pieces = {term.source: pieces_of(term, vocabulary) for term in terms}
        exact = [term.source for term in terms if term.source != term.source.lower()]
        self.exact = pattern(exact)
        self.any_case = pattern([term.source for term in terms if term.source == term.source.lower()])

    @classmethod
    def load(cls, path: Path, vocabulary: Vocabulary) -> Self:
        """The glossary in a file of tab-separated values.

        Raises: DataError with all faults of the file, each with its line.
        """
        return cls(read(path), vocabulary)

    def match(self, line: str) -> list[list[int]]:
        """The pieces that the translation of a line must hold: one list for each term in it, from left to right."""
        text = normalised(line)
        found = [match for term in (self.exact, self.any_case) for match in term.finditer(text)]
        constraints, end = [], 0
        for match in sorted(found, key=lambda match: (match.start(), -match.end())):
            if match.start() >= end:
                end = match.end()
                written = match.group()
                constraints.append(self.pieces[written if written in self.pieces else written.lower()])
        return constraints


def pattern(terms: Sequence[str]) -> re.Pattern[str]:
    """What matches any of the terms, the longest first, in the case that their first one has."""
    some = "|".join(re.escape(term) for term in sorted(terms, key=len, reverse=True)) or r"(?!)"
    any_case = re.IGNORECASE if terms and terms[0] == terms[0].lower() else 0
    return re.compile(rf"(?<!\w)(?:{some})(?!\w)", any_case)


def read(path: Path) -> list[Term]:
    """The terms of a file: a term, a tab, its translation; empty lines and lines that begin with `#` aside.

    Raises: DataError with all faults of the file, each with its line.
    """
    if not path.is_file():
        raise files.DataError(f"{path}: no such file; expected {FORM} on each line")
    terms: dict[str, Term] = {}
    faults: list[str] = []
    for number, line in enumerate(files.read_lines(path), 1):
        where = f"{path} line {number}"
        if not line.strip() or line.startswith("#"):
            continue
        source, _, target = (normalised(part) for part in line.partition("\t"))
        term = Term(source, target, where)
        if "\t" not in line or "\t" in line.partition("\t")[2] or not source or not target:
            faults.append(f"{where}: must be {FORM}, got {line!r}")
        elif not (re.match(r"\w", source) and re.search(r"\w$", source)):
            faults.append(f"{where}: a term must begin and end with a letter or a digit, got {source!r}")
        elif source in terms and terms[source].target != target:
            before = terms[source]
            faults.append(f"{where}: {source!r} must have one translation, got {target!r} and {before.target!r}")
        else:
            terms.setdefault(source, term)
    if faults:
        raise files.DataError("; ".join(faults) + f"; expected {FORM} on each line")
    if not terms:
        raise files.DataError(f"{path}: holds no term; expected {FORM} on each line")
    return list(terms.values())


def pieces_of(term: Term, vocabulary: Vocabulary) -> list[int]:
    """The pieces of a term's translation.

    Raises: DataError if the vocabulary cannot spell it.
    """
    [pieces] = vocabulary.encode_target([term.target])
    if ids.UNK in pieces or vocabulary.decode_target([pieces]) != [term.target]:
        raise files.DataError(
            f"{term.where}: the system's vocabulary cannot spell {term.target!r}; expected characters "
            f"{'and words ' if vocabulary.whole_words else ''}of the training part"
        )
    return pieces


def continuing(vocabulary: Vocabulary) -> Iterator[int]:
    """The target pieces that go on with a word: after a term they would make another word of it."""
    if not vocabulary.whole_words:
        pieces = vocabulary.target_pieces(range(vocabulary.target_size))
        yield from (number for number, piece in enumerate(pieces) if number > ids.EOS and piece[:1].isalnum())
