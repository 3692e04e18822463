"""The application of `nmt serve`, with engines that translate word by word."""

import json
import threading
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pipeline.serving import app
from pipeline.serving.service import Options
from tests.toys.engines import ENGINES, WordEngine

BEST = ENGINES[0].config.system
FRENCH = {"source": "fr", "target": "en"}


@pytest.fixture
def client():
    """A client of a server with three systems; `client(keys=...)` has other options."""
    opened = []

    def open_client(engines=ENGINES, **options):
        server = TestClient(app.create(engines, Options(**options)), base_url="http://localhost")
        opened.append(server.__enter__())
        return server

    yield open_client
    for server in opened:
        server.__exit__(None, None, None)


def test_a_text_and_a_list(client):
    server = client()
    answer = server.post("/translate", json={"q": "Le chat dort. Où est la gare ?", **FRENCH}).json()
    assert answer["translatedText"] == "Le cat sleeps. Where is the station ?"
    assert answer["system"] == BEST
    assert len(answer["sentences"]) == 2
    assert server.post("/translate", json={"q": "42", **FRENCH}).json()["translatedText"] == "42"  # no sentence at all
    form = server.post("/translate", data={"q": "chat noir", "format": "text", **FRENCH})  # as LibreTranslate takes it
    assert form.json()["translatedText"] == "cat black"
    several = server.post("/translate", json={"q": ["chat", "", "42 ...", "noir\nchat"], **FRENCH}).json()
    assert several["translatedText"] == ["cat", "", "42 ...", "black\ncat"]


def test_alternatives_begin_after_the_best(client):
    answer = client().post("/translate", json={"q": "chat", "alternatives": 2, **FRENCH}).json()
    assert (answer["translatedText"], answer["alternatives"]) == ("cat", ["cat indeed", "cat indeed indeed"])


def test_a_language_is_detected(client):
    server = client(engines=[toy(pair) for pair in ("fr-en", "en-fr", "de-en")])
    for text, language, target in (
        ("le chat dort sur le lit", "fr", "en"),
        ("the cat sleeps on the bed", "en", "fr"),
        ("die Katze schläft auf dem Bett", "de", "EN"),
    ):
        answer = server.post("/translate", json={"q": text, "source": "auto", "target": target}).json()
        assert answer["detectedLanguage"]["language"] == language
        assert server.post("/detect", data={"q": text}).json()[0]["language"] == language


@pytest.mark.parametrize(
    ("source", "target", "system"),
    [
        *[(source, target, "fr-en") for source, target in (("fr-FR", "en"), ("FR", "EN"), ("fr", "en-US"))],
        *[("fr_CA", "eng", "fr-en"), ("de-AT", "en", "de-en"), ("de", "pt", "de-pt_BR"), ("de", "pt-br", "de-pt_BR")],
        *[("de", "pt-PT", None), ("zh", "en", None), ("zh-Hans", "en", "zh-Hans-en"), ("frr", "en", None)],
    ],
)
def test_codes_of_languages(client, source, target, system):
    """A region falls back to its language, a language to its only region, nothing to another one."""
    engines = [toy(pair) for pair in ("fr-en", "de-AT-fr", "de-en", "de-pt_BR", "zh-Hans-en", "zh-Hant-en")]
    answer = client(engines=engines).post("/translate", json={"q": "chat", "source": source, "target": target})
    assert answer.json().get("system") == system


def toy(pair):
    """An engine that is called like its languages."""
    engine = WordEngine()
    source, _, target = pair.rpartition("-")
    engine.config.source_language, engine.config.target_language, engine.pair = source, target, (source, target)
    engine.config.system = pair
    return engine


def test_two_systems_of_one_id_are_told_apart_by_their_folders(client):
    engines = [WordEngine(), WordEngine(), WordEngine()]
    for engine in engines[1:]:
        engine.folder, engine.lexicon = Path("work/before"), {"chat": "moggy"}
    server = client(engines=engines)
    names = [system["system"] for system in server.get("/systems").json()["systems"]]
    system = engines[0].config.system
    assert names == [f"{system}@models", f"{system}@before", f"{system}@before+"]
    for name, translation in zip([*names, system], ["cat", "moggy", "moggy", "cat"], strict=True):
        answer = server.post("/translate", json={"q": "chat", "system": name, **FRENCH}).json()
        assert answer["translatedText"] == translation
    assert server.get(f"/card/{names[1]}").status_code == 200


