"""What a translation must leave alone, in plain text and in HTML: tags, comments, code, placeholders, addresses.

A text is cut into verbatim pieces and runs. A run is what may be one or several sentences: its characters, and marks
between them. Nothing is parsed into a tree, so that malformed HTML comes back as it was. Time grows as the text.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

Side = Literal["open", "close", "alone"]

# Of an address: {name}, (what stands in brackets), any other character, and its last one, which is no punctuation.
BRACED = r"""\{{1,2}[^{}\s<>"]{1,200}\}{1,2} | \([^()\s<>"]*\)"""
ADDRESS = rf"""(?: {BRACED} | [^\s<>"{{}}()] | \((?![^()\s<>"]*\)) )* (?: {BRACED} | [^\s<>"{{}}().,;:!?\]'»”] )"""
PLACEHOLDER = re.compile(
    rf"""
    (?:https?|ftp)://{ADDRESS} | (?<![\w.])www\.{ADDRESS}
    """
    r"""
    | (?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}
    | \{\{[^{}\n]{1,200}\}\} | \$?\{[^{}\n]{0,200}\}         # {{x}} ${x} {name} {}
    | %%
    | (?<![\w%])%(?:\(\w{1,64}\))?(?:\d{1,4}\$)?          # %s %d %1$s %(x)d %.2f %@
      [-+\#0]{0,4}\d{0,4}(?:\.\d{1,4})?(?:[hlL]{0,2}[diouxXeEfFgGcrsa]|@)(?!\w)
    """,
    re.VERBOSE,
)
TEXT_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]{0,60})(?:\s[^<>\n]{0,400}?)?(?P<alone>/?)>")
ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
TEXT_PUNCTUATION = "&'\"-,.;:!?…–—‘’“”«»¿¡()"  # which a model knows; other signs come back as they were
TAG_BEGIN = re.compile(r"<(?=[/!?]?[A-Za-z]|!--|!\[CDATA\[|\?)")
TAG_NAME = re.compile(r"</?([A-Za-z][^\s/>]*)")
UNQUOTED = re.compile(r"[^\"'>]*")
NOT_TRANSLATED = re.compile(
    r"""\stranslate\s*=\s*(?:"no"|'no'|no(?=[\s/>]))
    |\sclass\s*=\s*(?:"(?>[^"]*?\bnotranslate\b)[^"]*"|'(?>[^']*?\bnotranslate\b)[^']*')""",
    re.IGNORECASE | re.VERBOSE,
)


def names(text: str) -> frozenset[str]:
    """The names of elements, written in a row."""
    return frozenset(text.split())


FORMATTING = names(
    "a abbr acronym b bdi bdo big cite data del dfn em font i ins label mark q ruby s small span strike strong sub sup "
    "time tt u g mrk"
)
VOID_INLINE = names("img wbr input x bx ex ph it bpt ept")
VOID = names("area base br col embed hr link meta param source track") | VOID_INLINE
CODE = names("code kbd samp var svg math")  # left alone, and may stand inside a sentence
RAW = names("script style textarea xmp iframe noembed noframes")  # hold no tags, and are left alone
BLOCK = names("pre template object audio video canvas")  # left alone, between sentences
INLINE = FORMATTING | VOID_INLINE | CODE


class Mark(NamedTuple):
    """Something between two characters of a run that comes back once."""

    position: int  # in the run's text
    raw: str
    side: Side
    name: str = ""


class Run:
    """Text that is translated, with marks in it."""

    def __init__(self) -> None:
        self.written: list[str] = []  # what `raw` is made of
        self.read: list[str] = []  # what `text` is made of
        self.size = 0  # of `raw`
        self.begins: list[int] = []  # of each character of `text` in `raw`
        self.ends: list[int] = []
        self.marks: list[Mark] = []

    @property
    def raw(self) -> str:
        """As it was."""
        return "".join(self.written)

    @property
    def text(self) -> str:
        """Without marks, entities decoded."""
        return "".join(self.read)

    def add_text(self, raw: str) -> None:
        """Characters that stand for themselves."""
        self.begins.extend(range(self.size, self.size + len(raw)))
        self.ends.extend(range(self.size + 1, self.size + len(raw) + 1))
        self.read.append(raw)
        self.write(raw)

    def add_entity(self, raw: str, character: str) -> None:
        """One character, written as an entity."""
        self.begins.append(self.size)
        self.ends.append(self.size + len(raw))
        self.read.append(character)
        self.write(raw)

    def add_mark(self, raw: str, side: Side, name: str = "") -> None:
        """Something that is not translated."""
        self.marks.append(Mark(len(self.begins), raw, side, name))
        self.write(raw)

    def write(self, raw: str) -> None:
        """What was read of the text itself."""
        self.written.append(raw)
        self.size += len(raw)


