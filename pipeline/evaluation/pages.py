"""The report on all chosen systems: one page in Markdown and in HTML, its figures, and the attention pages."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, PositiveInt

from pipeline.evaluation import attention_pages, charts, html_pages, panels, pictures, sections, tables
from pipeline.evaluation.panels import Curves
from pipeline.evaluation.results import CorpusResults, SystemResults
from pipeline.evaluation.tables import escape
from pipeline.files import new_file
from pipeline.params import Section

TITLE = "Translation report"
GUIDES = {
    "bleu": "**BLEU** counts the words and groups of words that translation and reference share (higher is better).",
    "chrf": "**chrF** counts the groups of letters that they share (higher is better).",
    "ter": "**TER** counts the edits that turn the translation into the reference (lower is better).",
}
BOOTSTRAP_GUIDE = """\
The **95 % interval** holds the BLEU of 95 % of {samples} resamples of the test part's sentences. **p** says how often
chance alone makes a difference to the best system as large as the one measured, so that less than 0.05 is hardly
chance (paired bootstrap, each system against the best, not corrected for the number of systems).
"""
UNKNOWN_GUIDE = "**No unknown**: of the sentences whose source and reference have no word that the vocabulary lacks.\n"
ENDING_GUIDE = """\
A training ends after all its **updates**, or out of **patience** once validation loss has stopped falling. **Best
update** had the lowest validation loss; the columns loss (nats per token) and BLEU (greedy search) are from there.
**Padding** is the share of the positions in training batches that hold no text. **Averaged** is the number of
checkpoints whose mean is the model scored above.
"""
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
    """Section `report`: how many sample translations of each test part, how many resamples, and the seed of both."""

    samples: Annotated[int, Field(ge=0)]
    bootstrap_samples: PositiveInt
    seed: PositiveInt  # sacrebleu takes 0 for none


def write(folder: Path, corpora: list[CorpusResults], report: Report) -> None:
    """Write `index.md`, `index.html`, their figures and every system's page of attention into `folder`."""
    drawn: dict[str, str] = {}
    for corpus in corpora:
        for name, shown in figures(corpus).items():
            pictures.curves(folder / f"{name}.png", shown)
            drawn[f"{name}.png"] = charts.html(charts.curves(shown), name)
        for system in corpus.systems:
            where = folder / "attention" / system.id
            attention_pages.write(where, f"Attention of {system.id}", system.attended, site=folder)
    text = "\n".join(page(corpora, report))
    with new_file(folder / "index.md") as file:
        file.write(text)
    html_pages.write(folder, TITLE, html_pages.from_markdown(text, drawn))


def figures(corpus: CorpusResults) -> dict[str, list[Curves]]:
    """The figures of a corpus, by the names of their files."""
    curves = {system.name: system.curves for system in corpus.systems}
    by_length = {system.name: system.by_length for system in corpus.systems}
    return {
        f"learning_curves-{corpus.name}": panels.learning_curves(curves),
        f"scores_by_length-{corpus.name}": panels.scores_by_length(by_length, corpus.test_parts),
    }


def page(corpora: list[CorpusResults], report: Report) -> Iterator[str]:
    """The blocks of the page, each ending with a line end."""
    systems = [system for corpus in corpora for system in corpus.systems]
    yield f"# {TITLE}\n"
    sizes = f"{number_of(systems, 'system')} on {number_of(corpora, 'corpus', 'corpora')}"
    yield f"{sizes}: {', '.join(map(title, corpora))}. A system is called `<corpus>-<vocabulary>-<model>-<size>`.\n"
    yield "## Leaderboard\n"
    yield from guides(corpora, report)
    yield from each(corpora, sections.scores)
    yield sections.signatures(corpora)
    yield "## Learning curves\n"
    yield ENDING_GUIDE
    yield from each(corpora, sections.training)
    yield "## Attention\n"
    yield "What each system looked at while it translated some sentences of the test parts.\n"
    yield from each(corpora, sections.attention)
    yield "## Data\n"
    yield from each(corpora, sections.data)
    if report.samples:
        yield "## Sample translations\n"
        yield "Chosen by chance, not for their quality; the best system of the test part comes first.\n"
        yield from each(corpora, lambda corpus: sections.samples(corpus, report.samples, report.seed))
    yield "## Parameters\n"
    yield PARAMETERS
    yield from each(corpora, sections.parameters)
    yield "## How to repeat\n"
    yield REPEAT


def guides(corpora: list[CorpusResults], report: Report) -> Iterator[str]:
    """Explanations of the leaderboard's columns."""
    yield "".join(f"{GUIDES[metric]}\n" for metric in tables.metrics(s for corpus in corpora for s in corpus.systems))
    if any(corpus.comparisons for corpus in corpora):
        yield BOOTSTRAP_GUIDE.format(samples=tables.count(report.bootstrap_samples))
    if any(map(tables.knows, corpora)):
        yield UNKNOWN_GUIDE


def each(corpora: list[CorpusResults], blocks: Callable[[CorpusResults], Iterator[str]]) -> Iterator[str]:
    """The blocks for each corpus, under its name."""
    for corpus in corpora:
        yield f"### {title(corpus)}\n"
        yield from blocks(corpus)


def title(corpus: CorpusResults) -> str:
    """A corpus's name and its languages."""
    source, target = (escape(corpus.cleaning[f"{side}_language"]) for side in ("source", "target"))
    return f"`{corpus.name}` ({source} → {target})"


def number_of(things: list[SystemResults] | list[CorpusResults], one: str, many: str = "") -> str:
    """How many things there are, in words."""
    return f"{len(things)} {one if len(things) == 1 else many or one + 's'}"
