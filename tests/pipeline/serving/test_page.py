"""The page of `nmt serve` in a real browser: what a person types, reads, points at, clicks and hears."""

import contextlib
import json
import re
import sys
from urllib.parse import urlsplit

import pytest

from tests.toys import browsers, dictionary, servers

playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here: pip install playwright")
expect = playwright.expect
image = pytest.importorskip("PIL.Image", reason="no Pillow here")
from docs import page_picture  # noqa: E402  (it needs both)

FLAGS = ("--no-sandbox", "--disable-quic", "--disable-gpu")
QUESTION, ANSWER = "Où est la gare", "Where is the station"
BEST = "toy_fr_en-bpe_1k-transformer_postnorm-tiny"
REFUSED = re.compile(r"Failed to load resource: the server responded with a status of \d+")
CONTRAST = 4.5
WAIT_MILLISECONDS = 20_000  # on a busy machine; what is there goes on at once


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return dictionary.packages(tmp_path_factory.mktemp("models"))


def serving(folders, log, **options):
    command = [sys.executable, "-m", "tests.toys.dictionary", json.dumps({"folders": folders, **options})]
    return servers.running(command, log)


@pytest.fixture(scope="module")
def server(folders, tmp_path_factory):
    with serving(folders, tmp_path_factory.mktemp("server") / "log", limits={"characters": 500}) as one:
        yield one


@pytest.fixture(scope="module")
def browser():
    path = browsers.chromium()
    expect.set_options(timeout=WAIT_MILLISECONDS)
    with playwright.sync_playwright() as started:
        one = started.chromium.launch(executable_path=path, args=[*FLAGS])
        yield one
        one.close()


class Visit:
    """Opens pages, and watches all that they say and ask for."""

    def __init__(self, browser, address):
        self.browser, self.address = browser, address
        self.contexts, self.said, self.asked, self.refusals = [], [], [], 0

    def __call__(self, fragment="", address=None, prepare=lambda page: None, **options):
        context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 860}} | options)
        context.set_default_timeout(WAIT_MILLISECONDS)
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        prepare(page)
        page.goto((address or self.address) + "/" + fragment)
        expect(page.locator(".chip").first).to_be_visible()
        return page

    def check(self):
        """Nothing was said but what `refusals` allows, and nothing asked of anybody else."""
        refused = [line for line in self.said if REFUSED.match(line)]
        assert [line for line in self.said if line not in refused] == []
        assert len(refused) == self.refusals
        assert {urlsplit(url).hostname for url in self.asked} == {"127.0.0.1"}


@pytest.fixture
def visit(browser, server):
    one = Visit(browser, server.address)
    yield one
    one.check()
    for context in one.contexts:
        context.close()


def translated(page, text=QUESTION, expected=ANSWER):
    """Type a text and wait for its translation."""
    page.locator("#source").press_sequentially(text)
    expect(page.locator(".result .translation").first).to_have_text(expected)
    return page


def marks(page):
    """The marked words of the source, each with its weight."""
    return {mark.inner_text(): float(mark.get_attribute("data-weight")) for mark in page.locator("mark").all()}


def word(page, text):
    return page.locator(".translation .word", has_text=re.compile(f"^{re.escape(text)}$")).first


def test_what_is_typed_is_translated_after_a_pause_and_not_letter_by_letter(visit):
    page = visit()
    expect(page.locator("#source")).to_be_focused()
    expect(page.locator(".translation")).to_have_text("The translation appears here")
    translated(page)
    expect(page.locator(".sure")).to_have_text("confident, 96%")
    expect(page.locator(".time")).to_have_text(re.compile(r"^\d+ ms$"))
    expect(page.locator("#count")).to_have_text("14 / 500")
    expect(page.locator("#status")).to_have_text(ANSWER)
    expect(page.locator("#trace")).to_have_text("Point at a word of a translation to see where it comes from.")
    assert sum(url.endswith("/translate") for url in visit.asked) == 1
    expect(page.locator("#source-language")).to_have_text("French")
    expect(page.locator("#target-language")).to_have_text("English")
    page.locator("#clear").click()
    expect(page.locator(".translation")).to_have_text("The translation appears here")
    expect(page.locator("#source")).to_be_focused()


