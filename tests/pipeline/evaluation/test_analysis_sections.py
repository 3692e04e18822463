"""Tables on all translations of a part, beside counts by hand."""

import pytest

from pipeline.evaluation import analysis_sections, html_pages


@pytest.fixture
def corpus(make_corpus, make_system):
    """Two systems; the training part has `The` and `cat` twice and `and`, `the`, `dog` and `.` once."""
    translations = [
        {"test": ["The cat sleeps.", "He has it", ""]},
        {"test": ["sleeps cat.", "He has", "Hello"]},
    ]
    systems = [make_system(n, s, translations=t) for n, s, t in zip("ab", (50.0, 40.0), translations, strict=True)]
    return make_corpus(systems=systems)


def table(blocks):
    """The rows of a table of a part, and what stands above it."""
    title, _, rows = html_pages.markdown(blocks).partition("\n\n")
    return title, [line.strip("| ").split(" | ") for line in rows.split("\n\n")[0].splitlines() if "---" not in line]


def test_lengths(corpus):
    title, rows = table(analysis_sections.lengths(corpus))
    assert title == "Test part `test`:"
    assert rows == [
        ["system", "length ratio", "shorter", "as long", "longer"],
        ["`a`", "1.000", "33.33 %", "33.33 %", "33.33 %"],  # 4 + 3 + 0 words of 4 + 2 + 1
        ["`b`", "0.857", "33.33 %", "66.67 %", "0.00 %"],  # 3 + 2 + 1
    ]


def test_the_figure_of_scores_by_length_stands_below(corpus):
    *_, figure = analysis_sections.lengths(corpus)
    assert figure == "![BLEU of each system by the length of the source](scores_by_length-toy.png)\n"


def test_order(corpus):
    title, rows = table(analysis_sections.order(corpus))
    assert title == "Test part `test`, 7 words in the references:"
    assert rows == [
        ["system", "in place", "moved", "missing", "extra"],
        ["`a`", "85.71 %", "0.00 %", "14.29 %", "14.29 %"],  # lacks Hello, adds it
        ["`b`", "71.43 %", "14.29 %", "14.29 %", "0.00 %"],  # lacks The; sleeps or cat has moved
    ]


def test_rare_words_have_columns_for_the_counts_that_the_references_have(corpus):
    title, rows = table(analysis_sections.frequencies(corpus))
    assert title == "Test part `test`, count in the training part (words in the references):"
    assert rows == [
        ["system", "0 (4)", "1 (1)", "2+ (2)"],  # sleeps He has Hello; the full stop; The cat
        ["`a`", "75.0", "100.0", "100.0"],  # 3 of 4 and of 4: 2 * 3 / 8
        ["`b`", "100.0", "100.0", "66.7"],  # cat alone: 2 * 1 / 3
    ]


def test_precisions(corpus):
    _, rows = table(analysis_sections.precisions(corpus))
    assert rows == [
        ["system", "1-grams", "2-grams", "3-grams", "4-grams"],
        ["`a`", "85.7", "80.0", "66.7", "100.0"],  # 6 of 7, 4 of 5, 2 of 3, 1 of 1
        ["`b`", "100.0", "33.3", "0.0", "0.0"],  # sleeps cat and cat . are invented
    ]


def test_ngrams_missed_and_invented_most(corpus):
    (missed, first), (invented, second) = analysis_sections.most_wrong(corpus.analyses["test"]["bpe_2k-b-tiny"])
    assert (missed, invented) == ("N-grams missed most", "N-grams invented most")
    assert first.splitlines()[2:] == [
        "| The (1) | The cat (1) | The cat sleeps (1) | The cat sleeps . (1) |",
        "|  | cat sleeps (1) | cat sleeps . (1) |  |",
    ]
    assert second.splitlines()[2:] == ["|  | cat . (1) | sleeps cat . (1) |  |", "|  | sleeps cat (1) |  |  |"]


def test_nothing_wrong_is_none(make_corpus, make_system):
    right = make_system("a", 1.0, translations={"test": ["The cat sleeps.", "He has", "Hello"]})
    found = make_corpus(systems=[right]).analyses["test"]["bpe_2k-a-tiny"]
    assert [text for _, text in analysis_sections.most_wrong(found)] == ["None.\n", "None.\n"]
