"""The size of a new corpus: how much text cleaning leaves, and what share of it to hold out."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ..common.files import DataError
from ..common.normalisation import num_words
from ..common.params import PATH
from ..common.parts import TEST, TRAIN, VALIDATION, Pair
from ..corpora import downloading, readers
from ..corpora.fetching import Downloads
from ..corpora.sources import Download
from ..preparation import bitexts, cleaning, splits
from . import oddities
from .training_length import Size, held_out_share

SAMPLE = 10_000  # pairs of a data set of the hub that are read, and of any that are looked at
SHARES = (0.15, 0.2, 0.3, 0.4)  # to hold out, where the usual one takes no pair


def survey(about: dict[str, Any], corpus: Path, page: Path = PATH) -> Size | None:
    """The size of the training part as cleaning leaves it, None of a large data set; the other files are read too.

    Raises: DataError if files are no parallel text or too little of it, or the corpus's file would have faults.
    """
    if faults := list(Download.faults(about, "", corpus)):
        raise DataError("\n".join(faults))
    download = Download.model_validate(about)
    own = [part for part in download.parts if all(source.kind == "local" for source in download.sources(part))]
    for part in own:
        if part != TRAIN:
            blank = Counter(not all(map(bytes.strip, pair)) for pair in read(part, download))
            if not blank[False]:
                raise DataError(
                    f"{corpus}: parts.{part}: holds no text, got {blank.total()} blank pairs; expected others"
                )
            if blank[True]:
                warn(f"{corpus}: parts.{part}: {blank[True]} of {blank.total()} pairs are blank on one side or both")
    if TRAIN not in own:
        try:
            num_pairs = sum(1 for _ in islice(read(TRAIN, download), SAMPLE))
        except DataError as error:
            warn(f"{corpus}: parts.{TRAIN}: its size stays unknown, got {error}")
            return None
        if num_pairs == SAMPLE:
            return None
    return training_size(download, corpus, page)


def read(part: str, download: Download) -> Iterator[readers.RawPair]:
    """The pairs of a part."""
    for source in download.sources(part):
        yield from downloading.read(part, source, download.languages, downloads(), {}, is_text=part != TRAIN)


def downloads() -> Downloads:
    """The project's folder of fetched files, and its mirror."""
    return Downloads(Path("work/downloads"), os.environ.get("CORPUS_MIRROR"))


def training_size(download: Download, corpus: Path, page: Path) -> Size:
    """The size of the training part, with the share to hold out; says what cleaning drops, and what is odd.

    Raises: DataError if nothing is left, or too little to hold some out.
    """
    section = cleaning.Cleaning.load(f"{page}:clean")
    tally, odd, words, characters = cleaning.Tally(section.examples), oddities.Oddities(), 0, set[str]()
    sample, step = list[Pair](), 1  # every pair, or one of each `step`
    for number, pair in enumerate(bitexts.kept_pairs(read(TRAIN, download), section, download.languages, tally, set())):
        words += num_words(pair[1])
        characters.update(*pair)
        odd.look_at(pair)
        if number % step == 0:
            sample.append(pair)
        if len(sample) > SAMPLE:
            sample, step = sample[::2], 2 * step
    cleaning.check_kept({TRAIN: tally}, corpus)
    for text in (*odd.lines(), *oddities.languages(sample, download.languages)):
        warn(f"{corpus}: {text}")
    splitting = splits.Splitting.load(f"{page}:split")
    missing = [part for part in (VALIDATION, TEST) if part not in download.parts]
    for share in (held_out_share(Size(tally.kept, words)), *SHARES):
        shares = splitting.changed(**{f"{part}_share": share for part in missing})
        # Of more pairs than the sample has, the usual share holds a thousand out.
        if step > 1 or {part for part, _ in splits.carve(sample, shares)} == {TRAIN, *missing}:
            return Size(tally.kept, words, share, len(characters))
    raise DataError(
        f"{corpus}: too little text to hold some out, got {tally.kept} pairs after cleaning; expected more, or "
        "files of their own for validation and test"
    )


def warn(text: str) -> None:
    """Show a warning."""
    print(f"warning: {text}", file=sys.stderr)
