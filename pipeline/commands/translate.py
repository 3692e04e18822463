"""`nmt translate`: one line out for each line in."""

import math
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from pipeline import progress
from pipeline.commands import sentences
from pipeline.decoding.search import Hypothesis
from pipeline.decoding.settings import MOST_BEAM, MOST_PAIRS
from pipeline.decoding.translate import Decoding
from pipeline.decoding.translator import SourceLine, Translator
from pipeline.files import DataError
from pipeline.options import check_different
from pipeline.terminal import printable

MOST_SAMPLES = 1000  # a line
TEMPERATURE, SEED = 1.0, 1  # of --sample
DIVERSITY = 0.5
TOGETHER = 200  # lines read from a file or a pipe before the first answer, so that batches have similar lengths


class Sampling(NamedTuple):
    """How random translations are drawn."""

    number: int  # a line
    seed: int
    temperature: float


class Diverse(NamedTuple):
    """How diverse translations are searched."""

    number: int  # a line
    strength: float


class Layout(NamedTuple):
    """The columns of the output."""

    number: int | None  # of translations a line, which are then numbered and scored
    scores: bool
    pieces: bool

    def rows(self, translator: Translator, number: int, source: SourceLine, found: list[Hypothesis]) -> Iterator[str]:
        """The lines of one source; with several columns, tabs within one become spaces."""
        for hypothesis in found:
            columns = [
                *([str(number)] if self.number else []),
                *([f"{hypothesis.score:.4f}"] if self.number or self.scores else []),
                translator.text(hypothesis.ids),
            ]
            if self.pieces:
                columns += [
                    " ".join(translator.vocabulary.source_pieces(source.ids)),
                    " ".join(translator.vocabulary.target_pieces(hypothesis.ids)),
                ]
            yield "\t".join(column.replace("\t", " ") for column in columns) if columns[1:] else columns[0]


def translate(
    sentence: Annotated[
        str | None, typer.Argument(help="The sentence; without one and without --file: standard input.")
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(help="System built here: its id, or a part of it that no other one has. Several: an ensemble."),
    ] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder of a packaged system, such as models/<system>, here or anywhere. Several: an ensemble."
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option(help="One sentence a line.")] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, max=MOST_BEAM, help="Beam size, instead of decode.beam_size.")
    ] = None,
    n_best: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_BEAM, help="So many translations a line: line number, score, translation, tabs between."
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_SAMPLES,
            help="So many random translations a line, drawn piece by piece; columns as with --n-best.",
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help=f"Of --sample: less than 1 favours likely pieces; {TEMPERATURE:g} if not given."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help=f"Of --sample: the same gives the same translations; {SEED} if not given.")
    ] = None,
    diverse: Annotated[
        int | None,
        typer.Option(
            min=1, max=100, help="So many translations a line, each unlike those before it; columns as with --n-best."
        ),
    ] = None,
    diversity: Annotated[
        float | None,
        typer.Option(
            max=1000,
            help="Of --diverse: penalty in nats for a piece that an earlier one has at this position; "
            f"{DIVERSITY:g} if not given.",
        ),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="The score and a tab before each translation.")] = False,
    pieces: Annotated[
        bool, typer.Option("--pieces", help="Two more columns: the pieces read, the pieces written.")
    ] = False,
    length_penalty: Annotated[
        float | None,
        typer.Option(min=0, max=10, help="Instead of decode.length_penalty: more favours longer translations."),
    ] = None,
    mbr_temperature: Annotated[
        float | None,
        typer.Option(min=0, help="Instead of decode.mbr_temperature, such as 0.3; 0: the best score wins."),
    ] = None,
    memory_pairs: Annotated[
        int | None,
        typer.Option(
            min=0, max=MOST_PAIRS, help="Instead of decode.memory_pairs: training pairs to look up, such as 128."
        ),
    ] = None,
) -> None:
    """Translate a sentence, a file or standard input: one line out for each line in (--n-best: up to so many).

    Either --system, in the project's folder, with the settings of params.yaml; or --model, with the packaged ones.
    Given several times, these systems choose each piece together, by the mean of their probabilities; the settings are
    those of the first.

    Several columns are separated by tabs and come in this order: line number from 1 (--n-best, --sample, --diverse),
    score (--scores, or with a line number), translation, pieces of the source, pieces of the translation (--pieces). A
    score is log P in nats, divided by the length penalty; the higher, the better. With --mbr-temperature the
    translation that is most like the other likely ones comes first. Warnings go to standard error.
    """
    load, settings = chosen(system or [], model or [])
    decoding = overridden(settings, beam, length_penalty, mbr_temperature, memory_pairs)
    check_n_best(n_best, decoding)
    of_search = {"--n-best": n_best, "--beam": beam, "--mbr-temperature": mbr_temperature}
    random = sampling(sample, seed, temperature, {**of_search, "--diverse": diverse})
    unlike = diverse_search(diverse, diversity, of_search)
    how = random or unlike
    given = sentences.lines(sentence, file, TOGETHER)
    layout = Layout(how.number if how else n_best, scores, pieces)
    write(answers(load(), given, decoding, layout, how), given)


