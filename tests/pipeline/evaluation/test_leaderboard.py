"""The panel that says who won."""

import re

import pytest

from pipeline.evaluation import html_pages, leaderboard
from pipeline.evaluation.significance import Comparison, Standing
from pipeline.evaluation.verdicts import Verdict


@pytest.fixture
def page(make_corpus, tmp_path, read_page):
    return read_page(html_pages.write(tmp_path, "A", leaderboard.panel(make_corpus()).html))


def test_the_headline_says_who_won_and_the_line_below_by_how_much(page):
    text = re.sub(r"\s+", " ", page.text())
    assert "toy, fr → en, 2 systems second_model wins 70.0 BLEU on test, 20.0 above first_model (p < 0.001)" in text


def test_markdown_says_the_same(make_corpus):
    line = r"- **second\_model wins**: 70.0 BLEU on `test`, 20.0 above first\_model (p \< 0.001)"
    assert leaderboard.panel(make_corpus()).markdown == line + "\n"


def test_the_name_of_a_part_is_as_it_is_and_all_else_escaped():
    found = Verdict(["a_b"], "a_b wins", "43.8 BLEU on `test_2016_flickr`, 1.0 above c_d")
    assert leaderboard.sentence(found) == r"43.8 BLEU on `test_2016_flickr`, 1.0 above c\_d"


def test_a_bar_for_each_system_the_best_first(page):
    assert [data for tag, data in page.texts if tag == "span" and data.strip()] == [
        *("second_model", "70.0"),
        *("first_model", "50.0"),
    ]
    assert page.all("i", "style") == ["--value: 70.00%", "--value: 50.00%"]
    assert page.all("u", "style") == ["--low: 68.70%; --span: 2.50%", "--low: 48.30%; --span: 3.00%"]
    assert page.all("li", "class") == ["won"]
    assert page.text("p").endswith("BLEU on , 3 sentences, 95 % interval")


def test_all_that_tie_are_marked(make_corpus):
    standings = {"bpe_2k-first_model-tiny": Standing(50, 1, 0.6), "bpe_2k-second_model-tiny": Standing(70, 1, None)}
    html = leaderboard.panel(make_corpus(comparisons={"test": Comparison(standings, "bs")})).html
    assert html.count('<li class="tied">') == 2


def test_another_winner_on_another_part_is_named(make_corpus, make_system):
    scores = [
        {"test": {"bleu": 60.0, "signatures": {}}, "news": {"bleu": 20.0, "signatures": {}}},
        {"test": {"bleu": 50.0, "signatures": {}}, "news": {"bleu": 30.0, "signatures": {}}},
    ]
    texts = {"test": [("a", "b")], "news": [("c", "d")]}
    systems = [
        make_system(name, 1.0, scores=score, translations={"test": ["b"], "news": ["d"]})
        for name, score in zip("ab", scores, strict=True)
    ]
    html = leaderboard.panel(make_corpus(texts=texts, systems=systems, comparisons={})).html
    assert '<p class="claim">a wins</p>' in html
    assert '<p class="reason">60.0 BLEU on <code>test</code>, 10.0 above b (not tested for significance)</p>' in html
    assert '<p class="reason"><b>b wins</b>: 30.0 BLEU on <code>news</code>, 10.0 above a' in html
    assert "interval" not in html


def test_bars_of_several_seeds_are_means_with_their_spread(seeded, tmp_path, read_page):
    html = leaderboard.panel(seeded([50.0, 60.0, 70.0], [41.0, 40.0, 39.0])).html
    page = read_page(html_pages.write(tmp_path, "A", html))
    assert page.all("i", "style") == ["--value: 60.00%", "--value: 40.00%"]
    assert page.all("u", "style") == ["--low: 50.00%; --span: 20.00%", "--low: 39.00%; --span: 2.00%"]
    assert page.text("p").endswith("BLEU on , 3 sentences, mean ± standard deviation of 3 seeds")


def test_bars_end_at_the_end():
    assert [leaderboard.place(score) for score in (-1.0, 0.0, 97.3, 130.0)] == [0.0, 0.0, 97.3, 100.0]
