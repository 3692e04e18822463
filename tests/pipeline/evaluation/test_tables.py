"""Tables in Markdown and for the terminal."""

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from pipeline.evaluation import tables
from pipeline.evaluation.results import EnsembleResults
from pipeline.evaluation.significance import Comparison, Standing


def shown(corpus):
    """The words of each line on a terminal of 80 columns."""
    console = Console(width=80)
    with console.capture() as capture:
        console.print(*tables.terminal(corpus), sep="\n")
    return [line.replace("│", " ").split() for line in capture.get().splitlines()]


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


def test_escaped_text_holds_nothing_that_a_terminal_obeys():
    assert tables.escape("\x1b[2J a\x9bb\u202ec") == r"\\x1b\[2J a\\x9bb\\u202ec"


def test_numbers_stand_to_the_right():
    assert tables.markdown(["name", "n"], [["a", "1"], ["b", "20"]], numbers=1) == (
        "| name | n |\n| :--- | ---: |\n| a | 1 |\n| b | 20 |\n"
    )


def test_the_best_system_comes_first(make_corpus):
    best_first = tables.best_first(make_corpus().systems, "test")
    assert [system.model for system in best_first] == ["second_model", "first_model"]


SEEDS = [5.0, 6.0, 7.0], [1.0, 2.0, 3.0], [9.0, 1.0, 8.0]


def test_several_seeds_by_hand(seeded):
    """The standard deviations of a and b are 1, that of c is sqrt(19); p of a and b is 0.00805, three times that."""
    lines = tables.of_seeds(seeded(*SEEDS), "test").splitlines()
    assert lines[0] == "| system | BLEU | p | chrF | no clear difference to |"
    assert lines[2:] == [
        "| `a` | 6.00 ± 1.00 | – | 84.00 ± 1.00 | `c` |",
        "| `c` | 6.00 ± 4.36 | 1.000 | 84.00 ± 4.36 | `a`, `b` |",
        "| `b` | 2.00 ± 1.00 | 0.024 | 88.00 ± 1.00 | `c` |",
    ]


def test_a_clear_difference_to_all_is_a_dash(seeded):
    assert tables.of_seeds(seeded(*SEEDS[:2]), "test").splitlines()[2:] == [
        "| `a` | 6.00 ± 1.00 | – | 84.00 ± 1.00 | – |",
        "| `b` | 2.00 ± 1.00 | 0.008 | 88.00 ± 1.00 | – |",
    ]


def test_the_terminal_has_a_table_of_several_seeds(seeded):
    lines = shown(seeded(*SEEDS[:2]))
    assert "Mean ± standard deviation of 3 seeds on toy" in map(" ".join, lines)
    assert ["bpe_2k-b-tiny", "2.00", "±", "1.00", "0.008", "88.00", "±", "1.00"] in lines
    assert not any("seeds" in line for line in shown(seeded([5.0], [1.0])))


def test_the_best_mean_comes_first_where_seeds_are_compared_and_the_best_score_elsewhere(seeded):
    systems = seeded([50.0, 40.0], [49.0, 43.0]).systems
    assert [system.model for system in tables.best_first(systems, "test")] == ["a", "b"]
    assert [system.model for system in tables.best_first(systems, "test", of_seeds=True)] == ["b", "a"]


def test_the_fewest_edits_are_the_best(make_system):
    systems = [
        make_system(str(ter), 1.0, scores={"test": {"ter": ter, "signatures": {}}}) for ter in (30.0, 20.0, 40.0)
    ]
    assert [system.model for system in tables.best_first(systems, "test")] == ["20.0", "30.0", "40.0"]