def text_pieces(lines: Iterable[str]) -> Iterator[str | Run]:
    """The pieces of the lines of a plain text, a run a line; tags in it are marks."""
    for line in lines:
        run, begin = Run(), 0
        for match in merged(line):
            run.add_text(line[begin : match.start()])
            begin = match.end()
            if match.re is TEXT_TAG:
                run.add_mark(match.group(), side_of(match["close"], match["alone"]), match["name"].lower())
            else:
                run.add_mark(match.group(), "alone")
        run.add_text(line[begin:])
        yield run


def side_of(close: str, alone: str) -> Side:
    """What a tag is, given its slashes."""
    return "close" if close else "alone" if alone else "open"


def merged(line: str) -> Iterator[re.Match[str]]:
    """Placeholders and tags of a line, none within another."""
    end = 0
    found = [*PLACEHOLDER.finditer(line), *TEXT_TAG.finditer(line)]
    for match in sorted(found, key=lambda match: (match.start(), -match.end())):
        if match.start() >= end:
            end = match.end()
            yield match


def joined(marks: Sequence[Mark]) -> list[Mark]:
    """The marks, of which those that touch and open and close each other are one, as `<b>{name}</b>` or `{a}{b}`."""
    found = []
    for position, group in groupby(marks, key=lambda mark: mark.position):
        touching = list(group)
        if touching[1:] and is_balanced(touching):
            touching = [Mark(position, "".join(mark.raw for mark in touching), "alone")]
        found += touching
    return found


def is_balanced(marks: Iterable[Mark]) -> bool:
    """Whether each mark that opens is closed, the last one first, and none other."""
    opened: list[str] = []
    for mark in marks:
        if mark.side == "open":
            opened.append(mark.name)
        elif mark.side == "close" and (not opened or opened.pop() != mark.name):
            return False
    return not opened


def html_pieces(text: str, left_alone: frozenset[str] = frozenset()) -> Iterator[str | Run]:
    """The pieces of an HTML text: blocks and what is left alone between runs, which inline tags do not end.

    Elements with a name in `left_alone` are not translated, and do not end a run.
    """
    tokens = list(html_tokens(text))
    closing, run, skip = partners(tokens), Run(), 0
    for index, token in enumerate(tokens):
        if index < skip:
            continue
        if token.kind == "text":
            fill(run, token.raw)
            continue
        side, raw = token.side, token.raw
        is_named = token.kind == "tag" and token.name in left_alone
        if side == "open" and (is_named or is_left_alone(token)) and index in closing:
            skip = closing[index] + 1
            raw = "".join(one.raw for one in tokens[index:skip])
            side = "alone"
        if token.kind == "comment" or token.name in VOID_INLINE or (is_named and side == "alone"):
            run.add_mark(raw, "alone")
        elif token.name in INLINE or (token.side == "alone" and token.name not in VOID | BLOCK):
            run.add_mark(raw, side, token.name)
        else:
            yield run
            yield raw
            run = Run()
    yield run


class Token(NamedTuple):
    """A stretch of HTML."""

    kind: Literal["text", "tag", "comment", "other"]  # other: a declaration, or an element whose content is no HTML
    raw: str
    name: str = ""
    side: Side = "open"


