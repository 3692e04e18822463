"""What a stage tells `nmt repro`."""

import os
import subprocess
import sys

import pytest

from pipeline import events


@pytest.fixture
def wanted(monkeypatch):
    monkeypatch.setenv(events.VARIABLE, "1")
    monkeypatch.setattr(events, "stage", "score@toy")


@pytest.mark.usefixtures("wanted")
def test_an_event_comes_back(capfd):
    events.send("progress", about="ligne à lire\nand another")
    out = capfd.readouterr().out
    assert out.count("\n") == 1
    assert events.parse(out) == {"kind": "progress", "stage": "score@toy", "about": "ligne à lire\nand another"}


@pytest.mark.parametrize(("variable", "stage"), [("", "score@toy"), ("1", "")])
def test_nobody_asks_and_nothing_is_sent(monkeypatch, capfd, variable, stage):
    monkeypatch.setenv(events.VARIABLE, variable)
    monkeypatch.setattr(events, "stage", stage)
    events.send("began")
    assert capfd.readouterr().out == ""


@pytest.mark.usefixtures("wanted")
def test_a_reader_that_has_gone_is_no_error(project_root):
    """In a process of its own: pytest-xdist writes to its pipes by `os.write` too, so it must not be replaced here."""
    reading, writing = os.pipe()
    code = "from pipeline import events; events.stage = 'score@toy'; events.send('began'); events.send('ended')"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=project_root, stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    os.close(reading)
    assert process.communicate(timeout=60) == (None, "")
    assert process.returncode == 0


@pytest.mark.parametrize(
    "line", ["", "began", '{"kind": "began", "stage": "a"}', "\x1e", "\x1e{", "\x1e[]", '\x1e{"kind": "began"}']
)
def test_other_lines_are_no_events(line):
    assert events.parse(line) is None
