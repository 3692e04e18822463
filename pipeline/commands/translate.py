"""`nmt translate`: one line out for each line in."""

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ..common import files, work
from ..common.files import DataError
from ..console import progress
from ..console.printing import printable
from ..corpora import encodings
from ..decoding.settings import MOST_BEAM, Decoding
from ..decoding.translator import Translator
from ..packaging import loading
from .line_by_line import Lines, Notes, in_shards, translations

Beam = Annotated[int | None, typer.Option(min=1, max=MOST_BEAM, help="Beam size, instead of decode.beam_size.")]
Systems = Annotated[
    list[str] | None,
    typer.Option(help="System built here: its id, or a part of it that no other one has. Several: an ensemble."),
]
Models = Annotated[
    list[Path] | None,
    typer.Option(help="Folder of a packaged system, such as models/<system>, here or anywhere. Several: an ensemble."),
]


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
) -> None:
    """Translate a sentence, a file or standard input: one line out for each line in (--n-best: up to so many).

    Either --system, in the project's folder, or --model; both with the settings of the search that a system was
    packaged with. Given several times, these systems choose each piece together, by the mean of their probabilities;
    the settings are those of the first.

    A score is log P in nats, divided by the length penalty; the higher, the better. Warnings go to standard error.
    """
    systems, folders = tuple(system or ()), tuple(model or ())
    translator = load(systems, folders)
    decoding = overridden(translator.decoding, beam, length_penalty, no_repeat_ngram_size)
    if n_best and n_best > decoding.beam_size:
        raise DataError(
            f"--n-best: must not exceed the beam size {decoding.beam_size}, got {n_best}; "
            f"expected fewer or --beam {n_best}"
        )
    given, notes = lines(sentence, file), Notes(Counter(), [])
    if file and given.total and given.are_many:
        by_line = partial(translations, partial(load, systems, folders), decoding, n_best)
        with kept_shards(file, systems, folders, decoding, n_best) as folder:
            write(in_shards(by_line, partial(text_of, file.resolve()), given.total, folder, notes))
    else:
        outputs = translations(lambda: translator, decoding, n_best, given, notes)
        shown = (
            outputs if sys.stdout.isatty() else progress.track(outputs, "translate", total=given.total, unit="lines")
        )
        write(shown)
    notes.warn()


def load(systems: tuple[str, ...], folders: tuple[Path, ...]) -> Translator:
    """What --system or --model names; several are an ensemble.

    Raises: DataError if not one of the two options is given, or if one is not there.
    """
    if bool(systems) == bool(folders):
        raise DataError(
            f"--system, --model: must be one of the two, got {'both' if systems else 'neither'}; "
            "expected the id of a system built here, or a packaged folder"
        )
    if folders:
        members = [loading.load(folder) for folder in folders]
    else:
        from . import project  # imports what --model can lack

        members = [project.load(project.parse(system)) for system in systems]
    return Translator.ensemble(members) if members[1:] else members[0]


def kept_shards(
    file: Path, systems: tuple[str, ...], folders: tuple[Path, ...], decoding: Decoding, n_best: int | None
) -> AbstractContextManager[Path]:
    """A folder for the shards of a file, which a killed translation of it leaves to the next one."""
    inputs = [file, *folders]
    if systems:
        from . import project

        for system in map(project.parse, systems):
            inputs += [system.packaged, system.averaged, system.training_summary, system.vocabulary_folder]
    name = hashlib.sha256(repr([path.resolve() for path in inputs]).encode()).hexdigest()[:16]
    return work.unfinished(f"translate-{name}", decoding.model_dump(), n_best, inputs=inputs)


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
        return Lines(text_of(file), total=total)
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


def text_of(path: Path) -> Iterator[str]:
    """The lines of a file."""
    return decoded(read(path), str(path))


def decoded(raw: Iterable[bytes], origin: str) -> Iterator[str]:
    """Lines in UTF-8 as text."""
    return (files.decoded(line, origin, number) for number, line in enumerate(raw, 1))


def write(outputs: Iterator[str]) -> None:
    """Write the translations as soon as they are there."""
    to_terminal = sys.stdout.isatty()
    out = sys.stdout.buffer  # taken before a progress bar, while it lives, sends sys.stdout to the terminal
    for text in outputs:
        out.write((printable(text) if to_terminal else text).encode())  # a file gets it byte for byte
        out.flush()
