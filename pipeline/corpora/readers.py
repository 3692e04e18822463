"""Sentence pairs, as bytes, from the texts that corpora come in; all streamed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..common import files
from . import archives, encodings

RawPair = tuple[bytes, bytes]

# The lines of an IWSLT `train.tags.*` file that describe a talk; the others are its text.
IWSLT_TAG = re.compile(
    rb"\s*</?(?:content|description|doc|keywords|reviewer|speaker|talkid|title|transcript|translator|url)\b[^<]*?>"
)
MARKED_UP = re.compile(rb"\s*<(?:\?xml|!DOCTYPE|srcset|refset|tstset|mteval|tmx)\b", re.IGNORECASE)


@dataclass(frozen=True)
class TextFile:
    """A text on disk: a file, or a member of an archive, whose `address` says how it is packed."""

    address: str
    path: Path
    member: str | None = None
    commit: str | None = None  # of the hub's data set

    def __str__(self) -> str:
        """Its name in messages."""
        return self.address if self.member is None else f"{self.address} member {self.member}"

    def lines(self) -> Iterator[bytes]:
        """The lines in UTF-8, without their ends and byte-order mark; of an IWSLT training file only the text.

        Raises: DataError for another encoding, too long a line, or a file of SGML or XML.
        """
        tagged = is_tagged(self.member or self.address)
        with archives.opened(self.path, self.address, self.member) as file:
            for number, line in enumerate(encodings.lines(file, str(self))):
                if number == 0 and MARKED_UP.match(line):
                    raise files.DataError(
                        f"{self}: is SGML or XML, got {line[:40]!r}; expected a sentence a line, or TMX at the key tmx"
                    )
                if not tagged:
                    yield line
                elif not IWSLT_TAG.match(line):
                    yield line.strip()


def is_tagged(name: str) -> bool:
    """Whether a path or address is that of an IWSLT training file, which has lines about a talk between its text."""
    return PurePosixPath(name).name.startswith("train.tags.")


def flat(text: str) -> bytes:
    """A sentence as one line: the line breaks inside it become spaces."""
    return re.sub(r"[\r\n]+", " ", text).encode("utf-8", "surrogateescape")
