"""Corpora of OPUS by name: a zip of two parallel texts for each pair of languages, whose address follows a rule."""

import contextlib
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, StringConstraints

from ...common import files
from ...languages import codes
from ..archives import Damaged
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
    """A corpus of OPUS in its Moses form."""

    kind: Literal["opus"]
    is_public = True
    corpus: Annotated[str, AfterValidator(check_corpus)]
    pair: Annotated[str, StringConstraints(pattern=r"^\w+-\w+$")] | None = None  # as OPUS has it, such as en-zh_CN
    sha256: Sha256 | None = None

    def check_languages(self, languages: Languages) -> None:
        """A pair that is given must be that of the languages."""
        self.codes(languages)

    def codes(self, languages: Languages) -> Languages:
        """The codes of source and target as OPUS writes them.

        Raises: ValueError if the pair that is given is another one.
        """
        if self.pair is None:
            return usual(languages[0]), usual(languages[1])
        first, second = (codes.match(language, self.pair.split("-")) for language in languages)
        if not first or not second or first == second:
            raise ValueError(f"pair: must be of {' and '.join(languages)}, got {self.pair!r}")
        return first, second

    def stated(self, languages: Languages, downloads: Downloads) -> Stated | None:
        """The numbers in OPUS's list; None if they are not there, or there is no list."""
        pair = self.codes(languages)
        with contextlib.suppress(files.DataError):
            for entry in entries(pair, downloads):
                if entry.corpus == self.corpus and entry.pairs:
                    return Stated(entry.pairs, entry.words[entry.codes.index(pair[1])] or None)
        return None

    def unpinned(self, record: dict[str, Any]) -> tuple[str, str] | None:
        """A file whose checksum the corpus does not give."""
        return None if record["sha256"] == self.sha256 else (record["address"], f"sha256: {record['sha256']}")


def usual(language: str) -> str:
    """OPUS's code of a language: `zh-CN` is `zh_CN`."""
    return (codes.tag(language) or language).replace("-", "_")


def bitexts(source: Source, languages: Languages, downloads: Downloads) -> Iterator[Bitext]:
    """The pairs of the two texts in the zip.

    Raises: DataError if OPUS has none of this pair of languages.
    """
    sides = source.codes(languages)
    pair = "-".join(sorted(sides))
    address = ADDRESS.format(corpus=source.corpus, pair=pair)
    try:
        path = downloads.fetch(address, source.sha256)
    except NotThere as error:
        raise files.DataError(f"{error}; `nmt find-corpus {' '.join(sides)}` lists those of OPUS") from None
    name = f"{source.corpus.split('/')[0]}.{pair}"
    texts = tuple(TextFile(address, path, f"{name}.{code}") for code in sides)
    yield texts, pairs(*texts)


def pairs(*expected: TextFile) -> Iterator[RawPair]:
    """The pairs of two members of a zip, each the expected one or the only one with its ending.

    Raises: DataError if there is none; Damaged for no zip.
    """
    texts = []
    for text in expected:
        try:
            members = zipfile.ZipFile(text.path).namelist()
        except zipfile.BadZipFile as error:
            raise Damaged(f"{text.address}: damaged or no zip file, got {error}; expected a whole one") from None
        member, ending = str(text.member), f".{str(text.member).rpartition('.')[2]}"
        likely = [name for name in members if name.endswith(ending)]
        if member not in likely and len(likely) != 1:
            got = ", ".join(members[:5]) or "no member"
            raise files.DataError(
                f"{text.address}: has no text {member}, got {got}; expected one that ends in {ending}"
            )
        texts.append(replace(text, member=member if member in likely else likely[0]))
    yield from files.parallel(texts[0], texts[1], TextFile.lines)


class Entry(NamedTuple):
    """A corpus in OPUS's list; a number that is not known is 0."""

    corpus: str  # with its version
    codes: tuple[str, str]  # of both languages, sorted
    pairs: int
    words: tuple[int, int]  # of both languages
    kilobytes: int


def entries(pair: Languages, downloads: Downloads) -> list[Entry]:
    """The newest corpora of OPUS in a pair of languages, by its codes, the smallest first.

    Raises: DataError if OPUS does not answer, or not with a list.
    """
    source, target = sorted(pair)
    query = {"source": source, "target": target, "preprocessing": "moses", "version": "latest"}
    answer = downloads.ask(API, query, f"{source}-{target}.json")
    numbers = ("alignment_pairs", "source_tokens", "target_tokens", "size")
    try:
        found = []
        for one in json.loads(answer)["corpora"]:
            if one["preprocessing"] == "moses" and one["latest"] != "False":
                pairs, *words, size = (int(one[name] or 0) for name in numbers)
                names = (one["source"], one["target"])
                found.append(Entry(f"{one['corpus']}/{one['version']}", names, pairs, (words[0], words[1]), size))
    except (ValueError, KeyError, TypeError) as error:
        got = f"{type(error).__name__} {error} in {answer[:60]!r}"
        raise files.DataError(f"{API}: no list of corpora, got {got}; expected the fields of OPUS's API") from None
    return sorted(found, key=lambda entry: (entry.pairs, entry.corpus))
