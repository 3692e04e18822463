"""The page of `nmt serve` in a real browser: what a person types, reads, points at and clicks."""

import re
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
import uvicorn

from pipeline.serving import app
from pipeline.serving.service import Options
from tests.toys import browsers
from tests.toys.engines import BROKEN, ENGINES

playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here: pip install playwright")
expect = playwright.expect
pytestmark = pytest.mark.slow

FLAGS = ("--no-sandbox", "--disable-quic", "--disable-gpu")
QUESTION, ANSWER = "Où est la gare", "Where is the station"
WAIT_MILLISECONDS = 20_000  # on a busy machine; what is there goes on at once


@pytest.fixture(scope="module")
def address():
    """The address of a function's server with some options; all end with the module."""
    servers = []

    def start(**options):
        application = app.create(ENGINES, Options(characters=500, **options))
        config = uvicorn.Config(application, port=0, log_level="warning", headers=app.HEADERS)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        servers.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"

    yield start
    for server, thread in servers:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def open_server(address):
    return address()


@pytest.fixture(scope="module")
def browser():
    path = browsers.chromium()
    expect.set_options(timeout=WAIT_MILLISECONDS)
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path, args=[*FLAGS])
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, open_server):
    """Opens a page; what it says in the console and whom it asks is checked at the end."""
    contexts, console, asked = [], [], []

    def open_page(fragment="", address=open_server, **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 860}} | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_MILLISECONDS)
        page.on("console", lambda message: console.append(message.text))
        page.on("pageerror", lambda error: console.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/{fragment}")
        expect(page.locator(".chip").first).to_be_visible()
        return page

    yield open_page
    assert [line for line in console if not line.startswith("Failed to load resource")] == []
    assert {urlsplit(url).hostname for url in asked} == {"127.0.0.1"}
    for context in contexts:
        context.close()


def translated(page, text=QUESTION, expected=ANSWER):
    page.locator("#source").press_sequentially(text)
    expect(page.locator(".result .translation").first).to_have_text(expected)
    return page


def word(page, text):
    return page.locator(".translation .word", has_text=re.compile(f"^{re.escape(text)}$")).first


def test_typing_translates_and_a_word_shows_where_it_comes_from(visit):
    page = translated(visit())
    expect(page.locator(".sure")).to_have_text("confident, 100%")
    expect(page.locator("#count")).to_have_text("14 / 500")
    word(page, "station").hover()
    expect(page.locator("mark")).to_have_text(["gare"])
    expect(page.locator("#trace")).to_have_text("station ← gare 100%")
    page.locator("#clear").click()
    expect(page.locator(".translation")).to_have_text("The translation appears here")


def test_an_answer_to_an_older_text_is_dropped(visit):
    page, held = visit(), []
    page.route("**/translate", lambda route: held.append(route), times=1)
    page.locator("#source").fill("chat")
    expect(page.locator(".result.waiting")).to_be_visible()
    page.locator("#source").fill("chat noir")
    expect(page.locator(".translation")).to_have_text("cat black")
    with suppress(playwright.Error):  # the page has given it up
        held[0].fulfill(json={"translatedText": "cat", "confidence": 0.1, "sentences": []})
    page.wait_for_timeout(300)
    expect(page.locator(".translation")).to_have_text("cat black")


def test_each_sentence_has_a_heat_map_of_its_own(visit):
    page = visit()
    page.locator("#source").fill("La gare dort. Le chat")
    expect(page.locator(".translation")).to_have_text("The station sleeps. Le cat")
    word(page, "cat").hover()
    expect(page.locator("mark")).to_have_text(["chat"])
    page.get_by_role("button", name="Attention", exact=True).click()
    expect(page.locator(".heat tbody th").first).to_have_text("The")
    page.get_by_role("combobox", name="Sentence").select_option("2: Le chat")
    expect(page.locator(".heat thead th")).to_have_text(["Le", "chat", "end"])


def test_other_wordings(visit):
    page = translated(visit())
    page.get_by_role("button", name="Alternatives").click()
    rows = page.locator(".others li")
    expect(rows).to_have_count(2)
    expect(rows.first.locator(".differs")).to_have_text(["indeed"])


def test_systems_side_by_side_the_best_first(visit):
    page = translated(visit())
    expect(page.locator(".chip")).to_have_text(["transformer_prenormBLEU 94.5", "rnnsearchBLEU 94.0"])
    page.get_by_role("button", name="Compare all 2").click()
    expect(page.locator(".result h3")).to_have_text(["transformer_prenorm", "rnnsearch"])
    expect(page.locator(".result .translation")).to_have_text([ANSWER, ANSWER])
    assert page.url.endswith("#q=O%C3%B9+est+la+gare&pair=fr-en&systems=all")
    other = visit("#" + page.url.partition("#")[2])  # the link, opened by somebody else
    expect(other.locator(".result .translation")).to_have_text([ANSWER, ANSWER])


def test_languages_are_swapped(visit):
    page = translated(visit())
    page.get_by_role("button", name="Swap languages").click()
    expect(page.locator("#source")).to_have_value(ANSWER)
    expect(page.locator(".translation")).to_have_text(QUESTION)


def test_a_model_card_is_no_script(visit):
    page = visit()
    page.get_by_role("button", name="Model card of transformer_prenorm").click()
    card = page.get_by_role("dialog")
    expect(card.locator("strong")).to_have_text("toy")
    expect(card.locator("#card-text")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(card.locator("img, script, #card-text a")).to_have_count(0)


def test_what_is_refused_is_said_in_its_place(visit):
    page = visit()
    page.locator("#source").fill("chat " * 101)
    expect(page.locator(".error")).to_contain_text("The text is longer than this server accepts: 500 characters.")
    page.locator("#source").fill(BROKEN)
    expect(page.locator(".error span")).to_contain_text("cannot translate this; the server's log says why")
    page.locator("#source").fill(QUESTION)
    expect(page.locator(".translation")).to_have_text(ANSWER)
    expect(page.locator(".error")).to_be_hidden()


def test_a_key_is_asked_for_and_not_kept(visit, address):
    page = visit(address=address(keys=["secret"]))
    page.locator("#source").fill(QUESTION)
    for key, place, text in (("wrong", ".error", "api_key: is not valid"), ("secret", ".translation", ANSWER)):
        page.get_by_role("button", name="Enter a key").first.click()
        page.get_by_label("Key", exact=True).fill(key)
        page.get_by_role("button", name="Use this key").click()
        expect(page.locator(place)).to_contain_text(text)
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])")
    assert "secret" not in kept


