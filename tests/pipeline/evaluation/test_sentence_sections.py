"""Single sentences on the page: marked by signs, escaped, bounded; and the script that compares any two systems."""

import json
import re
import subprocess

import numpy as np
import pytest

from pipeline.evaluation import html_pages, sentence_sections
from pipeline.evaluation.differences import compare
from tests.toys import browsers

HOSTILE = '<script>alert(1)</script> "a" & \u202eb </textarea>'


def large(make_corpus, make_system):
    """A corpus of fifty sentences and two systems."""
    translations = {"test": [f"h{i}" for i in range(50)]}
    return make_corpus(
        texts={"test": [(f"s{i}", f"t{i}") for i in range(50)]},
        systems=[make_system(name, score, translations=translations) for name, score in (("a", 1.0), ("b", 2.0))],
    )


def of(blocks):
    """The blocks as Markdown and as HTML."""
    blocks = list(blocks)
    return html_pages.markdown(blocks), "".join(getattr(block, "html", "") for block in blocks)


@pytest.fixture
def told(make_corpus, make_system):
    """A corpus of two systems and three sentences, of which one has moved words."""
    translations = [
        {"test": ["The dog sleeps.", "has He", "Hello"]},
        {"test": ["The cat sleeps.", "He has it", ""]},
    ]
    systems = [make_system(n, s, translations=t) for n, s, t in zip("ab", (50.0, 40.0), translations, strict=True)]
    return make_corpus(systems=systems)


def test_differences_are_marked_by_signs_and_tags():
    first, second = ["He", " has", " a", " car", "."], ["Today", " he", " has", " car", "."]
    difference = compare([word.strip() for word in first], [word.strip() for word in second])
    assert sentence_sections.merged_html(difference, first, second) == (
        '<del><span class="sign">−</span>He</del> <ins><span class="sign">+</span>Today he</ins> has '
        '<del><span class="sign">−</span>a</del> car.'
    )
    assert sentence_sections.merged_markdown(difference, first, second) == (
        "\\[−He−\\] {+Today he+} has \\[−a−\\] car."
    )


def test_moved_words_have_signs_of_their_own():
    difference = compare(["a", "b"], ["b", "a"])
    html = sentence_sections.merged_html(difference, ["a", " b"], ["b", " a"])
    assert '<del class="moved"><span class="sign">↔−</span>a</del>' in html
    assert '<ins class="moved"><span class="sign">↔+</span>a</ins>' in html
    assert sentence_sections.merged_markdown(difference, ["a", " b"], ["b", " a"]) == "\\[↔−a−\\] b {↔+a+}"


def test_an_empty_translation_says_so():
    nothing = compare([], [])
    assert sentence_sections.merged_html(nothing, [], []) == "<em>(empty)</em>"
    assert sentence_sections.merged_markdown(nothing, [], []) == "*(empty)*"
    assert "<em>(empty)</em>" in sentence_sections.marked_html([], [], "en")


def test_every_system_has_its_worst_and_its_best_sentences(told):
    text, html = of(sentence_sections.extremes(told, 1))
    assert "**`a`**, 1 of 3 are the reference word for word." in text
    assert "**`b`**, 1 of 3 are the reference word for word." in text
    assert "Worst sentences:\n\n- line 3, chrF 0.0: Bonjour → \\[−Hello−\\]" in text
    assert re.findall(r"<summary>(\w)", html) == ["a", "b"]
    assert html.count("<details open>") == 1
    assert html.count("<h4>Worst sentences</h4>") == 2
    assert '<td style="text-align:left">cat (1)</td>' in html
    assert '<td style="text-align:left">has (1)</td>' not in html  # moved, which is not missed


def test_no_extremes_are_asked_for(told):
    text, html = of(sentence_sections.extremes(told, 0))
    assert "Worst" not in text + html
    assert "N-grams missed most" in text


def test_samples_show_source_reference_and_the_best_system_first(make_corpus):
    samples = html_pages.markdown(sentence_sections.samples(make_corpus(), 9, 1))
    assert (
        "| `test` | line 1 |\n| :--- | :--- |\n| source | Le chat \\| dort. |\n| reference | The cat sleeps. |\n"
        "| `second_model` | second\\_model one |\n| `first_model` | first\\_model one |\n"
    ) in samples
    assert "| source | Il \\*a\\* \\<b\\> |" in samples
    assert samples.count("| *(empty)* |") == 2
    assert samples.count("| `test` | line ") == 3


def test_the_seed_chooses_the_samples(make_corpus, make_system):
    corpus = large(make_corpus, make_system)

    def lines(seed):
        return re.findall(r"line (\d+) \|", html_pages.markdown(sentence_sections.samples(corpus, 5, seed)))

    assert lines(1) == lines(1)
    assert lines(1) == sorted(set(lines(1)), key=int)
    assert len(lines(1)) == 5
    assert lines(1) != lines(2)


def test_samples_mark_differences_on_the_page(make_corpus):
    _, html = of(sentence_sections.samples(make_corpus(), 9, 1))
    assert '<dt>second_model</dt><dd lang="en" dir="auto"><del><span class="sign">−</span>The cat sleeps.</del>' in html
    assert html.count('<article class="sentence">') == 3
    assert '<dd lang="fr" dir="auto">Il *a* &lt;b&gt;</dd>' in html


def embedded(html):
    [data] = re.findall(r'<script type="application/json">(.*?)</script>', html, flags=re.DOTALL)
    return json.loads(data)


