"""The report: one Markdown page over all systems chosen, and its figures."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pipeline import seeding
from pipeline.evaluation import pictures, tables
from pipeline.evaluation.results import Corpus, System
from pipeline.evaluation.tables import TITLES, count, escape, markdown, share
from pipeline.files import new_file
from pipeline.params import Section

GUIDES = {
    "bleu": "**BLEU** counts the words and groups of words that translation and reference share (higher is better).",
    "chrf": "**chrF** counts the groups of letters that they share (higher is better).",
    "ter": "**TER** counts the edits that turn the translation into the reference (lower is better).",
}
TOKENS = ("source tokens", "target tokens", "unknown in source", "unknown in target")
ENDING = ("system", "stopped by", "updates", "best update", "validation loss", "validation BLEU", "padding", "averaged")
ENDING_GUIDE = """\
A training stops after all its **updates**, or out of **patience** when validation loss has stopped falling. **Best
update** is the one with the lowest validation loss; loss (nats per token) and BLEU (greedy search) are those it had.
**Padding** is the share of training batches that is no text, **averaged** the number of checkpoints that the model
scored above is the mean of.
"""
LEAKAGE = {"source": "same source", "target": "same target", "dropped": "dropped"}
REPEAT = """\
In a clone of this project, with these `params.yaml` and `dvc.lock`:

```
dvc repro            # builds what is missing or has changed, this page included
dvc params diff      # what was edited in params.yaml
dvc metrics diff     # what that did to the scores
```
"""


class Report(Section):
    """Section `report`: how many sample translations of each test part, and the seed that chooses them."""

    samples: Annotated[int, Field(ge=0)]
    seed: int


def write(folder: Path, corpora: list[Corpus], report: Report) -> None:
    """Write `index.md` and its figures into `folder`."""
    for corpus in corpora:
        curves = {system.name: system.curves for system in corpus.systems}
        pictures.learning_curves(folder / f"learning_curves-{corpus.name}.png", curves)
        by_length = {system.name: system.by_length for system in corpus.systems}
        pictures.scores_by_length(folder / f"scores_by_length-{corpus.name}.png", by_length, corpus.test_parts)
    with new_file(folder / "index.md") as file:
        file.write("\n".join(page(corpora, report)))


def page(corpora: list[Corpus], report: Report) -> Iterator[str]:
    """The blocks of the page, each ending with a line end."""
    systems = [system for corpus in corpora for system in corpus.systems]
    yield "# Translation report\n"
    sizes = f"{number_of(systems, 'system')} on {number_of(corpora, 'corpus', 'corpora')}"
    yield f"{sizes}: {', '.join(map(title, corpora))}. A system is called `<corpus>-<vocabulary>-<model>-<size>`.\n"
    yield "## Scores\n"
    yield "".join(f"{GUIDES[metric]}\n" for metric in tables.metrics(systems))
    yield from each(corpora, scores)
    yield signatures(systems)
    yield "## Learning curves\n"
    yield ENDING_GUIDE
    yield from each(corpora, training)
    yield "## Data\n"
    yield from each(corpora, data)
    if report.samples:
        yield "## Sample translations\n"
        yield "Chosen by chance, not for their quality.\n"
        yield from each(corpora, lambda corpus: samples(corpus, report))
    yield "## Parameters\n"
    yield "Of the models and their training; those of `average`, `decode` and `score` are the same for all systems.\n"
    yield from each(corpora, parameters)
    yield "## How to repeat\n"
    yield REPEAT


def each(corpora: list[Corpus], blocks: Callable[[Corpus], Iterator[str]]) -> Iterator[str]:
    """The blocks for each corpus, under its name."""
    for corpus in corpora:
        yield f"### {title(corpus)}\n"
        yield from blocks(corpus)


def title(corpus: Corpus) -> str:
    """A corpus's name and its languages."""
    source, target = (escape(corpus.cleaning[f"{side}_language"]) for side in ("source", "target"))
    return f"`{corpus.name}` ({source} → {target})"


def number_of(things: list[System] | list[Corpus], one: str, many: str = "") -> str:
    """How many things there are, in words."""
    return f"{len(things)} {one if len(things) == 1 else many or one + 's'}"


def scores(corpus: Corpus) -> Iterator[str]:
    """A table for each test part, and the figure over the source's length."""
    for part in corpus.test_parts:
        yield f"Test part `{part}`, {count(len(corpus.texts[part]))} sentences:\n"
        yield tables.scores(corpus, part)
    yield f"![BLEU of each system by the length of the source](scores_by_length-{corpus.name}.png)\n"


