"""A worker's lines: what it is given, what it says."""

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.files import DataError
from pipeline.serving import engines, worker
from tests.toys import stand_in

ENGINES = {name: stand_in.StandIn(name) for name in stand_in.SYSTEMS}
SYSTEM = next(iter(ENGINES))


def said(*asked):
    """What a worker answers."""
    out = io.BytesIO()
    worker.answer_all(ENGINES, [json.dumps(one).encode() for one in asked], out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_translations_and_attention():
    asked = {"id": 1, "kind": "translate", "system": SYSTEM, "number": 2, "lines": ["le chat", "é"]}
    [translated, looked] = said(asked, {"id": 2, "kind": "attention", "system": SYSTEM, "number": 1, "lines": ["a b"]})
    assert translated["id"] == 1
    assert [[answer[0] for answer in some] for some in translated["results"]] == [
        ["chat le", "2 chat le"],
        ["é", "2 é"],
    ]
    [looked] = looked["results"]
    record = json.loads(looked["record"])
    assert (looked["text"], record["text"], record["system"]) == ("b a", "b a", SYSTEM)


def test_a_failure_is_an_answer(capfd):
    asked = {"id": 1, "kind": "translate", "system": SYSTEM, "number": 1, "lines": ["FAIL"]}
    assert said(asked, asked | {"id": 2, "lines": ["a"]})[0] == {"id": 1, "error": "ValueError: cannot"}
    assert "Traceback" in capfd.readouterr().err


def test_two_packages_of_one_system_are_refused(monkeypatch):
    loaded = []
    monkeypatch.setattr(engines, "load", lambda folder, *how: loaded.append(how) or SimpleNamespace(system=folder.name))
    given = {"engine": "torch", "threads": 1, "glossary": "terms.tsv", "beam_size": 2}
    assert [kind for kind, _ in worker.load({**given, "folders": ["x/a", "x/b"]})] == ["torch", "torch"]
    assert loaded == [("torch", 1, Path("terms.tsv"), 2)] * 2
    with pytest.raises(DataError) as caught:
        worker.load({**given, "folders": ["x/a", "x/b", "y/a"]})
    assert str(caught.value) == "--model: must be different systems, got a 2 times; expected each once"


def test_what_a_library_prints_is_no_answer():
    """Not even what it writes to descriptor 1."""
    script = """
import os
from pipeline.serving import worker
def load(given):
    print("hello", flush=True)
    os.write(1, b"there\\n")
    return []
worker.main(load)
"""
    run = subprocess.run([sys.executable, "-c", script], input=b"{}\n", capture_output=True, timeout=60)
    assert (run.returncode, run.stdout) == (0, b'{"systems": []}\n')
    assert run.stderr == b"hello\nthere\n"


def test_a_bug_while_loading_is_said_with_its_traceback():
    script = "from pipeline.serving import worker\nworker.main(lambda given: 1 / 0)"
    run = subprocess.run([sys.executable, "-c", script], input=b"{}\n", capture_output=True, timeout=60)
    assert json.loads(run.stdout) == {"error": "worker: ZeroDivisionError: division by zero"}
    assert (run.returncode, b"Traceback" in run.stderr) == (1, True)