def html_tokens(text: str) -> Iterator[Token]:
    """The tokens of an HTML text, which spell it again."""
    begin, searched, quotes_matter = 0, 0, True
    while (match := TAG_BEGIN.search(text, searched)) is not None:
        start = match.start()
        token: Token | None
        if text.startswith("<!--", start):
            token = until(text, start, "-->", start + 4, "comment")
        elif text.startswith("<![CDATA[", start):
            token = until(text, start, "]]>", start + 9, "other")
        elif text[start + 1] in "!?":
            token = until(text, start, ">", start + 2, "other")
        else:
            end = tag_end(text, start) if quotes_matter else None
            if end is None:  # a quotation mark is never closed: the rest is read without any, in linear time
                quotes_matter, end = False, text.find(">", start) + 1
            token = tag(text, start, end) if end else None
        if token is None:  # no tag ends any more
            break
        if start > begin:
            yield Token("text", text[begin:start])
        yield token
        begin = searched = start + len(token.raw)
    if begin < len(text):
        yield Token("text", text[begin:])


def until(text: str, start: int, end: str, begin: int, kind: Literal["comment", "other"]) -> Token:
    """What ends with `end`, or with the text."""
    found = text.find(end, begin)
    return Token(kind, text[start : found + len(end)] if found >= 0 else text[start:])


def tag_end(text: str, start: int) -> int | None:
    """Behind the `>` of the tag that begins at `start`, none in quotation marks; None if there is none."""
    position = start
    while (position := end_of(UNQUOTED, text, position)) < len(text):
        if text[position] == ">":
            return position + 1
        position = text.find(text[position], position + 1) + 1
        if not position:
            return None
    return None


def end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    """The end of a pattern that matches anything."""
    match = pattern.match(text, position)
    assert match is not None
    return match.end()


def tag(text: str, start: int, end: int) -> Token:
    """The tag of a text from `start` to `end`, with its content if that is no HTML."""
    raw = text[start:end]
    match = TAG_NAME.match(raw)
    assert match is not None
    name, side = match[1].lower(), side_of("/" if raw[1] == "/" else "", "/" if raw.endswith("/>") else "")
    if side == "open" and name in RAW:
        found = re.compile(rf"</{re.escape(name)}(?=[\s/>])[^>]*>?", re.IGNORECASE).search(text, end)
        return Token("other", text[start : found.end()] if found else text[start:], name)
    return Token("tag", raw, name, side)


def is_left_alone(token: Token) -> bool:
    """Whether nothing inside an element is translated."""
    return token.name in CODE | BLOCK or NOT_TRANSLATED.search(token.raw) is not None


def partners(tokens: list[Token]) -> dict[int, int]:
    """The index of the end tag of each element that has one."""
    opened: dict[str, list[int]] = {}
    found: dict[int, int] = {}
    for index, token in enumerate(tokens):
        if token.kind != "tag" or token.name in VOID:
            continue
        if token.side == "open":
            opened.setdefault(token.name, []).append(index)
        elif token.side == "close" and opened.get(token.name):
            found[opened[token.name].pop()] = index
    return found


def fill(run: Run, raw: str) -> None:
    """Add text of HTML to a run: entities that are letters, spaces or usual punctuation are read, others are marks.

    An address ends before an entity, but for `&amp;`.
    """
    begin = 0
    entities = list(ENTITY.finditer(raw))
    starts = [match.start() for match in entities]
    for match in sorted([*PLACEHOLDER.finditer(raw), *entities], key=lambda match: match.start()):
        if match.start() < begin:
            continue
        run.add_text(raw[begin : match.start()])
        is_entity = match.re is ENTITY
        begin = match.end() if is_entity else placeholder_end(match, entities, starts)
        found = raw[match.start() : begin]
        character = html.unescape(found) if is_entity else ""
        if len(character) == 1 and (character.isalnum() or character.isspace() or character in TEXT_PUNCTUATION):
            run.add_entity(found, character)
        else:
            run.add_mark(found, "alone")
    run.add_text(raw[begin:])


def placeholder_end(match: re.Match[str], entities: Sequence[re.Match[str]], starts: Sequence[int]) -> int:
    """Where a placeholder of HTML ends: before an entity that begins in it, or behind the last `&amp;` that does."""
    end = match.end()
    for index in range(bisect_right(starts, match.start()), len(entities)):
        entity = entities[index]
        if entity.start() >= end:
            break
        if entity.group() != "&amp;":
            return entity.start()
        end = max(end, entity.end())
    return end
