"""Sentence pairs from a translation memory (TMX 1.1 to 1.4b), streamed; nothing that it refers to is read.

Source: https://www.gala-global.org/tmx-14b.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice
from xml.parsers import expat

from ..common.files import LINE_BYTES, DataError
from ..console import progress
from ..languages import codes
from . import archives, encodings
from .readers import RawPair, TextFile

CODE = {"bpt", "ept", "it", "ph", "sub", "ut"}  # formatting of the original in a segment; what `hi` marks is text
BLOCK_BYTES = 1 << 16
FIRST_UNITS = 10_000  # whose languages are those of the memory

Unit = dict[str, str]  # the first segment of each language


def pairs(text: TextFile, languages: tuple[str, str]) -> Iterator[RawPair]:
    """The segments in two languages of every unit that has both, as lines; says how many units lack one.

    Raises: DataError if no unit has both, or the file is no translation memory.
    """
    lacking, count = Counter[str](), 0
    for unit in units(text):
        if sides := matching(languages, tuple(unit)):
            count += 1
            yield unit[sides[0]].encode(), unit[sides[1]].encode()
        else:
            lacking[" and ".join(unit) or "no language"] += 1
    total = lacking.total()
    if not count:
        got = ", ".join(name for name, _ in lacking.most_common(3)) or "no unit"
        raise DataError(f"{text}: has no unit in both {languages[0]} and {languages[1]}, got {got}; expected some")
    if total:
        progress.say(str(text), f"{total:,} of {count + total:,} units lack {' or '.join(languages)}: left out")


def languages_of(text: TextFile) -> list[str]:
    """The languages of a memory's first units, in the order in which they come; regions only to tell two apart.

    Raises: DataError as `pairs` does.
    """
    found = list(dict.fromkeys(code for unit in islice(units(text), FIRST_UNITS) for code in unit))
    bases = [code.split("-")[0] for code in found]
    return bases if len({*bases}) == len(bases) else found


@cache
def matching(languages: tuple[str, str], available: tuple[str, ...]) -> tuple[str, str] | None:
    """The languages of a unit that are the source and the target; None if it lacks one.

    A language with a region also means the plain one, and a plain one that of any region, but for the other side's.
    """
    wanted = [*map(form, languages)]

    def find(language: str, other: str) -> str | None:
        base = language.split("-")[0]
        regional = [code for code in available if language == base and code.startswith(f"{base}-") and code != other]
        plain = [base] if base != other else []
        return next((code for code in (language, *plain, *regional) if code in available), None)

    source, target = find(*wanted), find(*reversed(wanted))
    return (source, target) if source and target and source != target else None


@cache
def form(code: str) -> str:
    """The usual form of a language's code."""
    return codes.tag(code) or code.lower()


def units(text: TextFile) -> Iterator[Unit]:
    """The units of a translation memory, in constant memory.

    Raises: DataError naming the line that is no XML, declares an entity, or is in a file of another kind.
    """
    with archives.opened(text.path, text.address, text.member) as file:
        block = file.read(BLOCK_BYTES)
        encoding = next((encoding for mark, encoding in encodings.MARKS.items() if block.startswith(mark)), None)
        found = Units(str(text), encoding and encoding.removesuffix("-sig"))
        while True:
            try:
                found.parser.Parse(block, not block)
            except expat.ExpatError as error:
                raise found.fault(
                    f"no valid XML, got {expat.errors.messages[error.code]}; expected a whole TMX"
                ) from None
            except (LookupError, ValueError) as error:
                if isinstance(error, DataError):
                    raise
                raise found.fault(f"unknown encoding, got {error}; expected UTF-8 or UTF-16") from None
            yield from found.units
            found.units.clear()
            if not block:
                return
            block = file.read(BLOCK_BYTES)


class Units:
    """The units that a parser has met, to be taken from the list."""

    def __init__(self, name: str, encoding: str | None) -> None:
        self.name, self.units = name, list[Unit]()
        self.is_begun, self.unit, self.language = False, Unit(), ""
        self.segment: list[str] | None = None  # its text so far
        self.size = self.code_depth = 0
        self.parser = parser = expat.ParserCreate(encoding)  # None: as the file says
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler = self.characters
        parser.EntityDeclHandler = parser.SkippedEntityHandler = self.refuse_entity

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """A tag opens."""
        if not self.is_begun and tag != "tmx":
            raise self.fault(f"is no translation memory, got <{tag}>; expected <tmx>")
        self.is_begun = True
        if self.segment is not None and (self.code_depth or tag in CODE):
            self.code_depth += 1
        elif tag == "tu":
            self.unit = {}
        elif tag == "tuv":
            self.language = form(attributes.get("xml:lang") or attributes.get("lang") or "")
        elif tag == "seg":
            self.segment, self.size = [], 0

    def end(self, tag: str) -> None:
        """A tag closes."""
        if self.code_depth:
            self.code_depth -= 1
        elif tag == "seg" and self.segment is not None:
            if self.language:
                line = re.sub(r"[ \t\r\n]+", " ", "".join(self.segment)).strip()  # tags and indentation leave spaces
                self.unit.setdefault(self.language, line)
            self.segment = None
        elif tag == "tu":
            self.units.append(self.unit)

    def characters(self, text: str) -> None:
        """Text between tags."""
        if self.segment is not None and not self.code_depth:
            self.segment.append(text)
            self.size += len(text)
            if self.size > LINE_BYTES // 4:
                raise self.fault(f"a segment has over {LINE_BYTES // 4:,} characters; expected a sentence")

    def refuse_entity(self, name: str, *_: object) -> None:
        """An entity of the file's own could be endless, or a file of this machine."""
        raise self.fault(f"has the entity {name!r}; expected text alone, and &amp; &lt; &gt; &quot; &apos;")

    def fault(self, what: str) -> DataError:
        """The error about the current line."""
        return DataError(f"{self.name} line {self.parser.ErrorLineNumber}: {what}")
