"""Sections of the report on single sentences: the worst and the best, and two systems side by side."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from pipeline import seeding
from pipeline.evaluation import analysis_sections, charts, html_pages, tables
from pipeline.evaluation.differences import MOVED, ONLY, SAME, Difference, Words, compare
from pipeline.evaluation.html_pages import Fragment
from pipeline.evaluation.results import CorpusResults, SystemResults
from pipeline.evaluation.words import spaced
from pipeline.terminal import printable

SIGNS = {(ONLY, 0): "−", (ONLY, 1): "+", (MOVED, 0): "↔−", (MOVED, 1): "↔+"}  # before words, by kind and side
ORDERS = {
    "distance": "most different words first",
    "b": "B better than A by most chrF first",
    "a": "A better than B by most chrF first",
}
STILL = 5  # sentences of the two best systems that stand in Markdown, and on the page if no script runs
EMPTY = "<em>(empty)</em>"
LEGEND = Fragment(
    "Marked in the translations: `[−missing−]`, `{+extra+}`, and words that stand elsewhere in the reference, "
    "`[↔−from here−]` `{↔+to there+}`.\n",
    '<p class="legend">Marked in the translations: <del><span class="sign">−</span>missing</del> '
    '<ins><span class="sign">+</span>extra</ins>, and words that stand elsewhere in the reference, '
    '<del class="moved"><span class="sign">↔−</span>from here</del> '
    '<ins class="moved"><span class="sign">↔+</span>to there</ins>.</p>\n',
)
BESIDE_LEGEND = (
    '<p class="legend">Marked: <mark><span class="sign">≠</span>words</mark> that the other system lacks, and '
    '<mark class="moved"><span class="sign">↔</span>words</mark> that it has elsewhere.</p>\n'
)


def extremes(corpus: CorpusResults, number: int) -> Iterator[html_pages.Block]:
    """For each test part and system: the n-grams it gets wrong most, its worst sentences, and the best that differ."""
    for part in corpus.test_parts:
        yield f"#### Test part `{part}`\n"
        for rank, system in enumerate(tables.best_first(corpus.systems, part)):
            yield system_block(corpus, part, system, number, is_open=not rank and part == corpus.test_parts[0])


def system_block(corpus: CorpusResults, part: str, system: SystemResults, number: int, *, is_open: bool) -> Fragment:
    """One system on one test part; the page folds it."""
    analysis = corpus.analyses[part][system.name]
    name, right = corpus.label(system), len(analysis.differences) - len(analysis.differing)
    same = f"{tables.count(right)} of {tables.count(len(analysis.differences))} are the reference word for word"
    ngrams = html_pages.abreast(f"{title}:\n\n{table}" for title, table in analysis_sections.most_wrong(analysis))
    worst, best = analysis.extremes(number)
    groups = [("Worst sentences", worst), ("Best of the other sentences that differ", best)]
    listed = [
        (title, [TranslatedSentence(corpus, part, system, line) for line in lines]) for title, lines in groups if lines
    ]
    text = "".join(f"{title}:\n\n{''.join(one.markdown for one in found)}\n" for title, found in listed)
    html = "".join(f"<h4>{title}</h4>\n{''.join(one.html for one in found)}" for title, found in listed)
    return Fragment(
        f"**`{name}`**, {same}. {ngrams.markdown}\n{text}",
        f"<details{' open' * is_open}>\n<summary>{escape(name)} <small>{same}</small></summary>\n"
        f"{ngrams.html}{html}</details>\n",
    )


class TranslatedSentence:
    """One translation beside its source and reference, differences marked."""

    def __init__(self, corpus: CorpusResults, part: str, system: SystemResults, line: int) -> None:
        self.source, self.reference = corpus.texts[part][line]
        analysis = corpus.analyses[part][system.name]
        self.difference = analysis.differences[line]
        translation = system.translations[part][line]
        self.words = spaced(self.reference, corpus.words[part][line]), spaced(translation, analysis.words[line])
        self.about = f"line {tables.count(line + 1)}, chrF {analysis.chrf[line]:.1f}"
        self.languages = languages(corpus)

    @property
    def markdown(self) -> str:
        """A point of a list."""
        marked = merged_markdown(self.difference, *self.words)
        return f"- {self.about}: {tables.escape(self.source)} → {marked}\n"

    @property
    def html(self) -> str:
        """Source, reference and translation below each other."""
        return article(self.about, self.rows([self], ["translation"]))

    def rows(self, translated: Sequence["TranslatedSentence"], names: Sequence[str]) -> list[tuple[str, str, str]]:
        """What `article` shows of the sentence as these translate it."""
        source, target = self.languages
        given = [
            (name, target, merged_html(one.difference, *one.words)) for name, one in zip(names, translated, strict=True)
        ]
        return [("source", source, escape(self.source)), ("reference", target, escape(self.reference)), *given]


def samples(corpus: CorpusResults, number: int, seed: int) -> Iterator[Fragment]:
    """Some lines of each test part: source, reference, and every system's translation, the best system first."""
    for part in corpus.test_parts:
        draw = seeding.generator(seed, f"samples {corpus.name} {part}")
        total = len(corpus.texts[part])
        systems = tables.best_first(corpus.systems, part)
        for line in sorted(draw.choice(total, size=min(number, total), replace=False).tolist()):
            found = [TranslatedSentence(corpus, part, system, line) for system in systems]
            source, reference = corpus.texts[part][line]
            rows = {"source": source, "reference": reference}
            rows |= {f"`{corpus.label(system)}`": system.translations[part][line] for system in systems}
            cells = [[name, tables.escape(text) or "*(empty)*"] for name, text in rows.items()]
            names = [corpus.label(system) for system in systems]
            yield Fragment(
                tables.markdown([f"`{part}`", f"line {line + 1}"], cells),
                article(f"<code>{escape(part)}</code>, line {tables.count(line + 1)}", found[0].rows(found, names)),
            )