def test_any_two_systems_can_be_compared(told):
    text, html = of(sentence_sections.beside(told, 9, 1))
    data = embedded(html)
    assert data["systems"] == ["a", "b"]
    assert data["languages"] == {"source": "fr", "target": "en"}
    [part] = data["parts"]
    assert part["lines"] == [1, 2, 3]
    assert part["references"] == ["The cat sleeps.", "He has", "Hello"]
    assert part["words"][0] == [["The", " dog", " sleeps", "."], ["has", " He"], ["Hello"]]
    assert part["chrf"][0][2] == 100.0
    assert "3 of the 3 sentences of `test`" in text
    assert re.findall(r'<select name="(\w+)"', html) == ["part", "a", "b", "order"]


def test_without_a_script_the_best_two_are_compared(told):
    text, html = of(sentence_sections.beside(told, 9, 1))
    assert "Where the best two differ most on `test`" in text
    assert "- line 3: \\[−Hello−\\]\n" in text
    assert '<mark class="only"><span class="sign">≠</span>dog</mark> sleeps.' in html
    assert html.index("line 3<") < html.index("line 1<")  # by distance


def test_one_system_has_nothing_beside_it(make_corpus, make_system):
    corpus = make_corpus(systems=[make_system("a", 1.0)])
    assert of(sentence_sections.beside(corpus, 9, 1))[0] == (
        "There is one system only, and nothing to compare it with.\n"
    )


def test_the_page_is_bounded_and_the_seed_chooses(make_corpus, make_system):
    corpus = large(make_corpus, make_system)
    lines = {seed: sentence_sections.drawn(corpus, "test", 9, seed) for seed in (1, 2)}
    assert lines[1] == sentence_sections.drawn(corpus, "test", 9, 1) == sorted(set(lines[1]))
    assert len(lines[1]) == 9
    assert lines[1] != lines[2]
    data = embedded(of(sentence_sections.beside(corpus, 9, 1))[1])
    assert len(data["parts"][0]["sources"]) == 9


@pytest.fixture
def hostile(make_corpus, make_system):
    """Everything that a corpus may hold, in every place of text."""
    systems = [make_system(n, 1.0, translations={"test": [HOSTILE, f"{HOSTILE} {n}", "x"]}) for n in "ab"]
    return make_corpus(texts={"test": [(HOSTILE, "x"), ("y", HOSTILE), (HOSTILE, HOSTILE)]}, systems=systems)


def test_text_of_a_corpus_is_never_markup(hostile, tmp_path, read_page):
    blocks = [
        *sentence_sections.extremes(hostile, 9),
        *sentence_sections.beside(hostile, 9, 1),
        *sentence_sections.samples(hostile, 9, 1),
    ]
    path = html_pages.write(tmp_path, "A", html_pages.from_blocks(["# A\n\n## B\n", *blocks], {}))
    page, text = read_page(path), path.read_text(encoding="utf-8")
    assert not [data for tag, data in page.texts if tag == "script" and data.startswith("alert")]
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert "alert(1)" in page.text("dd")
    assert embedded(text)["parts"][0]["sources"][0] == HOSTILE.replace("\u202e", "\\u202e")


@pytest.fixture(scope="session")
def browse(tmp_path_factory):
    """A page as a browser without a network has it after its scripts ran, and what it said on the console."""
    browser = browsers.chromium()
    profile = tmp_path_factory.mktemp("profile")

    def open_page(path):
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
        options += ["--disable-background-networking", "--enable-logging=stderr", f"--user-data-dir={profile}"]
        options += ["--virtual-time-budget=5000", "--dump-dom", path.as_uri()]
        run = subprocess.run([browser, *options], capture_output=True, text=True, timeout=120, check=True)
        return run.stdout, [line for line in run.stderr.splitlines() if "CONSOLE" in line]

    return open_page


def test_the_script_finds_the_differences_that_python_finds(tmp_path, browse):
    draw = np.random.default_rng(5)
    pairs = [[draw.choice(list("abcde"), size=int(draw.integers(0, 9))).tolist() for _ in "ab"] for _ in range(300)]
    script = html_pages.asset("compare.js")
    (tmp_path / "page.html").write_text(
        f"<!doctype html><body><script>{script}\ndocument.body.textContent = JSON.stringify("
        f"{json.dumps(pairs)}.map(([first, second]) => difference(first, second)))</script></body>",
        encoding="utf-8",
    )
    dom, console = browse(tmp_path / "page.html")
    assert console == []
    found = json.loads(re.search(r"<body>(.*)</body>", dom, flags=re.DOTALL)[1])
    for pair, by_script in zip(pairs, found, strict=True):
        by_python = compare(*pair)
        assert by_script["kinds"] == [by_python.first, by_python.second]
        assert by_script["distance"] == pytest.approx(by_python.distance)


def test_the_script_shows_what_stands_on_the_page_without_it(hostile, told, tmp_path, browse):
    for name, corpus in (("told", told), ("hostile", hostile)):
        body = html_pages.from_blocks(["# A\n\n## B\n", *sentence_sections.beside(corpus, 9, 1)], {})
        dom, console = browse(html_pages.write(tmp_path / name, "A", body, scripts=["compare.js"]))
        assert console == []
        assert "By chrF, a is better on" in dom
        assert "<form hidden" not in dom
    still, moving = (re.findall(r"<mark.*?</mark>", text) for text in (body, dom))
    assert set(still) - {mark for mark in still if "words</mark>" in mark} <= set(moving)