def test_an_answer_to_an_older_text_is_dropped(visit):
    page, held = visit(), []
    page.route("**/translate", lambda route: held.append(route), times=1)
    page.locator("#source").fill("chat")
    expect(page.locator(".result.waiting")).to_be_visible()
    page.locator("#source").fill("chat noir")
    expect(page.locator(".translation")).to_have_text("cat black")
    expect(page.locator(".result.waiting")).to_have_count(0)
    with contextlib.suppress(playwright.Error):  # the page has given it up
        held[0].fulfill(json={"translatedText": "cat", "confidence": -0.1})
    page.wait_for_timeout(300)
    expect(page.locator(".translation")).to_have_text("cat black")


def test_a_word_shows_the_words_of_the_source_that_it_comes_from(visit):
    page = translated(visit())
    word(page, "station").hover()
    expect(page.locator("mark")).to_have_text(["gare"])
    assert marks(page) == {"gare": 0.9}  # of two pieces each
    expect(page.locator("#trace")).to_have_text("station ← gare 90%")
    word(page, "is").hover()
    expect(page.locator("mark")).to_have_text(["est"])
    page.locator("#source").hover()
    expect(page.locator("mark")).to_have_count(0)
    assert sum(url.endswith("/attention") for url in visit.asked) == 1  # for the whole sentence
    word(page, "station").click()  # stays
    page.locator("#source").hover()
    expect(page.locator("mark")).to_have_text(["gare"])
    page.locator(".brand").click()
    expect(page.locator("mark")).to_have_count(0)


def test_marks_stand_behind_their_words(visit):
    page = translated(visit(), "Où est la gare\nchat noir", "Where is the station\ncat black")
    word(page, "black").hover()
    expect(page.locator("mark")).to_have_text(["noir"])
    mirror, source = (page.locator(one).bounding_box() for one in ("#mirror", "#source"))
    assert mirror == source
    assert (
        page.evaluate(
            """() => ["fontSize", "fontFamily", "lineHeight", "padding", "letterSpacing", "whiteSpace"].filter((name) =>
            getComputedStyle(mirror)[name] !== getComputedStyle(source)[name])"""
        )
        == []
    )


def test_a_system_without_attention_says_so(visit):
    page = translated(visit("#systems=toy_fr_en-bpe_1k-rnn_encdec-tiny"), expected="Where is the library")
    expect(page.locator(".sure")).to_have_text("half sure, 66%")
    word(page, "library").hover()
    kindly = "rnn_encdec has no attention: it reads the whole sentence into one vector, so no word stands out."
    expect(page.locator("#trace")).to_have_text(kindly)
    expect(page.locator("mark")).to_have_count(0)
    page.get_by_role("button", name="Attention", exact=True).click()
    expect(page.locator(".fold .hint")).to_have_text(kindly)


def test_a_longer_text_is_explained_sentence_by_sentence(visit):
    page = visit()
    page.locator("#source").fill("La gare dort . Le chat")
    expect(page.locator(".translation")).to_have_text("The station sleeps . Le cat")
    word(page, "cat").hover()
    expect(page.locator("mark")).to_have_text(["chat"])
    page.get_by_role("button", name="Attention", exact=True).click()
    expect(page.locator(".heat tbody th").first).to_have_text("The")
    page.get_by_role("combobox", name="Sentence").select_option("2: Le chat")
    expect(page.locator(".heat tbody th").first).to_have_text("Le")


def test_a_new_text_has_its_words_while_the_heat_map_is_open(visit):
    page = translated(visit())
    page.get_by_role("button", name="Attention", exact=True).click()
    expect(page.locator(".heat tbody th").first).to_have_text("Wh")
    page.locator("#source").fill("La gare dort")
    expect(page.locator(".translation")).to_have_text("The station sleeps")
    expect(page.locator(".heat tbody th").first).to_have_text("The")
    word(page, "sleeps").hover()
    expect(page.locator("mark")).to_have_text(["dort"])


