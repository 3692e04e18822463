"""The report on all chosen systems: one page in Markdown and in HTML, its figures, and the attention pages."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveInt, field_validator

from pipeline.evaluation import (
    analysis_sections,
    attention_pages,
    charts,
    html_pages,
    leaderboard,
    panels,
    pictures,
    sections,
    sentence_sections,
    tables,
)
from pipeline.evaluation.html_pages import Block, Fragment
from pipeline.evaluation.panels import Curves
from pipeline.evaluation.results import CorpusResults, SystemResults
from pipeline.evaluation.tables import escape
from pipeline.files import new_file
from pipeline.params import Section

Blocks = Callable[[CorpusResults], Iterable[Block]]
TITLE = "Translation report"
GUIDES = {
    "bleu": "**BLEU** counts the words and groups of words that translation and reference share (higher is better).",
    "chrf": "**chrF** counts the groups of letters that they share (higher is better).",
    "ter": "**TER** counts the edits that turn the translation into the reference (lower is better).",
}
BOOTSTRAP_GUIDE = """\
The **95 % interval** is the mean BLEU of {samples} resamples of the test part's sentences, plus and minus half of what
the middle 95 % of them span. **p** says how often chance alone makes a difference to the best system as large as the
one measured, so that less than 0.05 is hardly chance (paired bootstrap, each system against the best, not corrected for
the number of systems; one-sided, as sacreBLEU computes it).
"""
SEED_GUIDE = """\
Each system was trained with **{seeds} seeds**, which draw its first weights, its batches and its dropout. The table
shows the mean of their scores ± the standard deviation of a sample. **p** compares a system with the best one: how
often two equally good systems would have means so far apart by their seeds alone. Where p is at least 0.05, there is
**no clear difference** (Welch's t-test on the scores of the first column; every two systems are compared, and p is
corrected for the number of pairs by Holm's method). The rest of the page is about one training of each system, that
with the seed of section `training`.
"""
UNKNOWN_GUIDE = "**No unknown**: of the sentences whose source and reference have no word that the vocabulary lacks.\n"
ENDING_GUIDE = """\
The **training loss** is the mean over the updates since the point before, with dropout and label smoothing, so that it
does not compare with the validation loss. A training ends after all its **updates**, or out of **patience** once
validation loss has stopped falling. **Best update** had the lowest validation loss; the columns loss (nats per token)
and BLEU (greedy search) are from there. **Padding** is the share of the positions in training batches that hold no
text. **Averaged** is the number of checkpoints whose mean is the model scored above.
"""
LENGTH_GUIDE = """\
The **length ratio** is the words of all translations for each word of the references; the other columns count the
sentences that are shorter, as long or longer. Words are those that BLEU counts, as everywhere below.
"""
ORDER_GUIDE = """\
Where the words of the references are in the translations: **in place** if they are part of a longest common
subsequence, **moved** if they stand elsewhere in the translation, else **missing**. **Extra** words of the translations
are not in the reference. All in per cent of the words of the references.
"""
FREQUENCY_GUIDE = """\
How well words are translated that the target side of the training part has never, rarely or often: the harmonic mean of
precision and recall (F1, in per cent), as compare-mt measures it.
"""
NGRAM_GUIDE = """\
How many of a system's n-grams its references have, in per cent. BLEU is the geometric mean of the four, times the
brevity penalty.
"""
EXTREMES_GUIDE = """\
For each system, the n-grams that its translations have less often (**missed**) or more often (**invented**) than their
references, with the number of times; and its sentences of the lowest and of the highest chrF among those that
are not word for word the reference.
"""
SAMPLES = "Chosen by chance, not for their quality; the best system of the test part comes first.\n"
ATTENTION = "What each system looked at while it translated some sentences of the test parts.\n"
PARAMETERS = """\
Parameters of each model and its training. `average` is set by size, `decode` may differ by corpus, `score` is the same
for all.
"""
REPEAT = """\
In a clone of this project, with these `params.yaml` and `dvc.lock`:

```
dvc repro            # builds what is missing or has changed, this page included
dvc params diff      # what was edited in params.yaml
dvc metrics diff     # what that did to the scores
```
"""


class Report(Section):
    """Section `report`: how much of each test part the page shows, what it counts, and the seed of every draw."""

    samples: NonNegativeInt
    compared: PositiveInt
    extremes: NonNegativeInt
    ngrams: PositiveInt
    frequency_buckets: Annotated[list[NonNegativeInt], Field(min_length=1)]
    seed: PositiveInt

    @field_validator("frequency_buckets")
    @classmethod
    def _ascending(cls, buckets: list[int]) -> list[int]:
        if sorted(set(buckets)) != buckets:
            raise ValueError(f"must be ascending, got {buckets}; expected the highest count of each bucket")
        return buckets


def write(folder: Path, corpora: list[CorpusResults], report: Report, *, resamples: int) -> None:
    """Write `index.md`, `index.html`, their figures and every system's page of attention into `folder`.

    `resamples` is how many of each part its intervals are taken from.
    """
    drawn: dict[str, str] = {}
    for corpus in corpora:
        for name, shown in figures(corpus).items():
            pictures.curves(folder / f"{name}.png", shown)
            drawn[f"{name}.png"] = charts.html(charts.curves(shown), name)
        for system in corpus.systems:
            where = folder / "attention" / system.id
            attention_pages.write(where, f"Attention of {system.id}", system.attended, site=folder)
    blocks = list(page(corpora, report, resamples))
    with new_file(folder / "index.md") as file:
        file.write(html_pages.markdown(blocks))
    html_pages.write(folder, TITLE, html_pages.from_blocks(blocks, drawn), scripts=["compare.js"])


def figures(corpus: CorpusResults) -> dict[str, list[Curves]]:
    """The figures of a corpus, by the names of their files."""
    curves = {corpus.label(system): system.curves for system in corpus.systems}
    losses = {corpus.label(system): system.train_loss for system in corpus.systems}
    by_length = {corpus.label(system): system.by_length for system in corpus.systems}
    return {
        f"learning_curves-{corpus.name}": [panels.train_loss(losses), *panels.learning_curves(curves)],
        f"scores_by_length-{corpus.name}": panels.scores_by_length(by_length, corpus.test_parts),
    }


def page(corpora: list[CorpusResults], report: Report, resamples: int) -> Iterator[Block]:
    """The blocks of the page, each ending with a line end."""
    systems = [system for corpus in corpora for system in corpus.systems]
    yield f"# {TITLE}\n"
    yield f"{number_of(systems, 'system')} on {number_of(corpora, 'corpus', 'corpora')}.\n"
    yield "## Result\n"
    for corpus in corpora:
        yield Fragment(f"### {title(corpus)}\n", "")
        yield leaderboard.panel(corpus)
    yield "## Leaderboard\n"
    yield from each(corpora, sections.scores)
    yield "".join(guides(corpora, resamples))
    yield sections.signatures(corpora)
    for heading, guide, blocks in body(report):
        yield f"## {heading}\n"
        yield from guide
        yield from each(corpora, blocks)
    yield "## Repeat\n"
    yield REPEAT


def body(report: Report) -> Iterator[tuple[str, Sequence[Block], Blocks]]:
    """The heading of each section, what explains it, and its blocks for a corpus."""
    yield "Length", [LENGTH_GUIDE], analysis_sections.lengths
    yield "Word order", [ORDER_GUIDE], analysis_sections.order
    yield "Rare words", [FREQUENCY_GUIDE], analysis_sections.frequencies
    yield "N-grams", [NGRAM_GUIDE], analysis_sections.precisions
    extremes = partial(sentence_sections.extremes, number=report.extremes)
    yield "Worst and best", [EXTREMES_GUIDE, sentence_sections.LEGEND], extremes
    yield "Side by side", [], partial(sentence_sections.beside, number=report.compared, seed=report.seed)
    if report.samples:
        yield "Samples", [SAMPLES], partial(sentence_sections.samples, number=report.samples, seed=report.seed)
    yield "Attention", [ATTENTION], sections.attention
    yield "Curves", [ENDING_GUIDE], sections.training
    yield "Data", [], sections.data
    yield "Parameters", [PARAMETERS], sections.parameters


def guides(corpora: list[CorpusResults], resamples: int) -> Iterator[str]:
    """Explanations of the leaderboard's columns."""
    yield "".join(f"{GUIDES[metric]}\n" for metric in tables.metrics(s for corpus in corpora for s in corpus.systems))
    if any(corpus.comparisons for corpus in corpora):
        yield BOOTSTRAP_GUIDE.format(samples=tables.count(resamples))
    if corpora[0].num_seeds > 1:
        yield SEED_GUIDE.format(seeds=corpora[0].num_seeds)
    if any(map(tables.knows, corpora)):
        yield UNKNOWN_GUIDE


def each(corpora: list[CorpusResults], blocks: Blocks) -> Iterator[Block]:
    """The blocks for each corpus, under its name if there are several."""
    for corpus in corpora:
        if len(corpora) > 1:
            yield f"### {title(corpus)}\n"
        yield from blocks(corpus)


def title(corpus: CorpusResults) -> str:
    """A corpus's name and its languages."""
    source, target = (escape(corpus.cleaning[f"{side}_language"]) for side in ("source", "target"))
    return f"`{corpus.name}` ({source} → {target})"


def number_of(things: list[SystemResults] | list[CorpusResults], one: str, many: str = "") -> str:
    """How many things there are, in words."""
    return f"{len(things)} {one if len(things) == 1 else many or one + 's'}"
