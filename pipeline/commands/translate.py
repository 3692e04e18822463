"""`nmt translate`: one line out for each line in."""

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ..common import files, work
from ..common.files import DataError
from ..compute import ids
from ..console import progress
from ..console.printing import printable
from ..corpora import encodings
from ..decoding.glossary import Glossary
from ..decoding.markup import MARK
from ..decoding.settings import MOST_BEAM, Decoding
from ..decoding.translator import Translator
from ..packaging import loading
from ..vocabularies.equals import listed

Beam = Annotated[int | None, typer.Option(min=1, max=MOST_BEAM, help="Beam size, instead of decode.beam_size.")]
Systems = Annotated[
    list[str] | None,
    typer.Option(help="System built here: its id, or a part of it that no other one has. Several: an ensemble."),
]
Models = Annotated[
    list[Path] | None,
    typer.Option(help="Folder of a packaged system, such as models/<system>, here or anywhere. Several: an ensemble."),
]
Terms = Annotated[
    Path | None,
    typer.Option(help="File of terms, one a line, a tab and its translation behind each: written so, uninflected."),
]
CAPITALS = 1.5  # times as many pieces as lower case takes: next to no such word was in the training text
TOGETHER = 200  # lines read from a file or a pipe before the first answer, so that batches have similar lengths
MANY, SHARD = 1_000_000, 1000 * TOGETHER  # lines: a file of more is translated in shards, in the same batches


class Lines(NamedTuple):
    """Lines to translate."""

    lines: Iterator[str]
    total: int | None = None  # how many there are, if known
    at_once: bool = False  # each is answered before the next is read
    first: int = 1  # the number of the first


Search = tuple[list[str], list[Path], Path | None, Decoding, int | None]  # systems, packages, terms, settings, --n-best


class Notes(NamedTuple):
    """What to warn of once all lines are translated."""

    missing: Counter[str]  # characters that no piece spells, and on how many lines
    capitals: list[int]  # numbers of lines in strange capitals


def translate(
    sentence: Annotated[
        str | None, typer.Argument(help="The sentence; without one and without --file: standard input.")
    ] = None,
    system: Systems = None,
    model: Models = None,
    file: Annotated[Path | None, typer.Option(help="One sentence a line.")] = None,
    beam: Beam = None,
    n_best: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_BEAM, help="So many translations a line: line number, score, translation, tabs between."
        ),
    ] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option(min=0, max=10, help="Instead of decode.length_penalty: more favours longer translations."),
    ] = None,
    no_repeat_ngram_size: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=1000,
            help="Instead of decode.no_repeat_ngram_size: 4 writes no 4 pieces twice, which ends loops.",
        ),
    ] = None,
    glossary: Terms = None,
) -> None:
    """Translate a sentence, a file or standard input: one line out for each line in (--n-best: up to so many).

    Either --system, in the project's folder, or --model; both with the settings of the search that a system was
    packaged with. Given several times, these systems choose each piece together, by the mean of their probabilities;
    the settings are those of the first.

    A score is log P in nats, divided by the length penalty; the higher, the better. Warnings go to standard error.
    """
    translator = load(system or [], model or [], glossary)
    decoding = overridden(translator.decoding, beam, length_penalty, no_repeat_ngram_size)
    if n_best and n_best > decoding.beam_size:
        raise DataError(
            f"--n-best: must not exceed the beam size {decoding.beam_size}, got {n_best}; "
            f"expected fewer or --beam {n_best}"
        )
    given, notes = lines(sentence, file), Notes(Counter(), [])
    if file and given.total and given.total > MANY:
        write(in_shards((system or [], model or [], glossary, decoding, n_best), file, given.total, notes))
    else:
        outputs = translations(translator, given, decoding, n_best, notes)
        tracked = progress.track(outputs, "translate", total=given.total, unit="lines")
        write(outputs if sys.stdout.isatty() else tracked)
    warn(notes)


def load(systems: list[str], folders: list[Path], glossary: Path | None = None) -> Translator:
    """What --system or --model names, with the terms of --glossary; several are an ensemble.

    Raises: DataError if not one of the two options is given, or if one is not there.
    """
    if bool(systems) == bool(folders):
        raise DataError(
            f"--system, --model: must be one of the two, got {'both' if systems else 'neither'}; "
            "expected the id of a system built here, or a packaged folder"
        )
    terms = Glossary(glossary) if glossary else None
    if folders:
        members = [loading.load(folder) for folder in folders]
    else:
        from . import project  # imports what --model can lack

        members = [project.load(project.parse(system)) for system in systems]
    translator = Translator.ensemble(members) if members[1:] else members[0]
    translator.glossary = terms
    return translator


def overridden(
    decoding: Decoding, beam: int | None, length_penalty: float | None = None, no_repeat_ngram_size: int | None = None
) -> Decoding:
    """The settings, with the values of the command line in place of their own."""
    given = {"beam_size": beam, "length_penalty": length_penalty, "no_repeat_ngram_size": no_repeat_ngram_size}
    return decoding.changed(**{key: value for key, value in given.items() if value is not None})