def chosen(systems: list[str], folders: list[Path]) -> tuple[Callable[[], Translator], Decoding]:
    """How to load what --system or --model names, an ensemble of several, and the first one's settings of the search.

    Raises: DataError if not one of the two options is given, if one is not there, or if one is named twice.
    """
    if bool(systems) == bool(folders):
        raise DataError(
            f"--system, --model: must be one of the two, got {'both' if systems else 'neither'}; "
            "expected the id of a system built here, or a packaged folder"
        )
    if folders:
        check_different("--model", [str(folder.resolve()) for folder in folders])
        packaged = [Translator.load(folder) for folder in folders]
        return lambda: together("--model", packaged), packaged[0].decoding
    from pipeline.commands import project  # what the project is made of: seconds, and packages that --model can lack

    named = [project.parse(system) for system in systems]
    check_different("--system", [system.id for system in named])
    return lambda: together("--system", [project.load(system) for system in named]), project.decoding(named[0])


def check_n_best(n_best: int | None, decoding: Decoding) -> None:
    """Check that the search finds so many translations.

    Raises: DataError.
    """
    if n_best is not None and n_best > decoding.beam_size:
        raise DataError(
            f"--n-best: must not exceed the beam size {decoding.beam_size}, got {n_best}; "
            f"expected fewer or --beam {n_best}"
        )


def sampling(
    number: int | None, seed: int | None, temperature: float | None, others: dict[str, float | None]
) -> Sampling | None:
    """What --sample asks for, if it is given; `others` are the options that do not go with it.

    Raises: DataError naming the option that does not go with it, or that needs it.
    """
    if number is None:
        check_needs("--sample", {"--temperature": temperature, "--seed": seed})
        return None
    check_alone("--sample", others)
    chosen_temperature = TEMPERATURE if temperature is None else temperature
    check_positive("--temperature", chosen_temperature, "0.7")
    return Sampling(number, SEED if seed is None else seed, chosen_temperature)


def diverse_search(number: int | None, diversity: float | None, others: dict[str, float | None]) -> Diverse | None:
    """What --diverse asks for, if it is given; `others` are the options that do not go with it.

    Raises: DataError naming the option that does not go with it, or that needs it.
    """
    if number is None:
        check_needs("--diverse", {"--diversity": diversity})
        return None
    check_alone("--diverse", others)
    strength = DIVERSITY if diversity is None else diversity
    check_positive("--diversity", strength, "0.5")
    return Diverse(number, strength)


def check_needs(option: str, others: dict[str, float | None]) -> None:
    """Check that no option is given that would change nothing without `option`.

    Raises: DataError naming the first that is.
    """
    for other, value in others.items():
        if value is not None:
            raise DataError(f"{other}: needs {option}, got {value} without it; expected both or neither")


