"""Sections of the report on all translations of a test part: lengths, word order, rare words, n-grams."""

from collections.abc import Callable, Iterator

from pipeline.evaluation import html_pages, ngrams, tables
from pipeline.evaluation.analysis import Analysis
from pipeline.evaluation.html_pages import Block, Fragment
from pipeline.evaluation.ngrams import Most
from pipeline.evaluation.results import CorpusResults
from pipeline.evaluation.tables import NONE, count, escape, markdown, share

LENGTHS = ("system", "length ratio", "shorter", "as long", "longer")
ORDER = ("system", "in place", "moved", "missing", "extra")
SIZES = [f"{size}-grams" for size in ngrams.ORDERS]

Cells = Callable[[Analysis], list[str]]


def lengths(corpus: CorpusResults) -> Iterator[Block]:
    """How long the translations are, and the figure of scores over the length of the source."""
    yield abreast(corpus, lambda part: ("", table(corpus, part, LENGTHS, length_cells)))
    yield f"![BLEU of each system by the length of the source](scores_by_length-{corpus.name}.png)\n"


def length_cells(found: Analysis) -> list[str]:
    """The ratio, and the share of sentences on each side of it."""
    lengths, sentences = found.lengths, len(found.chrf)
    as_long = sentences - lengths.shorter - lengths.longer
    return [f"{lengths.ratio:.3f}", *(share(n, sentences) for n in (lengths.shorter, as_long, lengths.longer))]


def order(corpus: CorpusResults) -> Iterator[Block]:
    """Where the words of the references are."""

    def about(part: str) -> tuple[str, str]:
        total = sum(map(len, corpus.words[part]))

        def cells(found: Analysis) -> list[str]:
            return [share(number, total) for number in found.order]

        return f", {count(total)} words in the references", table(corpus, part, ORDER, cells)

    yield abreast(corpus, about)


def frequencies(corpus: CorpusResults) -> Iterator[Block]:
    """F1 of words, the rarest in the training part first; only of counts that the references have."""

    def about(part: str) -> tuple[str, str]:
        buckets = next(iter(corpus.analyses[part].values())).frequencies
        shown = [place for place, bucket in enumerate(buckets) if bucket.expected]
        header = ["system", *(f"{buckets[place].name} ({count(buckets[place].expected)})" for place in shown)]

        def cells(found: Analysis) -> list[str]:
            return [percent(found.frequencies[place].f1) for place in shown]

        return ", count in the training part (words in the references)", table(corpus, part, header, cells)

    yield abreast(corpus, about)


def precisions(corpus: CorpusResults) -> Iterator[Block]:
    """The shares of n-grams that are right."""

    def cells(found: Analysis) -> list[str]:
        return [percent(one.precision) for one in found.ngrams]

    yield abreast(corpus, lambda part: ("", table(corpus, part, ["system", *SIZES], cells)))


def abreast(corpus: CorpusResults, about: Callable[[str], tuple[str, str]]) -> Fragment:
    """For each test part a few words and a table."""
    found = {part: about(part) for part in corpus.test_parts}
    return html_pages.abreast(f"Test part `{part}`{words}:\n\n{table}" for part, (words, table) in found.items())


def most_wrong(found: Analysis) -> Iterator[tuple[str, str]]:
    """Titles and Markdown tables of the n-grams that a system misses and invents most."""
    yield "N-grams missed most", columns([one.missed for one in found.ngrams])
    yield "N-grams invented most", columns([one.invented for one in found.ngrams])


def columns(most: list[Most]) -> str:
    """A column for each n, with each n-gram's count."""
    longest = max(map(len, most))
    rows = [[cell(column, row) for column in most] for row in range(longest)]
    return markdown(SIZES, rows) if rows else "None.\n"


def cell(column: Most, row: int) -> str:
    """An n-gram and its count, if the column has so many."""
    return f"{escape(' '.join(column[row][0]))} ({count(column[row][1])})" if row < len(column) else ""


def table(corpus: CorpusResults, part: str, header: tuple[str, ...] | list[str], cells: Cells) -> str:
    """A row for each system, the best first."""
    rows = [
        [f"`{corpus.label(system)}`", *cells(corpus.analyses[part][system.name])]
        for system in tables.best_first(corpus.systems, part)
    ]
    return markdown(header, rows, numbers=len(header) - 1)


def percent(value: float | None) -> str:
    """A share on a scale of 100."""
    return NONE if value is None else f"{100 * value:.1f}"
