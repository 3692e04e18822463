"""The server as a process: it starts, answers many at once, loses nothing, and ends."""

import contextlib
import errno
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import psutil
import pytest
import requests
import uvicorn

from pipeline.serving import server as server_module
from tests.toys import servers, stand_in

PAIR = {"source": "fr", "target": "en"}


def test_url_of_a_host():
    assert [server_module.url_host(host) for host in ("127.0.0.1", "::1")] == ["127.0.0.1", "[::1]"]


def accepts(server):
    """Whether the server takes a connection."""
    address = urlsplit(server.address)
    try:
        socket.create_connection((address.hostname, address.port), 5).close()
    except OSError:
        return False
    return True


def has_ipv6():
    """Whether this machine has an address ::1; a container often has none."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
def test_it_listens_on_ipv6_too(tmp_path):
    with servers.stand_in(tmp_path / "log", host="::1") as server:
        assert server.address.startswith("http://[::1]:")
        assert server.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: local", b"drip"])
def test_a_connection_without_a_whole_head_is_closed(sent):
    """Also one on which the head comes byte by byte for ever."""

    async def app(scope, receive, send):
        raise AssertionError("no request was whole")

    config = uvicorn.Config(app, http=server_module.Protocol, timeout_keep_alive=1, lifespan="off", log_level="error")
    listening = server_module.listen("127.0.0.1", 0)
    running = server_module.uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        with socket.create_connection(listening.getsockname(), timeout=9) as idle:
            began = time.monotonic()
            if sent == b"drip":
                with contextlib.suppress(ConnectionError):
                    for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 1000:
                        idle.sendall(bytes([byte]))
                        time.sleep(0.05)
            else:
                idle.sendall(sent)
            with contextlib.suppress(ConnectionError):
                assert idle.recv(1) == b""
            assert 0.5 < time.monotonic() - began < 9
    finally:
        running.should_exit = True
        thread.join(20)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux ends such a connection by itself")
def test_a_connection_on_which_nobody_reads_is_closed(monkeypatch):
    monkeypatch.setattr(server_module, "IDLE_SECONDS", 1)
    with (
        server_module.listen("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname(), timeout=9),
        listening.accept()[0] as connection,
    ):
        connection.settimeout(20)
        with pytest.raises(TimeoutError) as caught:
            connection.sendall(b"x" * 50_000_000)
    assert caught.value.errno == errno.ETIMEDOUT


def test_an_address_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = start(port=port)
    assert said.returncode == 1
    assert said.stderr.splitlines()[-1].startswith(f"error: --host, --port: cannot listen on 127.0.0.1:{port}, got ")
    assert said.stderr.endswith("; expected a free address of this machine\n")
    assert "Traceback" not in said.stderr


def test_a_host_that_is_not_ours():
    said = start(host="192.0.2.1")
    assert said.returncode == 1
    assert "error: --host, --port: cannot listen on 192.0.2.1:0, got " in said.stderr


def test_a_host_that_no_name_can_be():
    said = start(host="0.0.0..0")
    assert said.returncode == 1
    assert "Traceback" not in said.stderr
    assert "error: --host, --port: cannot listen on 0.0.0..0:0, got " in said.stderr


def test_a_card_that_cannot_be_read_ends_it_with_its_message(tmp_path):
    folder = tmp_path / next(iter(stand_in.SYSTEMS))
    folder.mkdir()
    (folder / "README.md").write_bytes(b"# Caf\xe9\n")
    said = start(folders=[str(folder)])
    assert said.returncode == 1
    assert "ready" not in said.stderr
    assert said.stderr.splitlines()[-1] == (
        f"error: {folder}/README.md: cannot be read, got 'utf-8' codec can't decode byte 0xe9 in position 5: "
        "invalid continuation byte; expected Markdown in UTF-8"
    )


def test_a_model_that_cannot_be_loaded_ends_it_with_its_message():
    said = start(folders=["models/missing"])
    assert said.returncode == 1
    assert said.stderr.splitlines()[-1] == "error: models/missing: no such model; expected one"


def start(**options):
    """What a server that cannot start says."""
    command = [sys.executable, "-m", "tests.toys.stand_in", json.dumps(options)]
    return subprocess.run(command, cwd=servers.ROOT, capture_output=True, text=True, timeout=60)


def test_many_clients_get_their_own_answers(server):
    """Single sentences, lists and documents at once, in two systems: every answer is that of its own text."""

    def ask(number):
        session = requests.Session()
        found = []
        for turn in range(6):
            words = [f"w{number}", f"t{turn}", *("x" * (number % 7))]
            kind = (number + turn) % 3
            text = " ".join(words)
            back = " ".join(words[::-1])
            q = [text, [text, text + " y"], "\n".join([text] * 30)][kind]
            expected = [back, [back, "y " + back], "\n".join([back] * 30)][kind]
            fields = {"q": q, **PAIR, "source": ("fr", "de")[number % 2]}
            said = session.post(server.address + "/translate", json=fields, timeout=60)
            found.append((said.status_code, said.json().get("translatedText") == expected))
        return found

    before = server.metric("nmt_batch_sentences_count"), server.metric("nmt_batch_sentences_sum")
    with ThreadPoolExecutor(32) as pool:
        found = [one for some in pool.map(ask, range(32)) for one in some]
    assert found == [(200, True)] * (32 * 6)
    batches = server.metric("nmt_batch_sentences_count") - before[0]
    sentences = server.metric("nmt_batch_sentences_sum") - before[1]
    assert sentences == 32 * 6 / 3 * (1 + 2 + 30)
    assert sentences > 4 * batches  # they went together


def test_an_answer_does_not_wait_for_an_acknowledgement():
    with server_module.listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_nothing_is_lost_when_a_worker_is_killed(tmp_path):
    with servers.stand_in(tmp_path / "log") as server:
        over = threading.Event()

        def ask(number):
            session, found = requests.Session(), []
            while not over.is_set():
                fields = {"q": f"a{number} b c", **PAIR}
                said = session.post(server.address + "/translate", json=fields, timeout=60)
                found.append((said.status_code, said.json().get("translatedText")))
            return number, found

        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(ask, number) for number in range(8)]
            try:
                for killed in (1, 2, 3):
                    time.sleep(0.4)
                    os.kill(server.worker, signal.SIGKILL)
                    servers.wait_for(lambda killed=killed: server.metric("nmt_worker_restarts_total") == killed)
                    servers.wait_for(lambda: server.get("/ready").status_code == 200)
                time.sleep(0.3)
            finally:
                over.set()  # else the pool waits for them for ever
            found = [one.result() for one in asked]
        for number, answers in found:
            assert len(answers) > 3
            assert set(answers) == {(200, f"c b a{number}")}


def test_a_client_that_leaves_costs_nothing(tmp_path):
    """The sentences that still wait are dropped, of an answer in one piece and of a stream."""
    with servers.stand_in(tmp_path / "log", limits={"at_once": 1}) as server:
        text = "\n".join(["SLEEP0.03"] * 64 + ["late"] * 500)
        for path in ("/translate", "/translate/stream"):
            done = server.metric("nmt_sentences_total")
            connection = http.client.HTTPConnection(urlsplit(server.address).netloc)
            connection.request("POST", path, json.dumps({"q": text, **PAIR}), {"Content-Type": "application/json"})
            servers.wait_for(lambda: server.metric("nmt_queued_sentences") > 0)
            connection.close()
            servers.wait_for(lambda: server.metric("nmt_queued_sentences") == 0, 5)
            assert server.post("/translate", {"q": "a b", **PAIR}).json()["translatedText"] == "b a"
            assert server.metric("nmt_sentences_total") - done < 300
        assert "POST /translate 499" in server.log
        assert "Traceback" not in server.log


def test_what_is_too_long_too_much_or_too_slow(tmp_path):
    limits = {"characters": 1000, "queue": 40, "timeout_seconds": 1.0, "at_once": 2, "requests_per_minute": 1000}
    with servers.stand_in(tmp_path / "log", limits=limits) as server:
        said = server.post("/translate", {"q": "a" * 1001, **PAIR})
        assert (said.status_code, said.json()["error"]) == (413, "q: is too long, got 1,001 characters; expected 1,000")
        with ThreadPoolExecutor(3) as pool:
            slow = [pool.submit(server.post, "/translate", {"q": "SLEEP2", **PAIR}) for _ in range(2)]
            time.sleep(0.5)
            said = server.post("/translate", {"q": "a", **PAIR})
            assert said.status_code == 429
            assert said.json() == {"error": "client: too many requests at once, got 3; expected 2"}
            assert said.headers["Retry-After"] == "1"
            for one in slow:
                assert one.result().status_code == 504
                assert one.result().json() == {"error": "server: no translation within 1 s; expected shorter texts"}


def test_a_full_queue_says_when_to_come_again(tmp_path):
    with servers.stand_in(tmp_path / "log", limits={"queue": 10}) as server, ThreadPoolExecutor(2) as pool:
        first = pool.submit(server.post, "/translate", {"q": "SLEEP1", **PAIR})
        time.sleep(0.3)
        second = pool.submit(server.post, "/translate", {"q": "le chat\n" * 9, **PAIR})
        time.sleep(0.2)
        said = server.post("/v2/translate", {"text": ["le chat\nla"], "target_lang": "EN", "source_lang": "FR"})
        assert said.status_code == 503
        assert said.json() == {"message": "queue: is full, got 2 more sentences; expected 1, try again later"}
        assert int(said.headers["Retry-After"]) >= 1
        assert first.result().status_code == second.result().status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_what_is_under_way_and_ends_with_0(tmp_path, number):
    with servers.stand_in(tmp_path / "log") as server, ThreadPoolExecutor(3) as pool:
        worker = server.worker
        single = pool.submit(server.post, "/translate", {"q": "SLEEP1 a", **PAIR})
        stream = pool.submit(server.post, "/translate/stream", {"q": "a b\nSLEEP0.5 c\nd e", **PAIR})
        time.sleep(0.3)
        server.process.send_signal(number)
        servers.wait_for(lambda: not accepts(server))
        assert not single.done()
        with pytest.raises(requests.ConnectionError):
            server.get("/health")
        assert single.result().json()["translatedText"] == "a SLEEP1"
        assert json.loads(stream.result().text.splitlines()[-1])["translatedText"] == "b a\nc SLEEP0.5\ne d"
        assert server.process.wait(20) == 0
        servers.wait_for(lambda: not psutil.pid_exists(worker))
        assert server.log.endswith(": ended\n")


def test_a_server_that_is_killed_leaves_no_worker(tmp_path):
    with servers.stand_in(tmp_path / "log") as server:
        worker = server.worker
        server.process.kill()
        servers.wait_for(lambda: not psutil.pid_exists(worker))
