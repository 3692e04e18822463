"""The size of a new corpus: how much text cleaning leaves, and what share of it to hold out."""

import os
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

from ..common.files import DataError
from ..common.normalisation import num_words
from ..common.params import PATH
from ..common.parts import TEST, TRAIN, VALIDATION, Pair
from ..corpora import downloading
from ..corpora.fetching import Downloads
from ..corpora.importers import hub, local
from ..corpora.importers.interface import BaseSource
from ..corpora.sources import Download
from ..preparation import bitexts, cleaning, splits
from . import oddities
from .training_length import Size, held_out_share

SAMPLE = 10_000  # pairs of a data set of the hub that are read, and of all texts that are kept to look at
MOST = 200_000  # pairs of another text that are cleaned; those after them are counted
SHARES = (0.15, 0.2, 0.3, 0.4)  # to hold out, where the usual one takes no pair


def survey(about: dict[str, Any], corpus: Path, page: Path = PATH) -> Size | None:
    """The size of the training part as cleaning leaves it, None if that is not known; the other own files are read too.

    It says what cleaning drops, and what is odd.
    Raises: DataError if files are no parallel text or too little of it, or the corpus's file would have faults.
    """
    if faults := list(Download.faults(about, "", corpus)):
        raise DataError("\n".join(faults))
    download = Download.model_validate(about)
    for part, source in download.parts.items():
        if part != TRAIN and isinstance(source, local.Source):
            pairs = downloading.read(part, source, download.languages, downloads(), {}, is_text=True)
            blank = Counter(not all(map(bytes.strip, pair)) for pair in pairs)
            if not blank[False]:
                raise DataError(
                    f"{corpus}: parts.{part}: holds no text, got {blank.total()} blank pairs; expected others"
                )
            if blank[True]:
                warn(f"{corpus}: parts.{part}: {blank[True]} of {blank.total()} pairs are blank on one side or both")
    looks = Looks(cleaning.Cleaning.load(f"{page}:clean"), download)
    sizes = []
    for name, source in download.bitexts.items():
        try:
            sizes.append(looks.size(name, source))
        except DataError as error:
            if not source.is_public:
                raise
            warn(f"{corpus}: {name}: its size stays unknown, got {error}")
            sizes.append(None)
    if looks.counts:
        cleaning.check_kept(looks.counts, corpus)
    sides = looks.sample, download.languages
    for text in (*looks.odd.lines(), *oddities.languages(*sides), *oddities.misaligned(*sides)):
        warn(f"{corpus}: {text}")
    known = [size for size in sizes if size]
    if len(known) < len(sizes):
        return None
    size = Size(sum(size.pairs for size in known), sum(size.words for size in known), 0.0, len(looks.characters))
    return size._replace(share=share(size, looks, download, corpus, page))


def downloads() -> Downloads:
    """The project's folder of fetched files, and its mirror."""
    return Downloads(Path("work/downloads"), os.environ.get("CORPUS_MIRROR"))


class Looks:
    """What the pairs say that were looked at, a bounded number of each bitext."""

    def __init__(self, section: cleaning.Cleaning, download: Download) -> None:
        self.section, self.download = section, download
        self.odd, self.characters, self.seen = oddities.Oddities(download.languages), set[str](), set[tuple[str, int]]()
        self.counts = dict[str, dict[str, Any]]()
        self.sample, self.step = list[Pair](), 1  # every pair, or one of each `step`

    def size(self, name: str, source: BaseSource) -> Size | None:
        """The size of a bitext; None if it is not known unless more files of the hub are fetched.

        Of one that says how many pairs and words it has, nothing is read.
        """
        languages = self.download.languages
        stated = source.stated(languages, downloads())
        if stated and stated.words:
            return Size(stated.pairs, stated.words)
        tally, words = cleaning.Tally(self.section.examples), 0
        raw = downloading.read(name, source, languages, downloads(), {})
        most = SAMPLE if isinstance(source, hub.Source) else MOST
        for pair in bitexts.kept_pairs(islice(raw, most), self.section, languages, tally, self.seen):
            words += num_words(pair[1])
            self.look_at(pair)
        if not tally.read:
            raise DataError(f"{name}: is empty, got 0 pairs; expected some")
        self.counts[name] = tally.counts()
        if stated and tally.read == most:
            total = stated.pairs
        elif tally.read == most and isinstance(source, hub.Source):
            return None
        else:
            total = tally.read + sum(1 for _ in raw)
        return Size(round(total * tally.kept / tally.read), round(total * words / tally.read))

    def look_at(self, pair: Pair) -> None:
        """Note what is odd in a pair, its characters, and perhaps the pair itself."""
        self.characters.update(*pair)
        self.odd.look_at(pair)
        if self.odd.total % self.step == 0:
            self.sample.append(pair)
        if len(self.sample) > SAMPLE:
            self.sample, self.step = self.sample[::2], 2 * self.step


def share(size: Size, looks: Looks, download: Download, corpus: Path, page: Path) -> float:
    """The share to hold out of a corpus for each part that it does not bring: the usual one, if that takes a pair.

    Raises: DataError if no share does.
    """
    if size.pairs > len(looks.sample):
        return held_out_share(size)  # of a thousand pairs
    splitting = splits.Splitting.load(f"{page}:split")
    missing = [part for part in (VALIDATION, TEST) if part not in download.parts]
    for one in (held_out_share(size), *SHARES):
        shares = splitting.changed(**{f"{part}_share": one for part in missing})
        if {part for part, _ in splits.carve(looks.sample, shares)} == {TRAIN, *missing}:
            return one
    raise DataError(
        f"{corpus}: too little text to hold some out, got {size.pairs} pairs after cleaning; expected more, or "
        "files of their own for validation and test"
    )


def warn(text: str) -> None:
    """Show a warning."""
    print(f"warning: {text}", file=sys.stderr)
