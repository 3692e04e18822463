import random
import re
import time

import pytest
from pipeline.serving.documents import split

ATOMS = [
    *("a", "The cat. ", "Où est-ce ? ", " ", "\n", "\r\n", "\n\n", "\t", ". ", "!", "M. ", "J. ", "日本。", "\u00a0"),
    *("\u2028", "é", "\x00", "\u200b", "🙂", "«", "»", "=", '"', "'", "&", "<", "> ", "of ", "the "),
    *("<b>", "</b>", "<i>", "</i>", "<p>", "</p>", "<br>", "<br/>", "<code>x y</code>", "<code>", "</code>", "<pre>"),
    *("</pre>", "<script>", "</script>", "<SCRIPT>", "</ScRipt >", "<!-- c -->", "<!--", "-->", "<![CDATA[", "]]>"),
    *('<a href="x>y">', "</a>", "<a '", '<span translate="no">', "</span>", "<div", "<!DOCTYPE html>", '<x id="1"/>'),
    *("&eacute;", "&nbsp;", "&copy;", "&bogus;", "{name}", "%s", "%(x)d", "{{x}}", "https://a.b/c.", "a@b.co"),
]


@pytest.mark.parametrize("form", ["text", "html"])
def test_random_texts_come_back(form):
    """With each sentence as its own translation byte for byte; with others every mark once and in its order."""
    for seed in range(1500):
        draw = random.Random(seed)
        text = "".join(draw.choices(ATOMS, k=draw.randrange(1, 30)))
        document = split(text, form, draw.choice(["en", "fr", "xx"]))
        assert document.join(document.sentences) == text
        assert all(one == " ".join(one.split()) and re.search(r"[^\W\d_]", one) for one in document.sentences)
        others = [" ".join(draw.choices(["ω", "ωω,", "ω."], k=draw.randrange(9))) for _ in document.sentences]
        kept = (p if isinstance(p, str) else "".join(mark.raw for mark in p.marks) for p in document.pieces)
        assert re.sub(r"[ω,.\s]", "", document.join(others)) == re.sub(r"[ω,.\s]", "", "".join(kept))


CASES = [
    ("text", "  Bonjour.\r\n\r\n\tAu revoir !\n", ["Bonjour.", "Au revoir !"], ["A.", "B!"], "  A.\r\n\r\n\tB!\n"),
    ("text", "Hi {name}, bye.", ["Hi, bye."], ["Salut, adieu."], "Salut {name}, adieu."),
    ("text", "See https://a.b/c?d=e.", ["See."], ["Voir."], "Voir https://a.b/c?d=e."),
    ("text", "{name}: hello", ["hello"], ["salut"], "{name}: salut"),
    ("text", "100 % of %d or 5%", ["100 % of or 5%"], ["a b c d"], "a b %d c d"),
    ("text", "2019 - 5", [], [], "2019 - 5"),
    ("html", "<p>A <b>red</b> cat.</p>", ["A red cat."], ["Un chat roux."], "<p>Un <b>chat</b> roux.</p>"),
    ("html", "<b>All of it.</b>", ["All of it."], ["Tout."], "<b>Tout.</b>"),
    ("html", "A <b>b</b> c d e f", ["A b c d e f"], ["x"], "<b>x</b>"),
    ("html", "Tom &amp; Jerry &copy; &eacute;t&eacute;", ["Tom & Jerry été"], ["A b d"], "A b &copy; d"),
    ("html", "Run <code>a b</code> now", ["Run now"], ["Fais maintenant"], "Fais <code>a b</code> maintenant"),
    ("html", '<p translate="no">Hi <b>you</b></p>there', ["there"], ["là"], '<p translate="no">Hi <b>you</b></p>là'),
    (
        "html",
        '<span class="x notranslate">Hi</span> you',
        ["you"],
        ["toi"],
        '<span class="x notranslate">Hi</span> toi',
    ),
    ("html", "<pre>a b</pre><script>c</script>d", ["d"], ["x"], "<pre>a b</pre><script>c</script>x"),
    ("html", "a<br>b<div>c</div>", ["a", "b", "c"], ["x", "y", "z"], "x<br>y<div>z</div>"),
    ("html", "One\n two. Three", ["One two.", "Three"], ["A.", "B"], "A. B"),
    ("html", "<a title='x>y'>b</a", ["b</a"], ["c"], "<a title='x>y'>c"),
    ("html", "Hi <b>{name}</b> you", ["Hi you"], ["Salut toi"], "Salut <b>{name}</b> toi"),
    ("html", "A <a href=x><img></a> b", ["A b"], ["C d"], "C <a href=x><img></a> d"),
    ("text", 'A <x id="7"></x> b', ["A b"], ["C d"], 'C <x id="7"></x> d'),
    ("text", "Charge at %d%% now", ["Charge at now"], ["Charge à présent"], "Charge à %d%% présent"),
    ("text", "Give {a}{b} now", ["Give now"], ["Donne maintenant"], "Donne {a}{b} maintenant"),
    ("html", "See https://a.b&gt; now", ["See now"], ["Voir maintenant"], "Voir https://a.b&gt; maintenant"),
    ("html", "See https://a.b?c&amp;d&nbsp;now", ["See now"], ["Voir ceci"], "Voir https://a.b?c&amp;d ceci"),
]


@pytest.mark.parametrize(("form", "text", "found", "translations", "joined"), CASES)
def test_what_stays_and_where_it_goes(form, text, found, translations, joined):
    document = split(text, form, "en")
    assert document.sentences == found
    assert document.join(document.sentences) == text
    assert document.join(translations) == joined


def test_text_of_a_translation_is_escaped_in_html_only():
    assert split("Tom and Jerry", "html", "en").join(["A & b < c"]) == "A &amp; b &lt; c"
    assert split("Tom and Jerry", "text", "en").join(["A & b < c"]) == "A & b < c"


def test_one_translation_a_sentence():
    with pytest.raises(AssertionError, match="one translation a sentence"):
        split("A cat.", "text", "en").join([])


@pytest.mark.parametrize(
    "unit", ["<", "<a ", '<a "', "<a '>", "&a", "{a", "a@", "%", "<b>x", "«", "<code>x", '<a href="', "{a}&lt;"]
)
@pytest.mark.parametrize("form", ["text", "html"])
def test_hostile_texts_take_linear_time(form, unit):
    """Quadratic time would be a hundred times as much; the bound holds on a busy machine."""

    def seconds(size):
        text, start = unit * (size // len(unit)), time.process_time()
        document = split(text, form, "en")
        assert document.join(["x y"] * len(document.sentences)) is not None
        return time.process_time() - start

    assert min(seconds(40_000) for _ in range(3)) < 80 * max(seconds(2_000), 0.005)