def test_the_heat_map_is_that_of_the_sentence_last_chosen(visit):
    """Also if that of another comes later."""
    held = []

    def hold(route):
        if "Le chat" in route.request.post_data:
            held.append(route)
        else:
            route.continue_()

    page = visit()
    page.route("**/attention", hold)
    page.locator("#source").fill("La gare dort . Le chat")
    expect(page.locator(".translation")).to_have_text("The station sleeps . Le cat")
    page.get_by_role("button", name="Attention", exact=True).click()
    expect(page.locator(".heat tbody th").first).to_have_text("The")
    choice = page.get_by_role("combobox", name="Sentence")
    choice.select_option("2: Le chat")
    choice.select_option(index=0)
    with page.expect_response("**/attention"):
        held[0].continue_()
    page.wait_for_timeout(200)
    expect(page.locator(".heat tbody th").first).to_have_text("The")


def test_the_heat_map_has_layers_and_heads(visit):
    page = translated(visit())
    button = page.get_by_role("button", name="Attention", exact=True)
    expect(button).to_have_attribute("aria-expanded", "false")
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_label("Layer").locator("option:checked")).to_have_text("Cross-attention, layer 2")
    expect(page.locator(".heat thead th")).to_have_text(["Où", "est", "la", "ga", "re", "end"])
    expect(page.locator(".heat tbody th")).to_have_text(["Wh", "ere", "is", "the", "st", "ation", "end"])
    page.locator(".heat tbody td").first.hover()
    expect(page.locator(".cell")).to_have_text("Wh ← Où: 0.90")
    page.get_by_label("Layer").select_option("Encoder self-attention, layer 1")
    page.get_by_label("Head").select_option("2")
    expect(page.locator(".heat tbody th")).to_have_text(["Où", "est", "la", "ga", "re", "end"])
    page.get_by_label("Head").press("Escape")
    expect(page.locator(".heat")).to_have_count(0)
    expect(button).to_be_focused()


def test_alternatives_come_on_a_click_with_differences_marked(visit):
    page = translated(visit())
    page.get_by_role("button", name="Alternatives").click()
    rows = page.locator(".others li")
    expect(rows).to_have_count(2)
    expect(rows.first.locator("[lang=en]")).to_have_text("Where is the station indeed")
    expect(rows.first.locator(".differs")).to_have_text(["indeed"])
    page.get_by_role("button", name="Alternatives").click()
    expect(rows).to_have_count(0)


