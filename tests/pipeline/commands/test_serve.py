"""`nmt serve` as a user starts it, asked by LibreTranslate's own client; and what it refuses to start."""

import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import libretranslatepy
import pytest
import requests

from pipeline.commands import serve
from pipeline.common.files import DataError
from pipeline.decoding.glossary import Glossary
from pipeline.packaging import loading
from tests.toys import packages

ROOT = Path(__file__).parents[3]
LINES = ["le chat noir", "dort", "le chat noir dort", "Le chat. Dort !"]


@contextmanager
def serving(port: int, *arguments: str):
    """The address of a server that answers."""
    command = [sys.executable, "-m", "pipeline.commands.nmt", "serve", "--port", str(port), *arguments]
    process = subprocess.Popen(command, cwd=ROOT)
    address, until = f"http://127.0.0.1:{port}", time.monotonic() + 60
    try:
        while True:
            try:
                requests.get(f"{address}/health", timeout=5)
                break
            except requests.ConnectionError:
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def test_a_client_that_we_did_not_write_gets_the_lines_of_nmt_translate(tmp_path, monkeypatch, unused_port):
    monkeypatch.chdir(tmp_path)
    folder = packages.build(tmp_path)
    translator, terms = loading.load(folder), tmp_path / "terms.tsv"
    terms.write_text("noir\tZZ\n")
    translator.glossary = Glossary(terms)
    expected = translator.translate(LINES)
    assert "ZZ" in expected[0]
    with serving(unused_port, "--model", str(folder), "--no-split-sentences", "--glossary", str(terms)) as address:
        client = libretranslatepy.LibreTranslateAPI(address)
        assert [client.translate(line, "fr", "en") for line in LINES] == expected
        assert client.languages()[1]["code"] == "fr"
        assert "default-src 'self'" in requests.get(address, timeout=5).headers["Content-Security-Policy"]


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def test_beyond_this_machine_it_wants_a_key():
    with pytest.raises(DataError, match="--host: must be of this machine without --api-key"):
        serve.serve(host="0.0.0.0", api_key=None)


def test_without_a_packaged_system(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="models/: has no packaged system"):
        serve.serve(model=None)
