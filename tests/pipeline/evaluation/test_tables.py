"""Tables in Markdown and for the terminal."""

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from pipeline.evaluation import tables


@pytest.mark.parametrize(
    "text",
    ["a | b", "<b>x</b> & y", "*bold* _slanted_ ~gone~ `code`", r"C:\dir\*", "[a](b)", "$x$ #1", "&amp;", "x|`|`y"],
)
def test_escaped_text_shows_letter_for_letter(text):
    """Against an independent reader of Markdown."""
    tokens = (
        MarkdownIt("commonmark").enable("table").parse(tables.markdown(["", ""], [[tables.escape(text), "beside"]]))
    )
    first, second = [token for token in tokens if token.type == "inline"][2:]
    assert "".join(child.content for child in first.children) == text
    assert {child.type for child in first.children} <= {"text", "text_special"}
    assert second.content == "beside"


def test_escaped_text_stays_on_one_line():
    assert tables.escape(" a\tb\u2028c\r\n") == "a b c"


def test_numbers_stand_to_the_right():
    assert tables.markdown(["name", "n"], [["a", "1"], ["b", "20"]], numbers=1) == (
        "| name | n |\n| :--- | ---: |\n| a | 1 |\n| b | 20 |\n"
    )


def test_the_best_system_comes_first(make_corpus):
    best_first = tables.best_first(make_corpus().systems, "test")
    assert [system.model for system in best_first] == ["second_model", "first_model"]


def test_the_fewest_edits_are_the_best(make_system):
    systems = [
        make_system(str(ter), 1.0, scores={"test": {"ter": ter, "signatures": {}}}) for ter in (30.0, 20.0, 40.0)
    ]
    assert [system.model for system in tables.best_first(systems, "test")] == ["20.0", "30.0", "40.0"]


def test_scores_of_a_part(make_corpus):
    assert tables.scores(make_corpus(), "test") == (
        "|  | system | parameters | BLEU | chrF |\n"
        "| :--- | :--- | ---: | ---: | ---: |\n"
        "| 1 | `toy-bpe_2k-second_model-tiny` | 1,234,567 | 70.00 | 20.00 |\n"
        "| 2 | `toy-bpe_2k-first_model-tiny` | 1,234,567 | 50.00 | 40.00 |\n"
    )


def test_the_terminal_shows_the_same_scores(make_corpus):
    console = Console(width=80, record=True, quiet=True)
    with console.capture() as capture:
        console.quiet = False
        console.print(tables.terminal(make_corpus()))
    shown = [line.replace("│", " ").split() for line in capture.get().splitlines()]
    assert ["test", "bpe_2k-second_model-tiny", "70.00", "20.00"] in shown
    assert ["bpe_2k-first_model-tiny", "50.00", "40.00"] in shown


def test_counts_and_shares_read_well():
    assert tables.count(1234567) == "1,234,567"
    assert tables.share(1, 8) == "12.50 %"
    assert tables.share(0, 0) == "–"