def signatures(systems: list[System]) -> str:
    """How sacrebleu computed the scores, each way once."""
    found = {
        (metric, signature): None
        for system in systems
        for measured in system.scores.values()
        for metric, signature in measured["signatures"].items()
    }
    lines = [f"- {TITLES[metric]}: `{signature}`\n" for metric, signature in found]
    return f"sacreBLEU signatures, which say exactly how the scores were computed:\n\n{''.join(lines)}"


def training(corpus: Corpus) -> Iterator[str]:
    """The figure of the curves, and how each training ended."""
    yield f"![Validation loss and validation BLEU of each system over its updates](learning_curves-{corpus.name}.png)\n"
    if len(corpus.tokens) > 1:
        yield "Losses per token compare only between systems with the same vocabulary: others count other tokens.\n"
    yield markdown(ENDING, [ending(system) for system in corpus.systems], numbers=6)


def ending(system: System) -> list[str]:
    """How the training of a system ended."""
    summary, best = system.training, system.training["best"]
    greedy = best.get("validation_bleu")
    return [
        f"`{system.name}`",
        escape(str(summary["stopped"])),
        count(summary["updates"]),
        count(best["update"]),
        f"{best['validation_loss']:.3f}",
        "–" if greedy is None else f"{greedy:.2f}",
        share(summary["padding_share"], 1),
        count(len(system.average["checkpoints"])),
    ]


def data(corpus: Corpus) -> Iterator[str]:
    """What cleaning, encoding and splitting counted."""
    cleaning, splitting = corpus.cleaning, corpus.splitting
    counts = {"read": cleaning["read"]} | {f"dropped: `{rule}`": n for rule, n in cleaning["dropped"].items() if n}
    counts["kept"] = cleaning["kept"]
    yield "Cleaning of the training part, by the rules that dropped any pair:\n"
    rows = [[what, count(n), share(n, cleaning["read"])] for what, n in counts.items()]
    yield markdown(["", "pairs", "of those read"], rows, numbers=2)
    for vocabulary, parts in corpus.tokens.items():
        yield f"Parts after splitting, and their tokens in vocabulary `{vocabulary}`:\n"
        yield markdown(["part", "pairs", *TOKENS], [part_row(part, parts[part]) for part in parts], numbers=5)
    yield "Leakage: pairs of one part whose sentence stands in another part too, and how many of them were dropped:\n"
    leaks = [[f"`{parts}`", *(count(found[k]) for k in LEAKAGE)] for parts, found in splitting["leakage"].items()]
    yield markdown(["pairs of / found in", *LEAKAGE.values()], leaks, numbers=3)
    if by_line := splitting.get("line_split"):
        yield (
            f"Had the parts been carved by line, {share(by_line['share'], 1)} of the {count(by_line['held_out'])} "
            "pairs held out would share a sentence with a training pair.\n"
        )


def part_row(part: str, counts: dict[str, int]) -> list[str]:
    """Pairs, tokens and unknown tokens of one part."""
    sides = ("source", "target")
    tokens = [count(counts[f"{side}_tokens"]) for side in sides]
    unknown = [share(counts[f"{side}_unknown"], counts[f"{side}_tokens"]) for side in sides]
    return [f"`{part}`", count(counts["pairs"]), *tokens, *unknown]


def samples(corpus: Corpus, report: Report) -> Iterator[str]:
    """Some lines of each test part: source, reference, and every system's translation, the best system first."""
    for part, texts in corpus.texts.items():
        draw = seeding.generator(report.seed, f"samples {corpus.name} {part}")
        for line in sorted(draw.choice(len(texts), size=min(report.samples, len(texts)), replace=False).tolist()):
            source, reference = texts[line]
            rows = {"source": source, "reference": reference}
            systems = tables.best_first(corpus.systems, part)
            rows |= {f"`{system.name}`": system.translations[part][line] for system in systems}
            header = [f"`{part}`", f"line {line + 1}"]
            yield markdown(header, [[name, escape(text) or "*(empty)*"] for name, text in rows.items()])


def parameters(corpus: Corpus) -> Iterator[str]:
    """The parameters that all systems share, then those that tell them apart."""
    values = {system.name: {k: str(v) for k, v in system.training["params"].items()} for system in corpus.systems}
    names = list(dict.fromkeys(name for params in values.values() for name in params))
    rows = {name: [params.get(name, "–") for params in values.values()] for name in names}
    same = [[f"`{name}`", escape(row[0])] for name, row in rows.items() if len(set(row)) == 1]
    differ = [[f"`{name}`", *map(escape, row)] for name, row in rows.items() if len(set(row)) > 1]
    if differ:
        yield "Where the systems differ:\n"
        yield markdown(["parameter", *(f"`{name}`" for name in values)], differ)
        yield "The same for all of them:\n"
    yield markdown(["parameter", "value"], same)
