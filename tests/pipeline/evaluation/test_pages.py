"""The report: what stands on it, in which order, the same in Markdown and in HTML, and that nothing of it is random."""

import json
import re

import pytest

from pipeline.evaluation import html_pages, pages
from pipeline.evaluation.pages import Report
from pipeline.params import ParamsError

REPORT = Report(samples=2, compared=2, extremes=1, ngrams=2, frequency_buckets=[0, 1], seed=1)
ALL = REPORT.changed(samples=9, compared=9, extremes=9)


def text(*corpora, report=REPORT):
    return html_pages.markdown(pages.page(list(corpora), report, 1000))


def section(page, name):
    """The text of one section."""
    return page.split(f"\n## {name}\n")[1].split("\n## ")[0]


def test_the_page_has_its_sections_in_order(make_corpus):
    page = text(make_corpus())
    assert re.findall(r"^##? (.*)", page, flags=re.MULTILINE) == [
        "Translation report",
        "Result",
        "Leaderboard",
        "Length",
        "Word order",
        "Rare words",
        "N-grams",
        "Worst and best",
        "Side by side",
        "Samples",
        "Attention",
        "Curves",
        "Data",
        "Parameters",
        "Repeat",
    ]
    assert "2 systems on 1 corpus." in page
    assert "### `toy` (fr → en)" in section(page, "Result")


def test_signatures_stand_once(make_corpus):
    page = text(make_corpus(), make_corpus(name="other"))
    assert page.count("- BLEU, paired bootstrap: `nrefs:1|bs:100|seed:1|case:mixed|eff:no|tok:13a|") == 1
    assert page.count("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0") == 1
    assert page.count("- chrF: `nrefs:1|version:2.6.0`") == 1


def test_only_the_metrics_scored_are_explained(make_corpus, make_system):
    page = text(make_corpus())
    assert "**BLEU** counts" in page
    assert "**TER**" not in page
    scores = {"test": {"ter": 20.0, "signatures": {"ter": "tok:tercom"}}}
    page = text(make_corpus(systems=[make_system("first_model", 1.0, scores=scores)]))
    assert "**TER** counts" in page
    assert "**BLEU** counts" not in page


def test_comparisons_are_explained_where_there_are_any(make_corpus):
    words = "is the mean BLEU of 1,000 resamples"
    assert words in section(text(make_corpus()), "Leaderboard")
    assert words not in text(make_corpus(comparisons={}))


def test_several_seeds_are_explained_where_there_are_any(seeded):
    assert "Each system was trained with **2 seeds**" in "".join(pages.guides([seeded([5.0, 6.0], [1.0, 2.0])], 100))
    assert "seeds" not in "".join(pages.guides([seeded([5.0], [1.0])], 100))


def test_scores_without_unknown_words_are_explained_where_there_are_any(make_corpus):
    assert "No unknown" not in text(make_corpus())
    corpus = make_corpus()
    corpus.systems[0].scores["test"]["sentences_without_unknown"] = 2
    assert "**No unknown**: of the sentences whose source and reference" in text(corpus)


def test_no_samples_no_section(make_corpus):
    assert "## Samples" not in text(make_corpus(), report=REPORT.changed(samples=0))


@pytest.fixture(scope="module")
def written(make_corpus, tmp_path_factory):
    """The folder of a report on two corpora."""
    folder = tmp_path_factory.mktemp("written")
    pages.write(folder, [make_corpus(), make_corpus(name="other")], ALL, resamples=1000)
    return folder


def test_figures_and_pages_of_attention_stand_beside_the_page(make_corpus, written):
    page = (written / "index.md").read_text(encoding="utf-8")
    assert page == text(make_corpus(), make_corpus(name="other"), report=ALL)
    linked = re.findall(r"!\[.*\]\((.*)\)", page)
    expected = sorted([*linked, "attention", "index.html", "index.md", "plotly.min.js"])
    assert sorted(path.name for path in written.iterdir()) == expected
    for address in re.findall(r"[^!]\[.*?\]\((.*?)\)", page):
        assert (written / address).is_file()
    assert sorted(path.name for path in (written / "attention").iterdir()) == [
        "toy-bpe_2k-first_model-tiny",
        "toy-bpe_2k-second_model-tiny",
    ]


def test_html_says_what_markdown_says(written, read_page):
    page = read_page(written / "index.html")
    assert page.text("h1") == page.text("title") == "Translation report"
    sections = re.findall(r"^## (.*)", (written / "index.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [data for tag, data in page.texts if tag == "h2"] == sections
    for words in ("69.95 ± 1.25", "< 0.001", "Il *a* <b>", "Le chat | dort.", "1,234,567", "nrefs:1|bs:100|seed:1|"):
        assert words in page.text()
    addresses = page.all("a", "href")
    assert "attention/toy-bpe_2k-second_model-tiny/index.html" in addresses
    assert all((written / address).is_file() for address in addresses if not address.startswith("#"))


def test_every_figure_is_a_chart_with_a_name_of_its_own(written, read_page):
    page = read_page(written / "index.html")
    names = ["scores_by_length-toy", "scores_by_length-other", "learning_curves-toy", "learning_curves-other"]
    assert page.all("div", "id") == names
    assert page.all("img", "src") == [f"{name}.png" for name in names]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"samples": -1}, "report.samples: should be greater than or equal to 0, got -1"),
        ({"compared": 0}, "report.compared: should be greater than 0, got 0"),
        ({"extremes": -1}, "report.extremes: should be greater than or equal to 0, got -1"),
        ({"ngrams": -1}, "report.ngrams: should be greater than 0, got -1"),
        (
            {"frequency_buckets": [9, 0]},
            "report.frequency_buckets: must be ascending, got [9, 0]; expected the highest count of each bucket",
        ),
        ({"seed": 0}, "report.seed: should be greater than 0, got 0"),
    ],
)
def test_a_faulty_section_is_named(tmp_path, changes, message):
    path = tmp_path / "params.yaml"
    path.write_text(json.dumps({"report": REPORT.model_dump() | changes}))
    with pytest.raises(ParamsError) as error:
        Report.load("report", path)
    assert str(error.value) == f"{path}: {message}"