def test_translations_are_copied(visit):
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    translated(page)
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == ANSWER
    page.get_by_role("button", name="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url
    other = visit(link.removeprefix(visit.address + "/"))
    expect(other.locator(".translation")).to_have_text(ANSWER)


def test_all_systems_side_by_side(visit):
    page = translated(visit())
    page.get_by_role("button", name="Compare all 6").click()
    results = page.locator(".result")
    expect(results).to_have_count(6)
    expect(results.locator("h3")).to_have_text(
        ["transformer_postnorm", "gru_attention", "transformer_prenorm", "rnnsearch", "rnn_encdec", "bilstm_attention"]
    )
    expect(results.nth(5).locator(".translation")).to_have_text("Where is the beach")
    expect(results.nth(5).locator(".sure")).to_have_text("unsure, 50%")
    expect(page.locator(".time")).to_have_text([re.compile(r"^\d+ ms$")] * 6)
    expect(page.locator(".translation .differs")).to_have_text(["library", "beach"])
    expect(page.locator("#legend")).to_be_visible()
    results.nth(3).locator(".word").last.hover()
    expect(page.locator("mark")).to_have_text(["gare"])
    assert page.url.endswith("#q=O%C3%B9+est+la+gare&pair=fr-en&systems=all")
    page.locator(".chip", has_text="bilstm").click()
    expect(results).to_have_count(5)
    page.get_by_role("button", name="Compare all 6").click()
    page.get_by_role("button", name="Only the best").click()
    expect(results).to_have_count(1)
    page.locator(".chip[aria-pressed=true]").click()  # the last one stays
    expect(results).to_have_count(1)
    asked = [url for url in visit.asked if url.endswith("/translate")]
    assert len(asked) == 6  # what was answered is not asked again


def test_languages_are_swapped_where_the_way_back_is_loaded(visit):
    page = translated(visit())
    page.get_by_role("button", name="Swap languages").click()
    expect(page.locator("#source")).to_have_value(ANSWER)
    expect(page.locator(".translation")).to_have_text(QUESTION)
    expect(page.locator("#source-language")).to_have_text("English")
    expect(page.locator("#examples")).to_be_hidden()
    page.get_by_role("combobox", name="Languages").select_option("French → English")
    expect(page.locator("#examples")).to_be_visible()


def test_what_a_browser_may_keep(server):
    """Each text changes the address, and Chromium then wants the icon anew."""
    kept = {name: server.get(f"/{name}").headers["Cache-Control"] for name in ("", "page.js", "page.css", "icon.svg")}
    assert kept == {"": "no-cache", "page.js": "no-cache", "page.css": "no-cache", "icon.svg": "max-age=86400"}
    answer = server.get("/page.js")
    again = server.get("/page.js", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_examples_and_links(visit):
    page = visit()
    page.get_by_role("button", name="Où est la gare ?").click()
    expect(page.locator(".translation")).to_have_text(ANSWER + " ?")
    page.goto(page.url.replace("gare", "chat"))  # a link in the same tab
    expect(page.locator(".translation")).to_have_text("Where is the cat ?")


def test_a_model_without_a_card(visit):
    page = visit("#pair=en-fr")
    page.get_by_role("button", name="Model card of rnnsearch").click()
    expect(page.locator("#card-text")).to_have_text("This model came without a card.")


def test_model_cards_are_text_and_never_html(visit):
    page = visit()
    page.get_by_role("button", name="Model card of transformer_postnorm").click()
    card = page.get_by_role("dialog")
    expect(card.get_by_role("heading", level=2)).to_have_text("Model card: transformer_postnorm")
    expect(card.get_by_role("heading", level=3)).to_have_text(BEST)
    expect(card.locator("strong")).to_have_text("toy")
    expect(card.locator("td")).to_have_text(["BLEU", "97.0"])
    expect(card.locator("li")).to_have_text(["one <img src=x onerror=alert(1)>", "two"])
    expect(card.locator("img, script")).to_have_count(0)
    expect(card.get_by_role("link")).to_have_text(["the web"])
    expect(card.get_by_role("link")).to_have_attribute("rel", "noopener noreferrer")
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(page.get_by_role("button", name="Model card of transformer_postnorm")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_button_and_text_can_be_read(visit, scheme):
    other = {"light": "dark", "dark": "light"}[scheme]
    page = translated(visit("#systems=all", color_scheme=scheme))
    expect(page.locator(".translation .differs")).to_have_count(2)
    expect(page.locator("html")).to_have_attribute("data-theme", scheme)
    word(page, "station").hover()
    expect(page.locator("mark")).to_have_count(1)
    assert too_pale(page) == []
    page.get_by_role("button", name="Dark mode").click()
    expect(page.locator("html")).to_have_attribute("data-theme", other)
    assert too_pale(page) == []
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", other)


def too_pale(page):
    """Texts whose contrast with what they stand on is below CONTRAST."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)  # transitions
    found = page.evaluate(
        """() => {
            const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1})
                .getContext("2d", {willReadFrequently: true});
            const paint = (colours) => {
                canvas.clearRect(0, 0, 1, 1);
                for (const one of colours) { canvas.fillStyle = one; canvas.fillRect(0, 0, 1, 1); }
                return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
            };
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            const found = [];
            while (walker.nextNode()) {
                const element = walker.currentNode.parentElement;
                const box = element.getBoundingClientRect();
                if (!walker.currentNode.data.trim() || !element.checkVisibility() || box.width < 2) continue;
                if (element.closest(".unseen, .mirror, .skip")) continue;
                const grounds = [];
                for (let at = element; at; at = at.parentElement) grounds.unshift(getComputedStyle(at).backgroundColor);
                const ink = getComputedStyle(element).color;
                found.push([walker.currentNode.data, paint([...grounds, ink]), paint(grounds)]);
            }
            return found;
        }"""
    )
    assert len(found) > 30
    return [text for text, ink, ground in found if contrast(ink, ground) < CONTRAST]


def contrast(one, other):
    """The ratio of WCAG 2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    parts = [value / 255 for value in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_contrast():
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((118, 118, 118), (255, 255, 255)) == pytest.approx(4.54, abs=0.01)


def test_a_phone_shows_everything_without_sideways_scrolling(visit):
    page = visit("#systems=all", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    long = "w" * 60
    page.locator("#source").fill(f"{QUESTION} {long}")
    expect(page.locator(".translation").last).to_have_text(f"Where is the beach {long}")
    for button in ("Alternatives", "Attention"):
        page.get_by_role("button", name=button, exact=True).first.tap()
    expect(page.locator(".heat")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    word(page.locator(".result").last, "beach").tap()
    expect(page.locator("mark")).to_have_text(["gare"])
    expect(page.locator("mark")).to_be_in_viewport()  # the text stays in sight
    word(page.locator(".result").last, "beach").tap()
    expect(page.locator("mark")).to_have_count(0)
    page.get_by_role("button", name="Model card of").first.tap()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    dialog = page.get_by_role("dialog").bounding_box()
    assert dialog["x"] >= 0
    assert dialog["x"] + dialog["width"] <= 360


def test_everything_is_reached_by_keys(visit):
    page = visit()
    page.keyboard.type(QUESTION)
    expect(page.locator(".translation")).to_have_text(ANSWER)
    seen = []
    for _ in range(14):
        page.keyboard.press("Tab")
        seen.append(focused(page))
        assert outlined(page), seen[-1]
        if seen[-1] == "Copy":
            break
    assert seen == [
        *("Clear", "Copy link", "Model card of transformer_postnorm", "Where", "Alternatives", "Attention", "Copy")
    ]
    for _ in range(3):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("End")
    assert focused(page) == "station"
    expect(page.locator("mark")).to_have_text(["gare"])
    expect(page.locator("#status")).to_have_text("station ← gare 90%")  # said, too
    page.keyboard.press("ArrowLeft")
    expect(page.locator("mark")).to_have_text(["la"])
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("mark")).to_have_text(["la"])
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Escape")
    expect(page.locator("mark")).to_have_count(0)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".others li")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.locator(".others li")).to_have_count(0)
    assert focused(page) == "Alternatives"


def focused(page):
    """What the focus is on, as a screen reader names it."""
    return page.evaluate(
        "document.activeElement.getAttribute('aria-label') ?? (document.activeElement.innerText || '').trim()"
    )


def outlined(page):
    return page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth) >= 2")


