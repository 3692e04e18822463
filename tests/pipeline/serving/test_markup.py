import time

import pytest
from pipeline.serving.markup import PLACEHOLDER, html_pieces, html_tokens, joined, text_pieces


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hi {name}, {{x}} ${y} {} { a b", ["{name}", "{{x}}", "${y}", "{}"]),
        ("%s %d %1$s %(x)d %.2f %% %@ 5% off 100 % of %so 50%d", ["%s", "%d", "%1$s", "%(x)d", "%.2f", "%%", "%@"]),
        ("https://a.b/c?d=e. (www.x.org) a.b@c.de, x@y", ["https://a.b/c?d=e", "www.x.org", "a.b@c.de"]),
        ("https://a.b/u/{id} {{n}} http://a.b/{{x}}/c.", ["https://a.b/u/{id}", "{{n}}", "http://a.b/{{x}}/c"]),
        ("(https://a.b/Chat_(animal)), www.a.b/(c)/d)", ["https://a.b/Chat_(animal)", "www.a.b/(c)/d"]),
        ("https://a.b/(c https://a.b/c(d) https://a.b/{", ["https://a.b/(c", "https://a.b/c(d)", "https://a.b/"]),
    ],
)
def test_placeholders(text, found):
    assert [match.group() for match in PLACEHOLDER.finditer(text)] == found


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a<b>c</b>", ["text a", "tag <b>", "text c", "tag </b>"]),
        ("<a x='>' y=\">\">z", ["tag <a x='>' y=\">\">", "text z"]),
        ("a < b <", ["text a < b <"]),
        ("<a 'b>c</a>", ["tag <a 'b>", "text c", "tag </a>"]),
        ("<!-- <b> -->x<!--y", ["comment <!-- <b> -->", "text x", "comment <!--y"]),
        ("<script>a<b>c</script >d", ["other <script>a<b>c</script >", "text d"]),
        ("<style>x", ["other <style>x"]),
        ("<!DOCTYPE html><?x?><![CDATA[<b>]]>", ["other <!DOCTYPE html>", "other <?x?>", "other <![CDATA[<b>]]>"]),
    ],
)
def test_tokens(text, kinds):
    tokens = list(html_tokens(text))
    assert [f"{token.kind} {token.raw}" for token in tokens] == kinds
    assert "".join(token.raw for token in tokens) == text


def shape(pieces):
    return [piece if isinstance(piece, str) else (piece.text, [mark.raw for mark in piece.marks]) for piece in pieces]


def test_runs_of_a_text_are_its_lines():
    assert shape(text_pieces(["a {b}\n", "c <i>d</i>"])) == [("a \n", ["{b}"]), ("c d", ["<i>", "</i>"])]


def test_blocks_and_what_is_left_alone():
    assert shape(html_pieces("a<p>b <code>c</code><img>d</p>e")) == [
        *(("a", []), "<p>", ("b d", ["<code>c</code>", "<img>"]), "</p>", ("e", [])),
    ]
    assert shape(html_pieces('a<div translate=no>b<div>c</div></div>d<i translate="no">e</i>')) == [
        *(("a", []), "<div translate=no>b<div>c</div></div>", ("d", ['<i translate="no">e</i>'])),
    ]
    assert shape(html_pieces("a <code>b")) == [("a b", ["<code>"])]  # never closed: what follows is translated
    assert shape(html_pieces("a <keep>b<p>c</keep><keep/> d", frozenset(["keep"]))) == [
        ("a  d", ["<keep>b<p>c</keep>", "<keep/>"])
    ]


def test_an_address_ends_before_an_entity():
    [run] = html_pieces("a https://b.c?d=1&amp;e=2&quot;f https://g.h&amp; i")
    assert [mark.raw for mark in run.marks] == ["https://b.c?d=1&amp;e=2", "https://g.h&amp;"]
    assert run.text == 'a "f  i'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<b>{a}</b>", ["<b>{a}</b>"]),
        ("{a}{b} {c}", ["{a}{b}", "{c}"]),
        ("<b><i></i></b>", ["<b><i></i></b>"]),
        ("<b>{a} c</b>", ["<b>", "{a}", "</b>"]),
        ("</b>{a}", ["</b>", "{a}"]),
        ("<b></i>", ["<b>", "</i>"]),
    ],
)
def test_marks_that_touch_and_close_each_other_are_one(text, found):
    [run] = html_pieces(text)
    assert [mark.raw for mark in joined(run.marks)] == found


@pytest.mark.parametrize(
    "text", ["http://" + part for part in ("(" * 20_000, ".(" * 10_000, "(a" * 10_000, "{a" * 10_000, "!" * 20_000)]
)
def test_the_time_for_an_address_grows_as_the_text(text):
    began = time.process_time()
    list(PLACEHOLDER.finditer(text))
    assert time.process_time() - began < 1


def test_the_time_for_an_attribute_grows_as_the_text():
    text = '<a class="' + "notranslate " * 30_000 + ">hello"
    began = time.process_time()
    assert shape(html_pieces(text))
    assert time.process_time() - began < 2  # by backtracking into every word: 5 s and more
    assert shape(html_pieces('<i class="a notranslate b">c</i>')) == [("", ['<i class="a notranslate b">c</i>'])]


def test_entities_that_are_letters_are_read_and_others_marks():
    [run] = html_pieces("&eacute;&#233;&amp;&nbsp;&copy;&lt;&no;&")
    assert (run.text, [mark.raw for mark in run.marks]) == ("éé&\u00a0&", ["&copy;", "&lt;", "&no;"])
    assert run.raw[run.begins[0] : run.ends[0]] == "&eacute;"
