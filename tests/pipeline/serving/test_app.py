"""The application of `nmt serve`, with engines that translate word by word."""

import threading
import time

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
    several = server.post("/translate", json={"q": ["chat", "", "42 ...", "noir\nchat"], **FRENCH}).json()
    assert several["translatedText"] == ["cat", "", "42 ...", "black\ncat"]


def test_a_request_without_a_sentence_keeps_none_waiting(client):
    server = client()
    for text, expected in (("42", "42"), ("chat", "cat")):
        assert server.post("/translate", json={"q": text, **FRENCH}).json()["translatedText"] == expected


def test_a_form_as_libretranslate_takes(client):
    answer = client().post("/translate", data={"q": "chat noir", "source": "fr", "target": "en", "format": "text"})
    assert answer.json()["translatedText"] == "cat black"


def test_alternatives_begin_after_the_best(client):
    answer = client().post("/translate", json={"q": "chat", "alternatives": 2, **FRENCH}).json()
    assert (answer["translatedText"], answer["alternatives"]) == ("cat", ["cat indeed", "cat indeed indeed"])


def test_the_language_is_that_of_the_surest_system(client):
    server = client()
    for text, language, target in (("le chat dort", "fr", "en"), ("the cat sleeps", "en", "fr")):
        answer = server.post("/translate", json={"q": text, "source": "auto", "target": target}).json()
        assert answer["detectedLanguage"]["language"] == language


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
    ],
)
def test_what_is_refused(client, body, status, error):
    answer = client(characters=100).post("/translate", json=body)
    assert answer.status_code == status
    assert error in answer.json()["error"]


def test_a_key_is_wanted(client):
    server = client(keys=["secret"], host="0.0.0.0")
    body = {"q": "chat", **FRENCH}
    assert server.post("/translate", json=body).status_code == 403
    assert server.post("/translate", json=body | {"api_key": "other"}).status_code == 403
    assert server.post("/translate", json=body | {"api_key": "secret"}).status_code == 200
    assert server.get("/metrics").status_code == 403
    assert server.get("/metrics", headers={"Authorization": "Bearer secret"}).status_code == 200
    assert server.get("/health").status_code == 200


def test_another_host_name_is_refused(client):
    assert client().get("/systems", headers={"Host": "evil.example"}).status_code == 400


def test_a_failure_of_an_engine_is_its_own(client):
    server = client()
    assert server.post("/translate", json={"q": "panne", **FRENCH}).status_code == 500
    assert server.post("/translate", json={"q": "chat", **FRENCH}).json()["translatedText"] == "cat"
    text = server.get("/metrics").text
    assert 'nmt_requests_total{status="500"} 1.0' in text


def test_health_answers_while_a_long_request_is_translated(client):
    class Slow(WordEngine):
        def translate(self, lines, number):
            time.sleep(0.3)
            return super().translate(lines, number)

    server = client(engines=[Slow()])
    long = {"q": "chat.\n" * 300, **FRENCH}
    thread = threading.Thread(target=lambda: server.post("/translate", json=long))
    thread.start()
    time.sleep(0.1)
    began = time.monotonic()
    assert server.get("/health").status_code == 200
    assert time.monotonic() - began < 0.25
    thread.join()


def test_the_page_is_served(client):
    page = client().get("/")
    assert page.status_code == 200
    assert "script" in page.text
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