def lines(sentence: str | None, file: Path | None) -> Lines:
    """The lines of the argument, of the file, or else of standard input; at a terminal each is answered at once.

    Raises: DataError if both are given or the file does not exist.
    """
    if sentence is not None and file is not None:
        raise DataError(f"--file: must stand alone, got {sentence!r} too; expected one of the two")
    if sentence is not None:
        raw = os.fsencode(sentence).removesuffix(b"\n").split(b"\n")
        return Lines(decoded(raw, "sentence"), total=len(raw))
    if file is not None:
        if not file.is_file() and not file.is_fifo():
            what = "not a file" if file.exists() else "no such file"
            raise DataError(f"--file: {what}, got {str(file)!r}; expected one sentence a line")
        total = sum(1 for _ in read(file)) if file.is_file() else None
        return Lines(decoded(read(file), str(file)), total=total)
    if sys.stdin is None:
        raise DataError("standard input: is closed; expected a sentence, --file, or lines on standard input")
    if sys.stdin.isatty():
        print("One sentence a line; Ctrl-D ends.", file=sys.stderr)
    given = encodings.lines(sys.stdin.buffer, "standard input")
    return Lines(decoded(given, "standard input"), at_once=sys.stdin.isatty())


def read(path: Path) -> Iterator[bytes]:
    """The lines of a file in UTF-8."""
    with path.open("rb") as file:
        yield from encodings.lines(file, str(path))


def decoded(raw: Iterable[bytes], origin: str) -> Iterator[str]:
    """Lines in UTF-8 as text."""
    return (files.decoded(line, origin, number) for number, line in enumerate(raw, 1))


def translations(
    translator: Translator, given: Lines, decoding: Decoding, n_best: int | None, notes: Notes
) -> Iterator[str]:
    """The output of each input line: its best translation, or numbered ones with scores; tabs in them become spaces."""
    numbered = enumerate(given.lines, given.first)
    while block := list(islice(numbered, 1 if given.at_once else TOGETHER)):
        ranked = translator.ranked([line for _, line in block], decoding, n_best or 1)
        for (number, line), ranks in zip(block, ranked, strict=True):
            notes.missing.update(translator.vocabulary.unwritable(MARK.sub(" ", line)))
            notes.capitals.extend([number] if are_strange_capitals(line, translator) else [])
            if n_best is None:
                yield f"{ranks[0][0]}\n"
            else:
                yield "".join(f"{number}\t{score:.4f}\t{text.replace(chr(9), ' ')}\n" for text, score, _ in ranks)


def in_shards(search: Search, file: Path, total: int, notes: Notes) -> Iterator[str]:
    """The output of each line of a file, by this process or a Dask cluster; what a killed one has done stays."""
    progress.say("translate", f"{total:,} lines in shards of {SHARD:,}; the same command goes on where it was killed")
    systems, models, glossary, decoding, n_best = search
    inputs, shards = [file, *models, *([glossary] if glossary else [])], range(-(-total // SHARD))
    if systems:
        from . import project  # as above

        inputs += [Path(top, project.parse(name).id) for name in systems for top in ("runs", "models")]
    name = hashlib.sha256(repr([path.resolve() for path in inputs]).encode()).hexdigest()[:16]
    with work.unfinished(f"translate-{name}", decoding.model_dump(), n_best, inputs=inputs) as folder:
        function = partial(translate_shard, search, file, total, folder)
        for shard, done in zip(shards, work.map_shards(function, shards, folder, "notes", processes=1), strict=True):
            notes.missing.update(done[0])
            notes.capitals.extend(done[1])
            with (folder / work.DATA / f"{shard}.txt").open(encoding="utf-8", newline="\n") as translated:
                yield from translated


def translate_shard(search: Search, file: Path, total: int, folder: Path, shard: int) -> Notes:
    """Translate a shard of a file into a file of its own; returns what to warn of."""
    systems, models, glossary, decoding, n_best = search
    begin, notes, text = shard * SHARD, Notes(Counter(), []), decoded(read(file), str(file))
    own = Lines(islice(text, begin, begin + SHARD), total=min(SHARD, total - begin), first=begin + 1)
    outputs = translations(load(systems, models, glossary), own, decoding, n_best, notes)
    with files.new_file(folder / work.DATA / f"{shard}.txt") as out:
        out.writelines(progress.track(outputs, f"translate from line {own.first:,}", total=own.total, unit="lines"))
    return notes


def warn(notes: Notes) -> None:
    """Print a line on standard error for each kind."""
    if notes.missing:
        what = f"no piece of the vocabulary spells {listed(notes.missing)}; such characters come back as they are"
        print(printable(f"warning: {what}"), file=sys.stderr)
    if capitals := notes.capitals:
        what = f"{len(capitals):,} lines in capitals (first: {capitals[0]:,}), of which training saw next to none"
        print(f"warning: {what}; expected them in lower case", file=sys.stderr)


def are_strange_capitals(line: str, translator: Translator) -> bool:
    """Whether a line is all in capitals that take many more pieces, or unknown ones, than the same in lower case."""
    if not line.isupper() or len(line.split()) < 3:
        return False
    upper, lower = (
        len(pieces) + pieces.count(ids.UNK) for pieces in translator.vocabulary.encode_source([line, line.lower()])
    )
    return upper >= CAPITALS * lower


def write(outputs: Iterator[str]) -> None:
    """Write the translations as soon as they are there."""
    to_terminal = sys.stdout.isatty()
    out = sys.stdout.buffer  # taken before a progress bar, while it lives, sends sys.stdout to the terminal
    for text in outputs:
        out.write((printable(text) if to_terminal else text).encode())  # a file gets it byte for byte
        out.flush()