def article(about: str, rows: Iterable[tuple[str, str, str]], after: str = "") -> str:
    """A sentence on the page: rows of a title, a language and HTML."""
    listed = "".join(
        f'<dt>{escape(title)}</dt><dd lang="{escape(language)}" dir="auto">{text}</dd>\n'
        for title, language, text in rows
    )
    return f'<article class="sentence">\n<p class="about">{about}</p>\n<dl>\n{listed}</dl>\n{after}</article>\n'


def merged_html(difference: Difference, first: Words, second: Words) -> str:
    """Two sentences in one: what the second lacks as <del>, what it adds as <ins>, each with its sign."""
    pieces = []
    for kind, side, places in difference.runs:
        text = "".join((first, second)[side][place] for place in places)
        if kind == SAME:
            pieces.append(escape(text))
            continue
        name, moved = ("del", "ins")[side], ' class="moved"' * (kind == MOVED)
        sign = f'<span class="sign">{SIGNS[kind, side]}</span>'
        pieces.append(f"{' ' * bool(pieces)}<{name}{moved}>{sign}{escape(text.strip())}</{name}>")
    return "".join(pieces) or EMPTY


def merged_markdown(difference: Difference, first: Words, second: Words) -> str:
    """The same with signs alone."""
    pieces = []
    for kind, side, places in difference.runs:
        text = tables.escape("".join((first, second)[side][place] for place in places))
        left, right = ("\\[", "−\\]") if side == 0 else ("{", "+}")
        pieces.append(text if kind == SAME else f"{left}{SIGNS[kind, side]}{text}{right}")
    return " ".join(pieces) or "*(empty)*"


def beside(corpus: CorpusResults, number: int, seed: int) -> Iterator[html_pages.Block]:
    """Any two systems side by side on `number` lines of each test part, drawn by chance, for the reader to choose.

    In Markdown, and if no script runs, the best two are compared.
    """
    if len(corpus.systems) < 2:
        yield "There is one system only, and nothing to compare it with.\n"
        return
    parts = {part: drawn(corpus, part, number, seed) for part in corpus.test_parts}
    still = [still_part(corpus, part, lines) for part, lines in parts.items()]
    sizes = " and ".join(
        f"{tables.count(len(lines))} of the {tables.count(len(corpus.texts[part]))} sentences of `{part}`"
        for part, lines in parts.items()
    )
    yield f"{sizes[0].upper()}{sizes[1:]}, drawn by chance where that is not all.\n"
    html = "".join(block.html for block in still)
    yield Fragment(
        "\n".join(block.markdown for block in still),
        f'<div class="compare">\n{BESIDE_LEGEND}{form(corpus)}{charts.embedded(data(corpus, parts))}'
        f'<div class="results" aria-live="polite">\n{html}</div>\n</div>\n',
    )


def drawn(corpus: CorpusResults, part: str, number: int, seed: int) -> list[int]:
    """The lines of a part to compare systems on, in order."""
    total = len(corpus.texts[part])
    draw = seeding.generator(seed, f"compared {corpus.name} {part}")
    return sorted(draw.choice(total, size=min(number, total), replace=False).tolist())


