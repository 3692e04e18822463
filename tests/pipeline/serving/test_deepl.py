"""DeepL's API."""

import pytest
import requests

from pipeline.serving import deepl

TEXT = {"text": ["Le chat dort."], "target_lang": "EN-GB", "source_lang": "FR"}


def test_json(server):
    found = server.post("/v2/translate", TEXT | {"text": ["a b", "the cat. big dog."]}).json()
    texts = ["b a", "cat. the dog. big"]
    assert found == {"translations": [{"detected_source_language": "FR", "text": text} for text in texts]}


def test_a_form_with_several_texts_and_no_source(server):
    found = server.post("/v2/translate", data={"text": ["die Katze", "le chat"], "target_lang": "en"}).json()
    assert [one["detected_source_language"] for one in found["translations"]] == ["DE", "FR"]


def test_a_text_that_is_not_to_be_split(server):
    found = server.post("/v2/translate", TEXT | {"text": ["a b. c d."], "split_sentences": "0"}).json()
    assert found["translations"][0]["text"] == "d. c b. a"


def test_a_line_break_may_end_no_sentence(server):
    fields = TEXT | {"text": ["the\ncat. big dog."], "split_sentences": "nonewlines"}
    found = server.post("/v2/translate", fields).json()
    assert found["translations"][0]["text"] == "cat. the dog. big"


@pytest.mark.parametrize("tags", [["keep", "x"], "x,keep"])
def test_elements_that_are_named_stay_as_they_are(server, tags):
    fields = {"text": ["a <keep>b c</keep> d"], "tag_handling": "xml", "ignore_tags": tags}
    found = server.post("/v2/translate", TEXT | fields).json()
    assert found["translations"][0]["text"] == "d <keep>b c</keep> a"


def test_billed_characters_are_said_if_wanted(server):
    found = server.post("/v2/translate", TEXT | {"text": ["a b"], "show_billed_characters": True}).json()
    assert found["translations"][0]["billed_characters"] == 3


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"text": [1]}, 422, "text: must be text, got a number"),
        ({"target_lang": ""}, 422, "target_lang: is missing; expected the code of a language, such as EN"),
        ({"target_lang": "JA"}, 400, "source, target: no system translates fr-ja; expected de-en or fr-en"),
        ({"glossary_id": "x"}, 400, "glossary_id: is not supported; expected a request without it"),
        ({"splitting_tags": ["x"]}, 400, "splitting_tags: is not supported; expected a request without it"),
        ({"ignore_tags": 1}, 422, "ignore_tags: must be a list of names; expected such as x,keep"),
        ({"formality": "less"}, 400, "formality: is not supported, got 'less'; expected default or prefer_less"),
        ({"tag_handling": "tex"}, 422, "tag_handling: unknown, got 'tex'; expected html or xml"),
    ],
)
def test_errors(server, changes, status, message):
    said = server.post("/v2/translate", TEXT | changes)
    assert (said.status_code, said.json()) == (status, {"message": message})


def test_languages_and_usage(server):
    assert [one["language"] for one in server.get("/v2/languages").json()] == ["DE", "FR"]
    target = {"language": "EN", "name": "English", "supports_formality": False}
    assert server.get("/v2/languages?type=target").json() == [target]
    for method in ("GET", "POST"):  # DeepL's own client sends the field as a form, of a GET too
        form = requests.request(method, f"{server.address}/v2/languages", data={"type": "target"}, timeout=9)
        assert form.json() == [target]
    before = server.get("/v2/usage").json()
    server.post("/v2/translate", TEXT)
    after = server.get("/v2/usage").json()
    assert after["character_count"] - before["character_count"] == len("Le chat dort.")
    assert after["character_limit"] == deepl.UNLIMITED
