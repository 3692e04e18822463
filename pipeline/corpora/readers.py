"""Sentence pairs, as bytes, from the texts that corpora come in; all streamed."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePosixPath

from ..common import files
from . import archives, encodings

RawPair = tuple[bytes, bytes]

TEXT_BYTES = 64 << 30  # unpacked; the largest side of a public corpus (WMT14 French-English) has some 6 GiB
# The lines of an IWSLT `train.tags.*` file that describe a talk; the others are its text.
IWSLT_TAG = re.compile(
    rb"\s*</?(?:content|description|doc|keywords|reviewer|speaker|talkid|title|transcript|translator|url)\b[^<]*?>"
)
MARKED_UP = re.compile(rb"\s*<(?:\?xml|!DOCTYPE|srcset|refset|tstset|mteval|tmx)\b", re.IGNORECASE)


class NotParallel(files.DataError):
    """Two texts have different numbers of lines."""


@dataclass(frozen=True)
class TextFile:
    """A text on disk: a file, or a member of an archive, whose `address` says how it is packed."""

    address: str
    path: Path
    member: str | None = None
    commit: str | None = None  # of the hub's data set

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.address if self.member is None else f"{self.address} member {self.member}"

    def lines(self) -> Iterator[bytes]:
        """The lines in UTF-8, without their ends and byte-order mark; of an IWSLT training file only the text.

        Raises: DataError for another encoding, too long a line, too much text, or a file of SGML or XML.
        """
        tagged, num_bytes = is_tagged(self.member or self.address), 0
        with archives.opened(self.path, self.address, self.member) as file:
            for number, line in enumerate(encodings.lines(file, self.name)):
                num_bytes += len(line) + 1
                if num_bytes > TEXT_BYTES:
                    raise files.DataError(f"{self.name}: unpacks to more than {TEXT_BYTES:,} bytes; expected less")
                if number == 0 and MARKED_UP.match(line):
                    raise files.DataError(
                        f"{self.name}: is SGML or XML, got {line[:40]!r}; expected a sentence on each line"
                    )
                if not tagged:
                    yield line
                elif not IWSLT_TAG.match(line):
                    yield line.strip()


def is_tagged(name: str) -> bool:
    """Whether a path or address is that of an IWSLT training file, which has lines about a talk between its text."""
    return PurePosixPath(name).name.startswith("train.tags.")


def parallel(source: TextFile, target: TextFile) -> Iterator[RawPair]:
    """Line i of `source` with line i of `target`.

    Raises: NotParallel with both counts if one text is longer.
    """
    for left, right in zip_longest(source.lines(), target.lines()):
        if left is None or right is None:
            num_source, num_target = (sum(1 for _ in text.lines()) for text in (source, target))
            raise NotParallel(
                f"{source.name} has {num_source} lines, {target.name} {num_target}: the two files must be parallel"
            )
        yield left, right


def flat(text: str) -> bytes:
    """A sentence as one line: the line breaks inside it become spaces."""
    return re.sub(r"[\r\n]+", " ", text).encode("utf-8", "surrogateescape")


def decoded(pairs: Iterable[RawPair], source: str, target: str) -> Iterator[RawPair]:
    """The pairs unchanged, all of them UTF-8.

    Raises: DataError naming file (`source` or `target`), pair and byte if one is not.
    """
    for number, pair in enumerate(pairs, 1):
        for name, line in zip((source, target), pair, strict=True):
            files.decoded(line, name, number)
        yield pair
