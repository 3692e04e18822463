"""Systems, attention, and documents sentence by sentence."""

import json

import requests

PAIR = {"source": "fr", "target": "en"}
SYSTEM = "toy_fr_en-bpe-rnnsearch-tiny"


def test_systems(server):
    found = server.get("/systems").json()
    assert found[0]["system"] == SYSTEM
    assert len(found) == 3
    assert found[0]["model"] == "rnnsearch"
    assert (found[0]["source_language"], found[0]["target_language"], found[0]["engine"]) == ("fr", "en", "torch")


def test_attention(server):
    found = server.post("/attention", {"q": "a b", "system": SYSTEM}).json()
    assert (found["source"], found["target"], found["text"]) == (["a", "b", "</s>"], ["b", "a", "</s>"], "b a")
    assert found["weights"]["cross"][0][0] == [0.0, 1.0, 0.0]
    assert found["system"] == SYSTEM
    refused = server.post("/attention", {"q": "a", "system": "x"})
    assert (refused.status_code, list(refused.json())) == (400, ["error"])


def stream(server, **fields):
    """The records of a stream, and the times of its lines."""
    said = requests.post(f"{server.address}/translate/stream", json=PAIR | fields, stream=True, timeout=30)
    return said, [json.loads(line) for line in said.iter_lines()]


def test_a_stream(server):
    said, records = stream(server, q="Le chat dort. Il est là !\n\nUn deux")
    assert said.headers["Content-Type"] == "application/x-ndjson"
    assert [record.get("translatedText") for record in records] == [
        "dort. chat Le",
        "! là est Il",
        "deux Un",
        "dort. chat Le ! là est Il\n\ndeux Un",
    ]
    assert records[0] == {"index": 0, "source": "Le chat dort.", "translatedText": "dort. chat Le", "confidence": -0.1}
    assert records[-1]["done"] is True


def test_lines_come_as_they_are_ready(server):
    """The first long before the last, whose batch is still under way."""
    text = "\n".join(["a b"] * 100 + ["SLEEP0.5"])
    fields = PAIR | {"q": text}
    said = requests.post(f"{server.address}/translate/stream", json=fields, stream=True, timeout=30)
    lines = said.iter_lines()
    assert json.loads(next(lines))["translatedText"] == "b a"
    assert len(list(lines)) == 101


def test_an_empty_stream(server):
    assert stream(server, q=" ")[1] == [{"done": True, "translatedText": " ", "system": SYSTEM}]


def test_errors_of_a_stream_before_it_begins_and_on_the_way(server):
    said, [record] = stream(server, q="a", target="de")
    assert (said.status_code, list(record)) == (400, ["error"])
    said, records = stream(server, q="a b\n" * 100 + "FAIL")
    assert said.status_code == 200
    assert records[-1] == {"error": "engine: cannot translate this, got ValueError: cannot; expected another sentence"}
    assert len(records) == 101
