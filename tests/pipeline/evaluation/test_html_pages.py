"""HTML pages: whole, escaped, and in need of no network."""

import re

import pytest

from pipeline.evaluation import html_pages

TEXT = """# Title

Words, `code` and **strong**.

## First part

![Curves & <lines>](a.png)

## Second `part`

| name | n |
| :--- | ---: |
| \\<b\\>x\\</b\\> \\| \\& | 1 |

<script>alert(1)</script>
"""


def test_a_page_stands_beside_its_script(tmp_path, read_page):
    path = html_pages.write(tmp_path, "A & <b>", "<p>text</p>\n")
    assert path == tmp_path / "index.html"
    page = read_page(path)
    assert page.text("title") == "A & <b>"
    assert page.all("script", "src") == ["plotly.min.js"]
    assert (tmp_path / "plotly.min.js").stat().st_size > 1_000_000
    assert "plotly.js v" in (tmp_path / "plotly.min.js").read_text(encoding="utf-8")[:200]


def test_a_page_of_a_site_shares_its_script(tmp_path, read_page):
    folder = tmp_path / "attention/system"
    page = read_page(html_pages.write(folder, "A", "", site=tmp_path))
    assert page.all("script", "src") == ["../../plotly.min.js"]
    assert [path.name for path in folder.iterdir()] == ["index.html"]


def test_nothing_is_loaded_from_elsewhere(tmp_path):
    text = html_pages.write(tmp_path, "A", "").read_text(encoding="utf-8")
    assert re.findall(r"https?:|//[a-z]|@import|url\(", text) == []


def test_without_the_script_pictures_are_shown(tmp_path, read_page):
    text = html_pages.figure("<b>chart</b>", "a&b.png", 'all "curves"')
    page = read_page(html_pages.write(tmp_path, "A", text))
    assert page.all("html", "class") == ["still"]
    assert page.all("img", "alt") == ['all "curves"']
    assert page.all("img", "src") == page.all("a", "href") == ["a&b.png"]


@pytest.fixture
def page(tmp_path, read_page):
    body = html_pages.from_blocks([TEXT], {"a.png": "<i>the chart</i>"})
    return read_page(html_pages.write(tmp_path, "A", body))


def test_markdown_keeps_its_text(page):
    assert page.text("h1") == "Title"
    assert page.text("th") == "namen"
    assert page.text("td") == "<b>x</b> | &1"
    assert "Words, code and strong." in page.text()
    assert "<script>alert(1)</script>" in page.text("p")  # shown, not run


def test_a_page_holds_nothing_that_a_terminal_obeys(tmp_path):
    path = html_pages.write(tmp_path, "A", "<p>\x1b[2J a\x9bb\u202ec\té\n</p>")
    assert "<p>\\x1b[2J a\\x9bb\\u202ec\té\n</p>" in path.read_text()


def test_pictures_become_their_charts(page):
    assert page.text("i") == "the chart"
    assert page.all("img", "src") == ["a.png"]
    assert page.all("img", "alt") == ["Curves & <lines>"]


def test_sections_can_be_jumped_to(page):
    anchors = page.all("h2", "id")
    assert anchors == ["first-part", "second-part-"]
    assert [link for link in page.all("a", "href") if link.startswith("#")] == [
        "#main",
        *(f"#{anchor}" for anchor in anchors),
    ]
    assert page.all("main", "id") == ["main"]


def test_what_stands_before_the_first_section_is_the_head(tmp_path):
    text = html_pages.from_blocks(["# Title\n\nWords.\n", html_pages.Fragment("more", "<b>more</b>"), "## One\n"], {})
    head, _, rest = text.partition("</header>")
    assert "<h1>Title</h1>\n<p>Words.</p>\n<b>more</b>" in head
    assert rest.index("<nav") < rest.index("<main") < rest.index("<h2")


def test_a_fragment_has_a_form_of_its_own_in_each_file():
    blocks = ["# A\n", html_pages.Fragment("*still*\n", "<em>moving</em>\n"), "## B\n"]
    assert html_pages.markdown(blocks) == "# A\n\n*still*\n\n## B\n"
    assert "<em>moving</em>" in html_pages.from_blocks(blocks, {})
    assert "still" not in html_pages.from_blocks(blocks, {})


def test_blocks_stand_abreast(tmp_path, read_page):
    found = html_pages.abreast(["One:\n\n| a |\n| :--- |\n| <b> |\n", "Two\n"])
    assert found.markdown == "One:\n\n| a |\n| :--- |\n| <b> |\n\nTwo\n"
    page = read_page(html_pages.write(tmp_path, "A", found.html))
    assert page.all("div", "class") == ["abreast", "table"]
    assert page.text("td") == "<b>"


def test_a_page_runs_the_scripts_it_names(tmp_path):
    assert "class Comparison" not in html_pages.write(tmp_path, "A", "").read_text(encoding="utf-8")
    assert "class Comparison" in html_pages.write(tmp_path, "A", "", scripts=["compare.js"]).read_text(encoding="utf-8")


def test_every_colour_has_a_dark_form():
    light, dark = html_pages.asset("page.css").split("@media (prefers-color-scheme: dark)")[:2]
    names = set(re.findall(r"(--[\w-]+): #", light))
    assert names == set(re.findall(r"(--[\w-]+): #", dark))
    assert {"--paper", "--ink"} <= names