def test_everything_has_a_name_for_screen_readers(visit):
    page = translated(visit("#systems=all"))
    for button in ("Alternatives", "Attention"):
        page.get_by_role("button", name=button, exact=True).first.click()
    expect(page.locator(".heat")).to_be_visible()
    nameless = re.compile(
        r"- (button|textbox|combobox|link|dialog|img|region|group)(?: \[[^\]]*\])*(?::.*)?$", re.MULTILINE
    )
    tree = page.locator("body").aria_snapshot()
    assert nameless.findall(tree) == []
    for part in ('textbox "French"', 'group "Systems"', 'article "rnnsearch"', "banner", "main", "contentinfo"):
        assert part in tree, part
    assert page.locator("#status").get_attribute("aria-live") == "polite"


def test_a_text_that_is_too_long_is_not_sent(visit):
    page = visit()
    page.locator("#source").fill("chat " * 101)
    expect(page.locator("#count")).to_have_text("505 / 500")
    expect(page.locator("#source")).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".error")).to_contain_text("The text is longer than this server accepts: 500 characters.")
    page.locator("#source").fill("chat")
    expect(page.locator(".translation")).to_have_text("cat")
    expect(page.locator(".error")).to_be_hidden()
    assert sum(url.endswith("/translate") for url in visit.asked) == 1


