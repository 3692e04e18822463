"""LibreTranslate's API, as its clients use it."""

import libretranslatepy
import pytest

TEXT = {"q": "Le chat dort. Il est là !", "source": "fr", "target": "en"}
SYSTEM = "toy_fr_en-bpe-rnnsearch-tiny"
OTHER = "toy_fr_en-bpe-transformer_prenorm-tiny"


def test_one_text(server):
    found = server.post("/translate", TEXT).json()
    assert found == {
        "translatedText": "dort. chat Le ! là est Il",
        "confidence": pytest.approx(-0.475),
        "sentenceConfidences": pytest.approx([-0.1, -0.85]),
        "system": SYSTEM,
    }


def test_a_list_of_texts(server):
    found = server.post("/translate", TEXT | {"q": ["a b", "", "c d\n"]}).json()
    assert found["translatedText"] == ["b a", "", "d c\n"]
    assert found["confidence"][1] is None
    assert found["sentenceConfidences"][1] == []
    assert found["system"] == [SYSTEM] * 3


def test_alternatives(server):
    found = server.post("/translate", TEXT | {"q": "a b", "alternatives": 2}).json()
    assert (found["translatedText"], found["alternatives"]) == ("b a", ["2 b a", "3 b a"])
    form = {**TEXT, "q": "a b", "alternatives": "1"}
    assert server.post("/translate", data=form).json()["alternatives"] == ["2 b a"]


def test_a_language_is_recognised(server):
    found = server.post("/translate", TEXT | {"q": "die Katze ist", "source": "auto"}).json()
    assert found["detectedLanguage"] == {"language": "de", "confidence": 90.5}
    found = server.post("/translate", TEXT | {"q": ["le chat", "die Katze"], "source": "auto"}).json()
    assert [one["language"] for one in found["detectedLanguage"]] == ["fr", "de"]
    assert server.post("/detect", {"q": "le chat est"}).json()[0] == {"language": "fr", "confidence": 90.5}


def test_a_system_is_chosen(server):
    assert server.post("/translate", TEXT | {"system": OTHER}).json()["system"] == OTHER


def test_html(server):
    found = server.post("/translate", TEXT | {"q": "<p>a b</p>", "format": "html"})
    assert found.status_code == 200
    assert found.json()["translatedText"].startswith("<p>")


def test_a_text_that_is_not_to_be_split(server):
    fields = TEXT | {"q": "Le chat. Il dort."}
    assert server.post("/translate", fields | {"split_sentences": "0"}).json()["translatedText"] == "dort. Il chat. Le"
    assert server.post("/translate", fields | {"split_sentences": "1"}).json()["translatedText"] == "chat. Le dort. Il"


@pytest.mark.parametrize(
    ("changes", "status", "error"),
    [
        ({"split_sentences": "2"}, 422, "split_sentences: unknown, got '2'; expected 1 or nonewlines or 0"),
        ({"q": None}, 422, "q: must be text, got null"),
        ({"source": ""}, 422, "source: is missing; expected the code of a language, such as en"),
        ({"target": None}, 422, "target: is missing; expected the code of a language, such as en"),
        ({"format": "pdf"}, 422, "format: unknown, got 'pdf'; expected text or html"),
        ({"alternatives": 10}, 422, "alternatives: must be a whole number from 0 to 9, got 10"),
        ({"target": "de"}, 400, "source, target: no system translates fr-de; expected de-en or fr-en"),
        ({"system": "x"}, 400, "system: is not loaded, got 'x'; expected one that /systems lists"),
        ({"q": ["a"] * 1001}, 413, "q: has too many texts, got 1,001; expected at most 1,000"),
        ({"q": "FAIL"}, 500, "engine: cannot translate this, got ValueError: cannot; expected another sentence"),
    ],
)
def test_errors(server, changes, status, error):
    said = server.post("/translate", TEXT | changes)
    assert (said.status_code, said.json()) == (status, {"error": error})


def test_a_missing_field(server):
    said = server.post("/translate", {"source": "fr", "target": "en"})
    assert (said.status_code, said.json()) == (422, {"error": "q: is missing; expected a text or a list of texts"})


def test_languages_and_settings(server):
    assert server.get("/languages").json() == [
        {"code": "de", "name": "German", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": []},
        {"code": "fr", "name": "French", "targets": ["en"]},
    ]
    found = server.get("/frontend/settings").json()
    assert found["charLimit"] == 100_000
    assert (found["apiKeys"], found["keyRequired"], found["suggestions"], found["filesTranslation"]) == (False,) * 4
    assert found["language"] == {
        "source": {"code": "fr", "name": "French"},
        "target": {"code": "en", "name": "English"},
    }


def test_its_own_python_client(server):
    """The package that LibreTranslate's authors publish, unchanged."""
    client = libretranslatepy.LibreTranslateAPI(server.address)
    assert client.translate("Le chat dort.", "fr", "en") == "dort. chat Le"
    assert client.translate("die Katze\nist", "auto", "en") == "Katze die\nist"
    assert client.detect("die Katze ist")[0] == {"language": "de", "confidence": 90.5}
    assert [one["code"] for one in client.languages()] == ["de", "en", "fr"]
