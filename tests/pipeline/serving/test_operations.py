"""Alive, ready, and what was done."""

import os
import re
import signal
import time

import requests

from tests.toys import servers


def test_health_is_not_readiness(tmp_path):
    """While the models load: alive, not ready, and a request waits for them."""
    log = tmp_path / "log"
    with servers.stand_in(log) as server:
        assert server.get("/health").json() == {"status": "ok"}
        ready = server.get("/ready").json()
        assert (ready["status"], ready["queued"], len(ready["systems"])) == ("ready", 0, 3)
        os.kill(server.worker, signal.SIGKILL)
        until = time.monotonic() + 10
        while (said := server.get("/ready")).status_code == 200 and time.monotonic() < until:
            time.sleep(0.001)
        assert said.status_code == 503
        assert said.json() == {"error": "server: no worker has loaded the models; expected another try"}
        assert said.headers["Retry-After"] == "2"
        assert server.get("/health").json() == {"status": "ok"}
        assert server.post("/translate", {"q": "a b", "source": "fr", "target": "en"}).json()["translatedText"] == "b a"
        assert server.get("/ready").status_code == 200


def test_probes_may_ask_without_a_body(server):
    for path in ("/health", "/ready"):
        said = requests.head(server.address + path, timeout=9)
        assert (said.status_code, said.content) == (200, b"")


def test_metrics(server):
    requests.get(f"{server.address}/nowhere/{'x' * 50}", timeout=9)
    server.post("/translate", {"q": "a b", "source": "fr", "target": "en"})
    text = server.get("/metrics").text
    assert 'nmt_requests_total{route="/translate",status="200"}' in text
    assert re.search(r'nmt_requests_total\{route="(other|/)",status="404"\}', text)
    assert "xxx" not in text
    assert server.metric("nmt_workers") == 1
    assert server.metric("nmt_queued_sentences") == 0
    assert server.metric("process_resident_memory_bytes") > 1e6