def check_positive(option: str, value: float, example: str) -> None:
    """Check a number of the command line.

    Raises: DataError if it is not positive and finite.
    """
    if not (math.isfinite(value) and value > 0):
        raise DataError(f"{option}: must be positive and finite, got {value}; expected a number such as {example}")


def check_alone(option: str, others: dict[str, float | None]) -> None:
    """Check that no option of another kind of search is given.

    Raises: DataError naming the first that is.
    """
    if given := next((other for other, value in others.items() if value is not None), None):
        raise DataError(f"{option}: must stand without {given}, got both; expected one of the two")


def together(option: str, translators: list[Translator]) -> Translator:
    """The only one, or an ensemble.

    Raises: DataError if they do not share a vocabulary.
    """
    if not translators[1:]:
        return translators[0]
    if len({translator.vocabulary_digest for translator in translators}) > 1:
        raise DataError(
            f"{option}: an ensemble must share one vocabulary, got different ones; "
            "expected systems of the same corpus and vocabulary, trained on the same data"
        )
    return Translator.ensemble(translators)


def overridden(
    decoding: Decoding,
    beam: int | None,
    length_penalty: float | None = None,
    mbr_temperature: float | None = None,
    memory_pairs: int | None = None,
) -> Decoding:
    """The settings, with the values of the command line in place of their own; an `mbr_temperature` of 0 is none.

    Raises: DataError if the length penalty or the temperature is no number.
    """
    for option, value, example in (
        ("--length-penalty", length_penalty, "0.6"),
        ("--mbr-temperature", mbr_temperature, "0.3"),
    ):
        if value is not None and not math.isfinite(value):
            raise DataError(f"{option}: must be finite, got {value}; expected 0 or more, such as {example}")
    given = {
        "beam_size": beam,
        "length_penalty": length_penalty,
        "mbr_temperature": mbr_temperature,
        "memory_pairs": memory_pairs,
    }
    values: dict[str, float | None] = {key: value for key, value in given.items() if value is not None}
    if mbr_temperature == 0:
        values["mbr_temperature"] = None
    return decoding.changed(**values)


def write(found: Iterator[list[str]], given: sentences.Lines) -> None:
    """Write the rows of each line as soon as they are there."""
    shown = printable if sys.stdout.isatty() else str  # a file gets what was translated, byte for byte
    out = sys.stdout.buffer  # taken before a progress bar, while it lives, sends sys.stdout to the terminal
    for rows in watched(found, given):
        out.write("".join(shown(row) + "\n" for row in rows).encode())
        out.flush()


def watched(found: Iterator[list[str]], given: sentences.Lines) -> Iterator[list[str]]:
    """The same rows, with a progress bar unless they are written to a terminal, where they are progress themselves."""
    if sys.stdout.isatty():
        return found
    return progress.track(found, "translate", total=given.total, unit="lines")


def answers(
    translator: Translator,
    given: sentences.Lines,
    decoding: Decoding,
    layout: Layout,
    how: Sampling | Diverse | None,
) -> Iterator[list[str]]:
    """The output lines of each input line: its best translations, random ones, or diverse ones."""
    numbered = enumerate(given.lines, 1)
    while block := list(islice(numbered, given.together)):
        sources = translator.read([line for _, line in block])
        match how:
            case Sampling(count, seed, temperature):
                first = block[0][0]
                found = translator.sample(sources, decoding, count, seed=seed, temperature=temperature, first=first)
            case Diverse(count, strength):
                found = translator.diverse(sources, decoding, count, strength=strength)
            case None:
                found = translator.search(sources, decoding, layout.number or 1)
        for (number, line), source, hypotheses in zip(block, sources, found, strict=True):
            sentences.warn(translator, source, line, f"{given.origin} line {number}")
            yield list(layout.rows(translator, number, source, hypotheses))
