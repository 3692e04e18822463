"""The page of a small corpus: what stands on it, and what its script shows in a browser."""

import base64
import re

import pytest

from pipeline.report import attention, page, sentences
from pipeline.report.sentences import Report
from tests.toys.browsers import chromium
from tests.toys.results import ATTENDED, WEIGHTS

SECTION = Report(sentences=3, extremes=1, seed=1)


def test_the_page_is_one_file_with_every_section(read):
    text = page.report(read(good=90.0, poor=30.0), SECTION)
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)|url\(|@import""", text)
    sections = re.findall(r'<a href="#(.+?)">', text)
    assert sections == [f"{name}-toy" for name in ("result", "length", "sentences", "attention", "training", "data")]
    assert all(text.count(f'id="{anchor}"') == 1 for anchor in sections)
    assert text.index("90.00") < text.index("30.00")
    assert "<b> " not in text  # text of the corpus is no markup
    assert '<th scope="row">dropped: duplicate</th>' in text
    assert '<th scope="row">good</th><td>test</td><td>length: 9 % &amp; more</td>' in text
    assert "nothing unusual" not in text
    assert '<th scope="row" class="number">3</th><td>blank</td><td>Yes !</td>' in text
    assert "too long" not in text  # no pair was dropped for it


def test_several_seeds_are_explained(read):
    text = page.report(read(good=[90.0, 91.0]), SECTION)
    assert "trained with <b>2 seeds</b>" in text
    assert "paired bootstrap" not in text


def test_bitexts_show_their_part_of_the_training(read):
    cells = "".join(f'<td class="number">{text}</td>' for text in ("45", "3", "75.00 %", "7.5"))
    text = page.report(read(good=[90.0]), SECTION)
    assert f'<tr><th scope="row">own</th>{cells}</tr>' in text
    counts = "".join(f'<td class="number">{number}</td>' for number in (60, 2, 5, 5, 3, 45))  # 5: held out
    assert f'<tr><th scope="row">own</th>{counts}</tr>' in text


def test_the_sentences_are_some_by_chance_and_the_extremes():
    chrf = [[50.0, 90.0, 40.0, 60.0, 70.0]]
    for seed in range(1, 9):
        lines = sentences.choose(chrf, Report(sentences=1, extremes=1, seed=seed), "toy")
        assert {1, 2} <= set(lines)
        assert len(lines) <= 3
    assert sentences.choose(chrf, Report(sentences=9, extremes=0, seed=1), "toy") == [0, 1, 2, 3, 4]


def test_attention_maps_in_bytes():
    record = attention.sentence({**ATTENDED, "weights": WEIGHTS}, "a")
    assert [one["title"] for one in record["maps"]] == [
        "cross-attention, layer 2",
        "cross-attention, layer 1",
        "encoder self-attention, layer 1",
    ]
    heads = record["maps"][2]["heads"]
    assert list(heads) == ["mean of heads", "head 1", "head 2"]
    assert list(base64.b64decode(heads["head 2"])) == [128, 128, 64, 191]
    assert list(record["maps"][0]["heads"]) == ["mean of heads"]


@pytest.fixture
def opened(read, tmp_path):
    """The page in a browser."""
    playwright = pytest.importorskip("playwright.sync_api")
    (tmp_path / "index.html").write_text(page.report(read(good=90.0, poor=30.0, blind=20.0), SECTION))
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium())
        shown = browser.new_page(offline=True)
        faults = []
        shown.on("pageerror", lambda error: faults.append(error))
        shown.goto(f"file://{tmp_path}/index.html")
        yield shown
        assert faults == []
        browser.close()


@pytest.mark.slow
def test_differences_are_marked(opened):
    """By hand: beside `a green apple`, `an apple green` lacks `a`, has `an`, and has `green` elsewhere."""
    opened.locator("[name=order]").select_option("distance")
    about = opened.locator(".sentences .legend-line").last.text_content()
    assert about == "4 sentences. good has 3 of them word for word; by chrF it is better on 4, poor on 0."
    good, poor = opened.locator(".sentence", has_text="Il mange").locator("dd").all()[2:]
    assert good.inner_html() == "He eats <del>a</del> <ins>an</ins> apple <mark>green</mark> ."
    assert poor.inner_html() == "He <del>eats</del> <ins>has</ins> a green <del>apple</del> <ins>car</ins> ."
    assert "<b>" in opened.locator(".sentence", has_text="Le chat").text_content()
    assert opened.locator(".sentence", has_text="Oui").locator("dd").last.inner_html() == "<del>Yes !</del>"


@pytest.mark.slow
def test_menus_choose_the_attention(opened):
    cells, systems = opened.locator(".heat td[title]"), opened.locator("[name=system] option")
    assert systems.all_text_contents() == ["good", "poor"]
    assert cells.evaluate_all("found => found.map(cell => cell.title)") == [
        "</s> → ▁Oui: 0.20",
        "</s> → </s>: 0.80",
    ]
    opened.locator("[name=map]").select_option(label="encoder self-attention, layer 1")
    opened.locator("[name=head]").select_option(label="head 2")
    assert cells.last.get_attribute("title") == "</s> → </s>: 0.75"


@pytest.mark.slow
def test_a_legend_hides_its_line(opened):
    chart = opened.locator(".chart").first
    chart.get_by_role("button", name="poor").click()
    assert chart.locator(".line").nth(1).is_hidden()
    assert chart.locator(".line").first.is_visible()
