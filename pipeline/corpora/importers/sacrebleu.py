"""Test sets by their sacrebleu names: the files that the package keeps in its cache (`SACREBLEU`, ~/.sacrebleu)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import sacrebleu
from pydantic import PositiveInt

from ...common import files, params
from ..fetching import Downloads
from ..readers import TextFile
from .interface import BaseSource, Bitext, Languages, NonEmpty


class Source(BaseSource):
    """A test set by the name the sacrebleu package gives it, in either direction."""

    kind: Literal["sacrebleu"]
    name: NonEmpty
    reference: PositiveInt | None = None  # of several, counted from 1; without it the first

    def check_languages(self, languages: Languages) -> None:
        """As `find` does."""
        find(self.name, languages)


def bitexts(source: Source, languages: Languages, downloads: Downloads) -> Iterator[Bitext]:
    """The pairs of source and reference.

    Raises: DataError if there are none.
    """
    pair, is_swapped = find(source.name, languages)
    sides = zip(("source", "reference"), paths(source.name, pair, source.reference or 1), strict=True)
    texts = tuple(TextFile(f"sacrebleu {source.name} {pair} {side}", path) for side, path in sides)
    texts = texts[::-1] if is_swapped else texts
    yield texts, files.parallel(texts[0], texts[-1], TextFile.lines)


def find(name: str, languages: Languages) -> tuple[str, bool]:
    """The language pair as sacrebleu names it for test set `name`, and whether its sides must be swapped.

    Raises: ValueError naming the nearest test set, or the language pairs that this one has.
    """
    if name not in sacrebleu.DATASETS:
        raise ValueError(f"name: unknown sacrebleu test set, got {name!r}{params.nearest(name, sacrebleu.DATASETS)}")
    known = sacrebleu.get_langpairs_for_testset(name)
    wanted = "-".join(languages)
    for pair in wanted, "-".join(languages[::-1]):
        if pair in known:
            return pair, pair != wanted
    expected = ", ".join(sorted(known))
    raise ValueError(f"name: sacrebleu's {name} lacks this pair, got {wanted}; expected one of {expected}")


def paths(name: str, pair: str, number: int) -> tuple[Path, Path]:
    """The source file of a test set and one of its references, counted from 1; downloaded if need be.

    Raises: DataError if sacrebleu cannot download them, there are fewer, or some lines have another reference.
    """
    try:
        source, references = sacrebleu.get_source_file(name, pair), sacrebleu.get_reference_files(name, pair)
    except (Exception, SystemExit) as error:  # it ends the process where a checksum differs
        raise files.DataError(
            f"sacrebleu {name} {pair}: cannot be fetched, got {error}; expected a connection, or "
            f"`sacrebleu --download {name} --language-pair {pair}` run before"
        ) from None
    if number > len(references):
        raise files.DataError(f"sacrebleu {name} {pair}: reference: must be at most {len(references)}, got {number}")
    reference = Path(references[number - 1])
    if len(references) > 1 and not all(files.read_lines(reference)):
        raise files.DataError(
            f"{reference}: has empty lines, whose references are in other files; expected a whole one"
        )
    return Path(source), reference
