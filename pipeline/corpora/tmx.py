"""Sentence pairs from a translation memory (TMX 1.1 to 1.4b), streamed; nothing that it refers to is read.

Source: https://www.gala-global.org/tmx-14b.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

from lxml import etree

from ..common.files import DataError
from ..console import progress
from ..languages import codes
from . import archives
from .readers import RawPair, TextFile

CODE = [f"{{*}}{tag}" for tag in ("bpt", "ept", "it", "ph", "sub", "ut")]  # formatting in a segment; `hi` marks text
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"  # xml:lang
FIRST_UNITS = 10_000  # whose languages are those of the memory


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
    if not count:
        got = ", ".join(name for name, _ in lacking.most_common(3)) or "no unit"
        raise DataError(f"{text}: has no unit in both {languages[0]} and {languages[1]}, got {got}; expected some")
    if total := lacking.total():
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
        regional = [code for code in available if language == base and code.startswith(f"{base}-")]
        likely = [language, *(code for code in (base, *regional) if code != other)]
        return next((code for code in likely if code in available), None)

    source, target = find(*wanted), find(*reversed(wanted))
    return (source, target) if source and target and source != target else None


@cache
def form(code: str) -> str:
    """The usual form of a language's code."""
    return codes.tag(code) or code.lower()


def units(text: TextFile) -> Iterator[dict[str, str]]:
    """The first segment of each language, by its code, of every unit, in constant memory.

    Raises: DataError naming the line that is no XML, or has an entity, which may be endless or a file of this machine.
    """
    settings = {"resolve_entities": False, "no_network": True, "remove_comments": True, "remove_pis": True}
    with archives.opened(text.path, text.address, text.member) as file:
        reader = etree.iterparse(file, ("start", "end"), recover=True, **settings)
        try:
            for event, element in reader:
                tag = element.tag.rpartition("}")[2]
                if element.getparent() is None and tag != "tmx":
                    raise no_memory(text, element.sourceline, f"<{tag}>")
                if event == "end" and tag == "tu":
                    for entity in element.iter(etree.Entity):
                        raise no_memory(text, entity.sourceline, f"the entity {entity.name!r}")
                    yield segments(element)
                    element.clear()
                    while element.getprevious() is not None:
                        del element.getparent()[0]
        except etree.XMLSyntaxError as error:  # of an empty file
            raise no_memory(text, error.lineno, error.msg) from None
        for fault in reader.error_log.filter_from_errors():
            if fault.type != etree.ErrorTypes.ERR_INVALID_CHAR:  # programs write such; cleaning drops their pairs
                raise no_memory(text, fault.line, fault.message)


def no_memory(text: TextFile, line: int, got: str) -> DataError:
    """The error for what stands in a line."""
    return DataError(f"{text} line {line}: is no translation memory, got {got}; expected a whole TMX")


def segments(unit: Any) -> dict[str, str]:
    """The first segment of each language in a unit."""
    texts: dict[str, str] = {}
    for variant in unit.iter("{*}tuv"):
        code = form(variant.get(LANGUAGE) or variant.get("lang") or "")
        if code and code not in texts and (segment := variant.find("{*}seg")) is not None:
            if len(segment):
                etree.strip_elements(segment, *CODE, with_tail=False)
            texts[code] = re.sub(r"[ \t\r\n]+", " ", "".join(segment.itertext())).strip()
    return texts
