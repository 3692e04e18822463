"""An answer survives its way from an engine through a worker's line of JSON."""

import io
import json

from pipeline.serving.answers import Answer

from pipeline.serving import worker
from tests.toys import stand_in


def test_an_answer_survives_a_worker():
    engine = stand_in.StandIn(next(iter(stand_in.SYSTEMS)))
    asked = {"id": 1, "kind": "translate", "system": engine.system, "number": 2, "lines": ['le "chat"', "é"]}
    out = io.BytesIO()
    worker.answer_all({engine.system: engine}, [json.dumps(asked).encode()], out)
    received = [[Answer(*answer) for answer in some] for some in json.loads(out.getvalue())["results"]]
    assert received == engine.translate(asked["lines"], 2)
    assert len({answer for some in received for answer in some}) == 4
