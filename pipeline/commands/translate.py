"""`nmt translate`: one line out for each line in."""

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from pipeline import progress
from pipeline.commands import project, sentences
from pipeline.decoding.search import Hypothesis
from pipeline.decoding.translate import Decoding
from pipeline.decoding.translator import Source, Translator
from pipeline.files import DataError
from pipeline.terminal import printable

TOGETHER = 200  # lines read from a file or a pipe before the first answer, so that batches have similar lengths


class Layout(NamedTuple):
    """The columns of the output."""

    n_best: int | None
    scores: bool
    pieces: bool

    def rows(self, translator: Translator, number: int, source: Source, found: list[Hypothesis]) -> Iterator[str]:
        """The lines of one source; with several columns, tabs within one become spaces."""
        for hypothesis in found:
            columns = [
                *([str(number)] if self.n_best else []),
                *([f"{hypothesis.score:.4f}"] if self.n_best or self.scores else []),
                translator.text(hypothesis.ids),
            ]
            if self.pieces:
                columns += [
                    " ".join(translator.vocabulary.source_pieces(source.ids)),
                    " ".join(translator.vocabulary.target_pieces(hypothesis.ids)),
                ]
            yield "\t".join(column.replace("\t", " ") for column in columns) if columns[1:] else columns[0]


def translate(
    system: Annotated[str, typer.Option(help="Id of a built system: <corpus>-<vocabulary>-<model>-<size>.")],
    sentence: Annotated[
        str | None, typer.Argument(help="The sentence; without one and without --file: standard input.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="One sentence a line.")] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam size, instead of decode.beam_size.")] = None,
    n_best: Annotated[
        int | None,
        typer.Option(min=1, help="So many translations a line: line number, score, translation, tabs between."),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="The score and a tab before each translation.")] = False,
    pieces: Annotated[
        bool, typer.Option("--pieces", help="Two more columns: the pieces read, the pieces written.")
    ] = False,
    length_penalty: Annotated[
        float | None, typer.Option(min=0, help="Instead of decode.length_penalty: more favours longer translations.")
    ] = None,
) -> None:
    """Translate a sentence, a file or standard input: one line out for each line in (--n-best: up to so many).

    Columns, if there are several, are separated by tabs and come in this order: line number from 1 (--n-best),
    score (--scores, --n-best), translation, pieces of the source, pieces of the translation (--pieces). A score is
    log P in nats, divided by the length penalty; the higher, the better. Warnings go to standard error.
    """
    project.check_here()
    chosen = project.parse(system)
    decoding = project.decoding(chosen, beam, length_penalty)
    if n_best is not None and n_best > decoding.beam_size:
        raise DataError(
            f"--n-best: must not exceed the beam size {decoding.beam_size}, got {n_best}; "
            f"expected fewer or --beam {n_best}"
        )
    given = sentences.lines(sentence, file, TOGETHER)
    translator = project.load(chosen)
    shown = printable if sys.stdout.isatty() else str  # a file gets what was translated, byte for byte
    out = sys.stdout.buffer  # taken before a progress bar, while it lives, sends sys.stdout to the terminal
    for rows in watched(answers(translator, given, decoding, Layout(n_best, scores, pieces)), given):
        out.write("".join(shown(row) + "\n" for row in rows).encode())
        out.flush()


def watched(found: Iterator[list[str]], given: sentences.Lines) -> Iterator[list[str]]:
    """The same rows, with a progress bar unless they are written to a terminal, where they are progress themselves."""
    if sys.stdout.isatty():
        return found
    return progress.track(found, "translate", total=given.total, unit="lines")


def answers(translator: Translator, given: sentences.Lines, decoding: Decoding, layout: Layout) -> Iterator[list[str]]:
    """The output lines of each input line."""
    numbered = enumerate(given.lines, 1)
    while block := list(islice(numbered, given.together)):
        sources = translator.read([line for _, line in block])
        found = translator.search(sources, decoding, layout.n_best or 1)
        for (number, line), source, hypotheses in zip(block, sources, found, strict=True):
            sentences.warn(translator, source, line, f"{given.origin} line {number}")
            yield list(layout.rows(translator, number, source, hypotheses))