def test_errors_are_shown_in_their_place_and_tried_again(visit):
    visit.refusals = 1
    page = visit()
    page.locator("#source").fill(dictionary.BROKEN)
    refusal = "engine: cannot translate this, got ValueError: out of order; expected another sentence"
    expect(page.locator(".error span")).to_have_text(refusal)
    expect(page.locator("#status")).to_have_text(refusal)
    page.locator("#source").fill(QUESTION)
    expect(page.locator(".translation")).to_have_text(ANSWER)


def test_a_server_that_loads_its_models_is_asked_again(visit):
    visit.refusals = 1
    loading = {"status": 503, "headers": {"Retry-After": "1"}, "json": {"error": "server: still loads its models"}}

    def prepare(page):
        page.route("**/systems", lambda route: route.fulfill(**loading), times=1)
        page.add_init_script(
            """new MutationObserver(() => { window.noticed ||= document.getElementById("notice")?.innerText; })
                .observe(document, {subtree: true, childList: true, attributes: true})"""
        )

    page = visit(prepare=prepare)
    assert page.evaluate("noticed").split("\n")[0] == "server: still loads its models"
    expect(page.get_by_role("alert")).to_be_hidden()


@pytest.mark.parametrize(
    ("address", "answer", "button", "said"),
    [
        (
            "translate",
            {"status": 502, "body": "<h1>Bad gateway</h1>"},
            None,
            "The server answered with status 502 and no reason.",
        ),
        (
            "translate",
            {"json": {"translatedText": ANSWER, "alternatives": [], "confidence": None}},
            "Alternatives",
            "This search found no other wording.",
        ),
        ("translate", {"json": {"translatedText": ANSWER, "confidence": None}}, "Attention", None),
        (
            "attention",
            {"json": {"text": "What is this", "source": ["a"], "target": ["b"], "weights": {"cross": [[[1]]]}}},
            "is",
            "The system explains another wording than this one.",
        ),
        (
            "attention",
            {"json": {"text": "", "source": ["</s>"], "target": ["▁is"], "weights": {"cross": [[[1]]]}}},
            "is",
            "is ← no word in particular",
        ),
        ("attention", {"status": 504, "json": {"error": "server: no translation within 60 s"}}, "is", None),
    ],
)
def test_what_else_the_server_may_answer(visit, address, answer, button, said):
    visit.refusals = int("status" in answer)
    page = visit()
    page.route(f"**/{address}", lambda route: route.fulfill(**answer))
    page.locator("#source").fill(QUESTION)
    if button == "is":
        word(page, "is").hover()
        expect(page.locator("#trace")).to_have_text(said or answer["json"]["error"])
    elif button == "Attention":
        expect(page.locator(".translation")).to_have_text(ANSWER)
        expect(page.locator(".sure")).to_be_hidden()
    elif button:
        page.get_by_role("button", name=button).click()
        expect(page.locator(".others")).to_have_text(said)
    else:
        expect(page.locator(".error span")).to_have_text(said)


def test_without_scripts_the_page_says_how_to_ask(server, browser):
    page = browser.new_page(java_script_enabled=False)
    page.goto(server.address)
    assert "This page needs JavaScript. The API does not: send POST /translate." in page.locator("main").inner_text()
    page.close()


def test_a_busy_server_is_asked_again_when_it_says(visit):
    visit.refusals = 1
    page = visit()
    answers = iter(
        [{"status": 503, "headers": {"Retry-After": "2"}, "json": {"error": "queue: is full; expected less"}}]
    )
    page.route(
        "**/translate", lambda route: route.fulfill(**one) if (one := next(answers, None)) else route.continue_()
    )
    page.locator("#source").fill(QUESTION)
    expect(page.locator(".error span")).to_have_text("queue: is full; expected less")
    expect(page.locator(".translation")).to_have_text(ANSWER)
    expect(page.locator(".error")).to_be_hidden()