def test_a_telephone_shows_all_without_scrolling_sideways(visit):
    page = visit("#systems=all", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.locator("#source").fill(f"{QUESTION}. {'w' * 60} chat")
    expect(page.locator(".translation").last).to_contain_text("station")
    for button in ("Alternatives", "Attention"):
        page.get_by_role("button", name=button, exact=True).first.tap()
    expect(page.locator(".heat")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_all_is_reached_by_keys(visit):
    page, seen = translated(visit()), []
    while "Copy" not in seen and len(seen) < 14:
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.innerText.trim()"))
    names = ["Clear", "Copy link", "Model card of transformer_prenorm", "Where", "Alternatives", "Attention", "Copy"]
    assert seen == names
    for _ in range(3):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("End")
    expect(page.locator("mark")).to_have_text(["gare"])
    expect(page.locator("#status")).to_have_text("station ← gare 100%")  # said to screen readers, too


def test_a_tag_is_one_word_and_no_piece(visit):
    script = (
        "import('./words.js').then((m) => [m.words(text).map((word) => word.text), m.locate(['▁un', '▁chat'], text)])"
    )
    words, places = visit().evaluate(f"(text) => {script}", "un <b id='1'>chat</b> {nom}")
    assert words == ["un", "<b id='1'>", "chat", "</b>", "{nom}"]
    assert places == [[0, 2], [13, 17]]