def test_ensembles_are_ranked_by_the_first_metric(make_corpus):
    scores = {"one": (50.0, 70.0), "other": (60.0, 65.5)}
    ensembles = [
        EnsembleResults(name, ["a", "b"], {"test": {"bleu": bleu, "chrf": chrf}})
        for name, (bleu, chrf) in scores.items()
    ]
    assert tables.ensembles(make_corpus(ensembles=ensembles), "test").splitlines() == [
        "| ensemble | systems | BLEU | chrF |",
        "| :--- | :--- | ---: | ---: |",
        "| `other` | `a` and `b` | 60.00 | 65.50 |",
        "| `one` | `a` and `b` | 50.00 | 70.00 |",
    ]


def test_scores_of_a_part(make_corpus):
    assert tables.scores(make_corpus(), "test") == (
        "| system | parameters | BLEU | 95 % interval | p | chrF |\n"
        "| :--- | ---: | ---: | ---: | ---: | ---: |\n"
        "| `second_model` | 1,234,567 | 70.00 | 69.95 ± 1.25 | – | 20.00 |\n"
        "| `first_model` | 1,234,567 | 50.00 | 49.80 ± 1.50 | < 0.001 | 40.00 |\n"
    )


def test_without_comparisons_there_are_scores_alone(make_corpus):
    assert tables.columns(make_corpus(comparisons={})) == ["BLEU", "chrF"]


def test_a_part_that_cannot_be_resampled_has_dashes(make_corpus):
    corpus = make_corpus(comparisons={"test": Comparison({}, "signature")})
    assert tables.cells(corpus, corpus.systems[0], "test") == ["50.00", "–", "–", "40.00"]


@pytest.mark.parametrize(("p", "shown"), [(0.0009, "< 0.001"), (0.001, "0.001"), (0.0496, "0.050"), (1.0, "1.000")])
def test_p_is_shown_to_three_places(p, shown):
    assert tables.standing(Standing(50.0, 1.0, p)) == ["50.00 ± 1.00", shown]


def test_scores_without_unknown_words_have_their_columns(make_corpus, make_system):
    one, other, none = (make_system(name, 50.0) for name in ("one", "other", "none"))
    one.scores["test"] |= {
        "bleu_without_unknown": 60.5,
        "chrf_without_unknown": 70.25,
        "sentences_without_unknown": 1200,
    }
    none.scores["test"] |= {"sentences_without_unknown": 0}
    corpus = make_corpus(systems=[one, other, none], comparisons={})
    titles = ["BLEU, no unknown", "chrF, no unknown", "sentences, no unknown"]
    assert tables.known_columns(corpus) == titles
    assert tables.known_cells(corpus, one, "test") == ["60.50", "70.25", "1,200"]
    assert tables.known_cells(corpus, other, "test") == ["–", "–", "–"]
    assert tables.known_cells(corpus, none, "test") == ["–", "–", "0"]
    assert "| BLEU | chrF | BLEU, no unknown | chrF, no unknown | sentences, no unknown |" in tables.scores(
        corpus, "test"
    )
    assert "| 50.00 | 40.00 | 60.50 | 70.25 | 1,200 |" in tables.scores(corpus, "test")
    assert ["bpe_2k-one-tiny", "60.50", "70.25", "1,200"] in shown(corpus)


def test_where_all_words_are_known_there_are_no_such_columns(make_corpus):
    corpus = make_corpus()
    assert tables.known_columns(corpus) == tables.known_cells(corpus, corpus.systems[0], "test") == []
    assert len(tables.terminal(corpus)) == 1


def test_the_terminal_shows_the_same_scores(make_corpus):
    rows = shown(make_corpus())
    assert ["test"] in rows
    assert ["bpe_2k-second_model-tiny", "70.00", "69.95", "±", "1.25", "–", "20.00"] in rows
    assert ["bpe_2k-first_model-tiny", "50.00", "49.80", "±", "1.50", "<", "0.001", "40.00"] in rows


def test_counts_and_shares_read_well():
    assert tables.count(1234567) == "1,234,567"
    assert tables.share(1, 8) == "12.50 %"
    assert tables.share(0, 0) == "–"
