"""Corpora of OPUS by name: a zip of two parallel texts for each pair of languages, whose address follows a rule."""

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, StringConstraints

from ...common import files
from ...languages import codes
from .. import archives
from ..fetching import Downloads, NotThere
from ..readers import RawPair, TextFile
from .files import Sha256
from .interface import BaseSource, Bitext, Languages, Stated

ADDRESS = "https://object.pouta.csc.fi/OPUS-{corpus}/moses/{pair}.txt.zip"
API = "https://opus.nlpl.eu/opusapi/"


def check_corpus(name: str) -> str:
    """A name and a version; they are parts of a path."""
    if not re.fullmatch(r"\w[\w.+-]*/\w[\w.+-]*", name):
        raise ValueError(f"must be a corpus and its version, such as Europarl/v8, got {name!r}")
    return name


class Source(BaseSource):
    """A corpus of OPUS in its Moses form: `corpus: Europarl/v8`."""

    kind: Literal["opus"]
    is_public = True
    corpus: Annotated[str, AfterValidator(check_corpus)]
    pair: Annotated[str, StringConstraints(pattern=r"^\w+-\w+$")] | None = None  # as OPUS has it, such as en-zh_CN
    sha256: Sha256 | None = None

    def check_languages(self, languages: Languages) -> None:
        """A pair that is given must be that of the languages."""
        sides(self, languages)

    def stated(self, languages: Languages, downloads: Downloads) -> Stated | None:
        """The numbers in OPUS's list; None if they are not there, or there is no list."""
        with contextlib.suppress(files.DataError):
            codes_of_sides = sides(self, languages)
            for entry in entries(codes_of_sides, downloads):
                if entry.corpus == self.corpus and entry.pairs:
                    return Stated(entry.pairs, entry.words[entry.codes.index(codes_of_sides[1])] or None)
        return None

    def unpinned(self, record: dict[str, Any]) -> tuple[str, str] | None:
        """A file whose checksum the corpus does not give."""
        return None if record["sha256"] == self.sha256 else (record["address"], f"sha256: {record['sha256']}")


def sides(source: Source, languages: Languages) -> Languages:
    """The codes of source and target as OPUS writes them.

    Raises: ValueError if the pair that is given is another one.
    """
    if source.pair is None:
        return usual(languages[0]), usual(languages[1])
    pair = source.pair.split("-")
    first = codes.match(languages[0], pair)
    second = codes.match(languages[1], [code for code in pair if code != first])
    if not first or not second:
        raise ValueError(f"pair: must be of {' and '.join(languages)}, got {source.pair!r}")
    return first, second


def usual(language: str) -> str:
    """OPUS's code of a language: `zh-CN` is `zh_CN`."""
    return (codes.tag(language) or language).replace("-", "_")


class Entry(NamedTuple):
    """A corpus of OPUS in a pair of languages; a number that OPUS does not say is 0."""

    corpus: str  # with its version
    codes: tuple[str, str]  # of both languages, sorted
    pairs: int
    words: tuple[int, int]  # of both languages
    kilobytes: int


def entries(pair: Languages, downloads: Downloads) -> list[Entry]:
    """The newest corpora of OPUS in a pair of languages, by its codes, the smallest first.

    Raises: DataError if OPUS does not answer, or not with a list.
    """
    first, second = sorted(pair)
    query = {"source": first, "target": second, "preprocessing": "moses", "version": "latest"}
    answer = downloads.ask(API, query, f"{first}-{second}.json")
    try:
        found = [
            Entry(
                f"{one['corpus']}/{one['version']}",
                (one["source"], one["target"]),
                int(one["alignment_pairs"] or 0),
                (int(one["source_tokens"] or 0), int(one["target_tokens"] or 0)),
                int(one["size"] or 0),
            )
            for one in json.loads(answer)["corpora"]
            if one["preprocessing"] == "moses" and one["latest"] != "False"
        ]
    except (ValueError, KeyError, TypeError) as error:
        got = f"{type(error).__name__} {error} in {answer[:60]!r}"
        raise files.DataError(f"{API}: no list of corpora, got {got}; expected the fields of OPUS's API") from None
    return sorted(found, key=lambda entry: (entry.pairs, entry.corpus))


def bitexts(source: Source, languages: Languages, downloads: Downloads) -> Iterator[Bitext]:
    """The pairs of the two texts in the zip.

    Raises: DataError if OPUS has none of this pair of languages.
    """
    codes_of_sides = sides(source, languages)
    pair = "-".join(sorted(codes_of_sides))
    address = ADDRESS.format(corpus=source.corpus, pair=pair)
    try:
        path = downloads.fetch(address, source.sha256)
    except NotThere as error:
        raise files.DataError(f"{error}; `nmt find-corpus {' '.join(codes_of_sides)}` lists those of OPUS") from None
    name = f"{source.corpus.split('/')[0]}.{pair}"
    texts = tuple(TextFile(address, path, f"{name}.{code}") for code in codes_of_sides)
    yield texts, pairs(*texts)


def pairs(*expected: TextFile) -> Iterator[RawPair]:
    """The pairs of two members, each the expected one or the only one with its ending.

    Raises: DataError if there is none.
    """
    texts = []
    for text in expected:
        members, member = archives.members(text.path, text.address), str(text.member)
        ending = f".{member.rpartition('.')[2]}"
        others = [name for name in members if name.endswith(ending)]
        if member not in members and len(others) != 1:
            got = ", ".join(members[:5]) or "no member"
            raise files.DataError(
                f"{text.address}: has no text {member}, got {got}; expected one that ends in {ending}"
            )
        texts.append(replace(text, member=member if member in members else others[0]))
    yield from files.parallel(texts[0], texts[1], TextFile.lines)