def test_one_pair_behind_a_key_on_a_server_that_ends(visit, folders, tmp_path):
    visit.refusals = 1
    with serving(folders[:2], tmp_path / "log", keys=["secret"]) as server:
        page = visit(address=server.address)
        expect(page.locator(".chip")).to_have_count(2)
        expect(page.locator("#swap")).to_be_hidden()
        expect(page.locator("#pair")).to_be_hidden()
        notice = page.get_by_role("alert")
        expect(notice).to_contain_text("This server answers those who have an API key.")
        page.locator("#source").fill(QUESTION)
        notice.get_by_role("button", name="Enter a key").click()
        enter_key(page, "wrong")
        expect(page.locator(".error")).to_contain_text("api_key: is not valid")
        page.locator(".error").get_by_role("button", name="Enter a key").click()
        enter_key(page, "secret")
        expect(page.locator(".translation")).to_have_text(ANSWER)
        kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])")
        assert "secret" not in kept
        page.reload()
        expect(notice).to_be_visible()
        notice.get_by_role("button", name="Enter a key").click()
        enter_key(page, "secret")
        expect(page.locator(".translation")).to_have_text(ANSWER)
    page.locator("#source").fill("chat")
    expect(page.locator(".error span")).to_have_text("The server does not answer. Is `nmt serve` still running?")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    assert visit.said.pop() == "Failed to load resource: net::ERR_CONNECTION_REFUSED"


def enter_key(page, key):
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_role("button", name="Use this key").click()
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_the_picture_of_the_documents(browser, server, tmp_path):
    page_picture.draw(browser, server.address, tmp_path / "page.png")
    with image.open(tmp_path / "page.png") as found:
        assert (found.width, found.mode) == (1600, "P")
        assert 600 < found.height < 1600


@pytest.fixture(scope="module")
def script(browser, server):
    """Runs the page's own functions."""
    page = browser.new_page()
    page.goto(server.address)
    yield lambda name, *given: page.evaluate(
        "async ([name, given]) => (await import('/words.js'))[name](...given)", [name, given]
    )
    page.close()


PLACES = [  # pieces, text, the parts of the text that they stand for
    (["▁Où", "▁est", "</s>"], "Où est", ["Où", "est", None]),
    (["▁l", "'", "eau", "▁?", "</s>"], "l'eau ?", ["l", "'", "eau", "?", None]),
    (["▁", "fi", "n"], "  ﬁn", [None, "ﬁ", "n"]),  # a ligature is two letters, as SentencePiece normalises
    (["▁ét", "é"], "e\u0301te\u0301", ["e\u0301t", "e\u0301"]),
    (["▁un", "▁", "<unk>", "▁chat"], "un 🦉 chat", ["un", None, "🦉", "chat"]),
    (["▁🦉", "▁b"], "🦉 b", ["🦉", "b"]),
    (["The", "cat", "."], "The cat.", ["The", "cat", "."]),  # words, without marks of spaces
]


@pytest.mark.parametrize(("pieces", "text", "expected"), PLACES)
def test_pieces_are_found_in_the_text(script, pieces, text, expected):
    units = text.encode("utf-16-le")  # JavaScript counts these
    found = [span and units[2 * span[0] : 2 * span[1]].decode("utf-16-le") for span in script("locate", pieces, text)]
    assert found == expected


WORDS = [
    ("L'eau, s'il vous plaît !", "fr", ["L'", "eau", ",", "s'", "il", "vous", "plaît", "!"]),
    ("I don't know.", "en", ["I", "don't", "know", "."]),
    ("", "en", []),
]


@pytest.mark.parametrize(("text", "language", "expected"), WORDS)
def test_words_of_a_text(script, text, language, expected):
    assert [word["text"] for word in script("words", text, language)] == expected


def test_differing_words(script):
    assert script("differing", ["a", "b", "c"], ["a", "c"]) == [False, True, False]
    assert script("differing", ["a"], []) == [True]
    assert script("differing", [], ["a"]) == []
