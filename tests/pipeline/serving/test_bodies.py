"""Bodies: JSON and forms, and every way in which they are wrong."""

import socket
from urllib.parse import urlsplit

import pytest
from pipeline.serving.errors import ServingError

from pipeline.serving import bodies
from tests.toys import servers


def refusal(status, function, *given):
    """What a refused call says."""
    with pytest.raises(ServingError) as refused:
        function(*given)
    assert refused.value.status == status
    return str(refused.value)


def test_json_and_a_form_have_the_same_fields():
    assert bodies.from_json(b'{"q": "\xc3\xa9t\xc3\xa9 1", "list": ["a", "b"]}') == {"q": "été 1", "list": ["a", "b"]}
    assert bodies.from_form("q=%C3%A9t%C3%A9+1&list=a&list=b") == {"q": "été 1", "list": ["a", "b"]}


def test_lines_of_a_form_end_as_in_text_files():
    assert bodies.from_form("q=a%0D%0Ab%0A") == {"q": "a\nb\n"}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"{", "body: is not valid JSON at column 2 of line 1; expected an object with the field q"),
        (b"[" * 100_000, "body: is not valid JSON at its depth; expected an object with the field q"),
        (
            b'{"alternatives": ' + b"1" * 5000 + b"}",
            "body: is not valid JSON at a number of too many digits; expected an object with the field q",
        ),
        (b"[1]", "body: must be a JSON object, got a list"),
        (b"null", "body: must be a JSON object, got null"),
        (b'{"q": "\xff"}', "body: invalid UTF-8 at byte 7; expected text in UTF-8"),
    ],
)
def test_wrong_json(raw, said):
    assert refusal(422, bodies.from_json, raw) == said


def test_a_wrong_form():
    assert refusal(422, bodies.from_form, "q=%FF").startswith("body: is not a valid form, ")
    assert refusal(422, bodies.from_form, "&".join(["q=a"] * 10_001)) == (
        "body: is not a valid form, Max number of fields exceeded; expected name=value&..."
    )


def test_texts():
    assert bodies.texts({"q": "a"}, "q") == ["a"]
    assert bodies.texts({"q": ["a", ""]}, "q") == ["a", ""]
    assert refusal(422, bodies.texts, {}, "q") == "q: is missing; expected a text or a list of texts"
    assert refusal(422, bodies.texts, {"q": [1]}, "q") == "q: must be text, got a number"
    assert refusal(422, bodies.texts, {"q": {}}, "q") == "q: must be text, got an object"
    assert refusal(422, bodies.texts, {"q": ["a\ud800"]}, "q") == "q: has half a character at position 1; expected text"


def test_one_text():
    assert bodies.one_text({"q": "a"}, "q") == "a"
    assert refusal(422, bodies.one_text, {}, "q") == "q: is missing; expected a text"
    assert refusal(422, bodies.one_text, {"q": None}, "q") == "q: must be text, got null"
    assert refusal(422, bodies.one_text, {"q": True}, "q") == "q: must be text, got true or false"


def test_what_may_be_missing():
    assert [bodies.optional(fields, "a") for fields in ({}, {"a": None}, {"a": ""}, {"a": "b"})] == [None] * 3 + ["b"]


def test_a_choice():
    assert [bodies.choice(fields, "a", ("x", "y")) for fields in ({}, {"a": "y"})] == ["x", "y"]
    assert refusal(422, bodies.choice, {"a": "z"}, "a", ("x", "y")) == "a: unknown, got 'z'; expected x or y"


@pytest.mark.parametrize(("given", "number"), [(None, 0), ("", 0), (0, 0), (3, 3), ("3", 3)])
def test_a_count(given, number):
    assert bodies.count({"a": given}, "a", 9) == number


@pytest.mark.parametrize("given", [10, -1, "10", "x", 1.0, True, [], "²", "9" * 5000])
def test_a_wrong_count(given):
    said = refusal(422, bodies.count, {"a": given}, "a", 9)
    assert said == f"a: must be a whole number from 0 to 9, got {str(given)[:50]}"


def test_bodies_over_http(server):
    post = {"source": "fr", "target": "en"}
    assert server.post("/translate", {"q": "a b", **post}).json()["translatedText"] == "b a"
    form = {"data": {"q": "a b", **post}}
    assert server.post("/translate", **form).json()["translatedText"] == "b a"
    said = server.post("/translate", data="x", headers={"Content-Type": "text/plain"})
    assert said.status_code == 415
    assert said.json() == {
        "error": "content-type: is not understood, got 'text/plain'; expected application/json or "
        "application/x-www-form-urlencoded"
    }


def test_a_client_that_leaves_within_its_body(server):
    place = urlsplit(server.address)
    with socket.create_connection((place.hostname, place.port), timeout=9) as leaving:
        leaving.sendall(b"POST /detect HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
    servers.wait_for(lambda: "POST /detect 499 " in server.log)
    assert "Traceback" not in server.log