def test_systems_languages_and_cards(client):
    server = client()
    assert [system["score"] for system in server.get("/systems").json()["systems"]] == [94.5, 94.0, 94.0]
    assert {entry["code"]: entry["targets"] for entry in server.get("/languages").json()} == {
        "en": ["fr"],
        "fr": ["en"],
    }
    html = server.get(f"/card/{BEST}").json()["html"]
    assert "<strong>toy</strong>" in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert server.get("/card/other").status_code == 404


def test_attention(client):
    answer = client().post("/attention", json={"q": "le chat", "system": BEST}).json()
    assert answer["target"] == ["▁le", "▁cat", "</s>"]


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"q": "chat", "source": "de", "target": "en"}, 400, "no such system, got de-en"),
        ({"q": "chat", "source": "fr"}, 400, "target: field required"),
        ({"q": "chat", "alternatives": 99, **FRENCH}, 400, "alternatives: "),
        ({"q": "chat " * 30, **FRENCH}, 413, "q: is too long, got 150 characters; expected at most 100"),
        ({"q": ["chat"] * 60, **FRENCH}, 413, "q: is too long"),
        ({"q": "x" * 100_000, **FRENCH}, 413, "body: is too long"),
        ({"q": [1] * 9_000, **FRENCH}, 400, "q.list[str].0: should be a valid string, got 1"),
    ],
)
def test_what_is_refused(client, body, status, error):
    answer = client(characters=100).post("/translate", json=body)
    assert answer.status_code == status
    assert error in answer.json()["error"]


@pytest.mark.parametrize("text", ["chat. " * 5_001, ["a"] * 5_001, "a " * 251_000, "chat\n\n" * 5_001])
def test_too_many_sentences_are_refused(client, text):
    answer = client(characters=1_000_000).post("/translate", json={"q": text, **FRENCH})
    assert answer.status_code == 413
    assert "expected at most 5,000 texts and sentences" in answer.json()["error"]


def test_another_page_cannot_ask_through_a_browser(client):
    server, form = client(), {"q": "chat", **FRENCH}
    assert "script" in server.get("/").text
    assert server.get("/", headers={"Host": "evil.example"}).status_code == 400
    text = {"content": json.dumps(form), "headers": {"Content-Type": "text/plain"}}
    assert server.post("/translate", **text).status_code == 415
    for origin, status in (("http://a.b", 403), ("null", 403), ("http://localhost", 200), ("moz-extension://a", 200)):
        assert server.post("/translate", data=form, headers={"Origin": origin}).status_code == status


def test_a_key_is_wanted(client):
    server = client(keys=["secret"], host="0.0.0.0")
    body = {"q": "chat", **FRENCH}
    assert server.post("/translate", json=body).status_code == 403
    assert server.post("/translate", json=body | {"api_key": "other"}).status_code == 403
    assert server.post("/translate", json=body | {"api_key": "secret"}).status_code == 200
    wrong = {"Authorization": "Bearer other", "Content-Type": "application/json"}
    assert server.post("/translate", content="no JSON", headers=wrong).status_code == 403
    assert server.post("/translate", json=body, headers={"Authorization": "Bearer secret"}).status_code == 200
    assert server.get("/health").status_code == 200


def test_a_failure_of_an_engine_is_its_own(client):
    server = client()
    assert server.post("/translate", json={"q": "panne", **FRENCH}).status_code == 500
    assert server.post("/translate", json={"q": "chat", **FRENCH}).json()["translatedText"] == "cat"


def test_others_are_answered_while_a_long_request_is_translated(client):
    class Slow(WordEngine):
        def translate(self, lines, number):
            time.sleep(0.3)
            return super().translate(lines, number)

    server = client(engines=[Slow()])
    long = {"q": "chat.\n" * 900, **FRENCH}
    thread = threading.Thread(target=lambda: server.post("/translate", json=long))
    thread.start()
    time.sleep(0.1)
    for ask, seconds in (
        (lambda: server.get("/health"), 0.25),
        (lambda: server.post("/translate", json={"q": "chat", **FRENCH}), 1.0),
        (lambda: server.post("/attention", json={"q": "chat"}), 1.0),
    ):
        began = time.monotonic()
        assert ask().status_code == 200
        assert time.monotonic() - began < seconds
    assert thread.is_alive()
    thread.join()
