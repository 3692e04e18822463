"""A glossary: fixed translations of terms, read from a file, and the terms that a line holds."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from pipeline import files, ids
from pipeline.preparation.normalisation import normalised
from pipeline.vocabularies.vocabulary import Vocabulary

FORM = "a term, a tab and its translation"
BYTE = re.compile("<0x[0-9A-F]{2}>")  # a piece of a vocabulary that spells rare characters by their bytes
WITHOUT_SPACES = ("CJK ", "HIRAGANA ", "KATAKANA ")  # so the names of such characters begin


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
        self.exact = TermMatcher([source for source in self.pieces if source != source.lower()])
        self.any_case = TermMatcher([source for source in self.pieces if source == source.lower()], re.IGNORECASE)

    @classmethod
    def load(cls, path: Path, vocabulary: Vocabulary) -> Self:
        """The glossary in a file of tab-separated values.

        Raises: DataError with all faults of the file, each with its line.
        """
        return cls(read(path), vocabulary)

    def match(self, line: str) -> list[list[int]]:
        """The pieces that the translation of a line must hold: one list for each term in it, from left to right."""
        text, done = normalised(line), 0
        ahead = {terms: terms.find(text, done) for terms in (self.exact, self.any_case)}
        constraints = []
        while found := [one for one in ahead.values() if one]:
            _, done, term = min(found, key=lambda one: (one[0], -one[1]))
            constraints.append(self.pieces[term])
            for terms, one in ahead.items():
                if one and one[0] < done:
                    ahead[terms] = terms.find(text, done)
        return constraints


class TermMatcher:
    """Finds terms in a text, the longest first."""

    def __init__(self, terms: Sequence[str], flags: int = 0) -> None:
        self.terms = sorted(terms, key=len, reverse=True)
        # An empty group behind each term says which one matched. Its letters do not: in any case, `istanbul` matches
        # `İstanbul`, which str.lower() makes another word of. A group around a term costs a hundred times the time.
        some = "|".join(f"{re.escape(term)}()" for term in self.terms) or r"(?!)"
        self.pattern = re.compile(rf"(?<!\w)(?:{some})(?!\w)", flags)

    def find(self, text: str, begin: int) -> tuple[int, int, str] | None:
        """Where the first term from `begin` on begins and ends in a text, and which it is."""
        match = self.pattern.search(text, begin)
        if match is None:
            return None
        assert match.lastindex is not None, "every term has a group"
        return match.start(), match.end(), self.terms[match.lastindex - 1]


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
        yield from (number for number, piece in enumerate(pieces) if number > ids.EOS and goes_on(piece))


def goes_on(piece: str) -> bool:
    """Whether a piece goes on with a word: by a letter, a digit, a mark on the letter before it, or a byte of one.

    Ideographs and kana, which are written without spaces, do not.
    """
    if BYTE.fullmatch(piece):
        return True
    first = piece[:1]
    if unicodedata.category(first or " ").startswith("M"):
        return True
    return first.isalnum() and not unicodedata.name(first, "").startswith(WITHOUT_SPACES)
