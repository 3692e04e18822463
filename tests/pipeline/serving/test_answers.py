"""An answer survives its way from a worker."""

import json

from pipeline.serving.answers import Answer


def test_an_answer_travels_as_json():
    answer = Answer('le "chat"', -1.5, -0.25)
    assert Answer(*json.loads(json.dumps(answer))) == answer
