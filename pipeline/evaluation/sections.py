"""The sections of the report, block by block, in Markdown."""

from collections.abc import Iterator

from pipeline.evaluation import html_pages, tables
from pipeline.evaluation.html_pages import Block
from pipeline.evaluation.results import CorpusResults, SystemResults
from pipeline.evaluation.tables import TITLES, count, escape, markdown, share

LEAKAGE = {
    "exact_source": "same source",
    "exact_target": "same target",
    "near_source": "near source",
    "near_target": "near target",
    "dropped": "dropped",
}
TOKENS = ("source tokens", "target tokens", "unknown in source", "unknown in target")
ENDING = ("system", "stopped by", "updates", "best update", "validation loss", "validation BLEU", "padding", "averaged")


def scores(corpus: CorpusResults) -> Iterator[Block]:
    """A table for each test part; with several seeds, one of all their scores before it; then the ensembles."""
    if corpus.num_seeds > 1:
        yield html_pages.abreast(
            f"{tables.spread_of(corpus)}, test part `{part}`:\n\n{tables.of_seeds(corpus, part)}"
            for part in corpus.test_parts
        )
        yield "One of these trainings, that with the seed of `training`, which the rest of the page is about:\n"
    yield html_pages.abreast(
        f"Test part `{part}`, {count(len(corpus.texts[part]))} sentences:\n\n{tables.scores(corpus, part)}"
        for part in corpus.test_parts
    )
    yield f"Names are short for `{corpus.pattern}`.\n"
    if corpus.ensembles:
        yield html_pages.abreast(
            f"Two systems together, test part `{part}`:\n\n{tables.ensembles(corpus, part)}"
            for part in corpus.test_parts
        )


def signatures(corpora: list[CorpusResults]) -> str:
    """How sacrebleu computed the scores and compared them, each way once."""
    found = [
        (TITLES[metric], signature)
        for corpus in corpora
        for system in corpus.systems
        for measured in system.scores.values()
        for metric, signature in measured["signatures"].items()
    ]
    compared = [comparison.signature for corpus in corpora for comparison in corpus.comparisons.values()]
    found += [(f"{TITLES['bleu']}, paired bootstrap", signature) for signature in compared]
    lines = [f"- {what}: `{signature}`\n" for what, signature in dict.fromkeys(found)]
    return f"sacreBLEU signatures, which say exactly how the scores were computed:\n\n{''.join(lines)}"


def training(corpus: CorpusResults) -> Iterator[str]:
    """The figure of the curves, and how each training ended."""
    yield f"![Losses, BLEU and accuracy of each system over its updates](learning_curves-{corpus.name}.png)\n"
    if len(corpus.tokens) > 1:
        yield "Losses per token compare only between systems with the same vocabulary: others count other tokens.\n"
    yield markdown(ENDING, [ending(corpus.label(system), system) for system in corpus.systems], numbers=6)


def ending(name: str, system: SystemResults) -> list[str]:
    """How the training of a system ended."""
    summary, best = system.training, system.training["best"]
    greedy = best.get("validation_bleu")
    return [
        f"`{name}`",
        escape(str(summary["stopped"])),
        count(summary["updates"]),
        count(best["update"]),
        f"{best['validation_loss']:.3f}",
        "–" if greedy is None else f"{greedy:.2f}",
        share(summary["padding_share"], 1),
        count(len(system.average["checkpoints"])),
    ]


def data(corpus: CorpusResults) -> Iterator[str]:
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
    yield (
        "Leakage: pairs of one part whose source or target another part knows, the same or nearly so (equal letters "
        "and digits, or whole sentences of a longer text), and how many of them were dropped:\n"
    )
    leaks = [[f"`{parts}`", *(count(found[k]) for k in LEAKAGE)] for parts, found in splitting["leakage"].items()]
    yield markdown(["pairs of / found in", *LEAKAGE.values()], leaks, numbers=len(LEAKAGE))
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


def attention(corpus: CorpusResults) -> Iterator[str]:
    """A link to the page of each system."""
    yield "".join(f"- [`{system.id}`](attention/{system.id}/index.html)\n" for system in corpus.systems)


def parameters(corpus: CorpusResults) -> Iterator[str]:
    """The parameters in which the systems differ, then those that all share."""
    values = {
        corpus.label(system): {k: str(v) for k, v in system.training["params"].items()} for system in corpus.systems
    }
    names = list(dict.fromkeys(name for params in values.values() for name in params))
    rows = {name: [params.get(name, "–") for params in values.values()] for name in names}
    same = [[f"`{name}`", escape(row[0])] for name, row in rows.items() if len(set(row)) == 1]
    differ = [[f"`{name}`", *map(escape, row)] for name, row in rows.items() if len(set(row)) > 1]
    if differ:
        yield "Where the systems differ:\n"
        yield markdown(["parameter", *(f"`{name}`" for name in values)], differ)
        yield "The same for all of them:\n"
    yield markdown(["parameter", "value"], same)