def still_part(corpus: CorpusResults, part: str, lines: Sequence[int]) -> Fragment:
    """The best two systems of a part on the lines where they differ most."""
    first, second = tables.best_first(corpus.systems, part)[:2]
    found = [corpus.analyses[part][system.name] for system in (first, second)]
    compared = {line: compare(*(one.words[line] for one in found)) for line in lines}
    most = sorted(lines, key=lambda line: (-compared[line].distance, line))[:STILL]
    names = [corpus.label(system) for system in (first, second)]
    text, html = "", ""
    for line in most:
        source, reference = corpus.texts[part][line]
        words = [
            spaced(system.translations[part][line], one.words[line])
            for system, one in zip((first, second), found, strict=True)
        ]
        text += f"- line {tables.count(line + 1)}: {merged_markdown(compared[line], *words)}\n"
        rows = zip(("source", "reference"), languages(corpus), map(escape, (source, reference)), strict=True)
        columns = "".join(
            f'<div>\n<p class="about"><b>{escape(name)}</b> chrF {one.chrf[line]:.1f}</p>\n'
            f"{marked_html(side, kinds, languages(corpus)[1])}</div>\n"
            for name, one, side, kinds in zip(names, found, words, compared[line][:2], strict=True)
        )
        html += article(f"line {tables.count(line + 1)}", rows, f'<div class="two">\n{columns}</div>\n')
    said = f"what `{names[1]}` adds as `{{+extra+}}`, what it lacks of `{names[0]}` as `[−missing−]`"
    title = f"Where the best two differ most on `{part}`"
    return Fragment(f"{title}, {said}:\n\n{text}", f"<h4>{title.replace('`', '')}</h4>\n{html}")


def marked_html(words: Words, kinds: Sequence[str], language: str) -> str:
    """One of two sentences, with what the other does not have in this place."""
    pieces = ""
    for run in Difference(list(kinds), []).runs:
        text = "".join(words[place] for place in run.words)
        moved, sign = (' class="moved"', "↔") if run.kind == MOVED else (' class="only"', "≠")
        mark = f'<mark{moved}><span class="sign">{sign}</span>{escape(text.lstrip())}</mark>'
        pieces += escape(text) if run.kind == SAME else " " * text.startswith(" ") + mark
    return f'<p lang="{escape(language)}" dir="auto">{pieces or EMPTY}</p>\n'


def form(corpus: CorpusResults) -> str:
    """Menus for test part, both systems and order; the script shows them."""
    best = tables.best_first(corpus.systems, corpus.test_parts[0])
    places = [(index, corpus.label(system)) for index, system in enumerate(best)]
    return (
        "<form hidden>\n"
        f"{menu('part', 'test part', list(enumerate(corpus.test_parts)), 0)}"
        f"{menu('a', 'system A', places, 0)}{menu('b', 'system B', places, 1)}"
        f"{menu('order', 'order', list(ORDERS.items()), 'distance')}</form>\n"
    )


def menu(name: str, title: str, choices: Sequence[tuple[int | str, str]], chosen: int | str) -> str:
    """One menu with its title."""
    options = "".join(
        f'<option value="{value}"{" selected" * (value == chosen)}>{escape(text)}</option>' for value, text in choices
    )
    return f'<label>{title}<select name="{name}" autocomplete="off">{options}</select></label>\n'


def data(corpus: CorpusResults, parts: dict[str, list[int]]) -> dict[str, object]:
    """What compare.js shows: systems as the menus have them, the lines of each part."""
    best = tables.best_first(corpus.systems, corpus.test_parts[0])
    source, target = languages(corpus)
    return {
        "systems": [corpus.label(system) for system in best],
        "languages": {"source": source, "target": target},
        "parts": [part_data(corpus, best, part, lines) for part, lines in parts.items()],
    }


def part_data(
    corpus: CorpusResults, systems: Sequence[SystemResults], part: str, lines: list[int]
) -> dict[str, object]:
    """The chosen lines of a part: sources and references as text, translations as words."""
    found = [corpus.analyses[part][system.name] for system in systems]
    return {
        "lines": [line + 1 for line in lines],
        "sources": [printable(corpus.texts[part][line][0]) for line in lines],
        "references": [printable(corpus.texts[part][line][1]) for line in lines],
        "chrf": [[one.chrf[line] for line in lines] for one in found],
        "words": [
            [[*map(printable, spaced(system.translations[part][line], one.words[line]))] for line in lines]
            for system, one in zip(systems, found, strict=True)
        ],
    }


def languages(corpus: CorpusResults) -> tuple[str, str]:
    """Those of source and target."""
    return str(corpus.cleaning["source_language"]), str(corpus.cleaning["target_language"])
