"""Refusals, in the form of either API."""

import json

from pipeline.serving.errors import ServingError

from pipeline.serving import errors


def test_a_refusal():
    said = errors.response("/translate", ServingError(503, "queue: is full", 7))
    assert (said.status_code, json.loads(said.body)) == (503, {"error": "queue: is full"})
    assert said.headers["Retry-After"] == "7"


def test_a_refusal_in_deepls_form():
    said = errors.response("/v2/translate", ServingError(403, "no"))
    assert (said.status_code, json.loads(said.body)) == (403, {"message": "no"})
    assert "Retry-After" not in said.headers
