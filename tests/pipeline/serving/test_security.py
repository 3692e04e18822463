"""Who may ask: keys, hosts, origins, sizes; and the headers of every answer."""

import http.client
import socket
import time
from urllib.parse import urlsplit

import pytest
import requests
from pipeline.serving.errors import ServingError
from pipeline.serving.security import Guard, Keys

from pipeline.serving import security
from tests.toys import servers

ASKED = {"q": "a b", "source": "fr", "target": "en"}


def test_keys():
    Keys([]).check(None)
    assert not Keys([])
    keys = Keys(["one", "zwei ü"])
    keys.check("one")
    keys.check("zwei ü")
    for given, said in ((None, "missing"), ("", "missing"), ("on", "not valid"), ("one ", "not valid")):
        with pytest.raises(ServingError) as refused:
            keys.check(given)
        assert refused.value.status == 403
        assert str(refused.value) == f"api_key: is {said}; expected the key that this server's operator gave out"


@pytest.mark.parametrize(
    ("header", "key"),
    [("Bearer a", "a"), ("DeepL-Auth-Key a:fx", "a:fx"), ("bearer  a ", "a"), ("Basic a", None), ("Bearer ", None)],
)
def test_the_key_of_a_header(header, key):
    assert security.key_in(security.Headers({"Authorization": header})) == key


def test_what_only_this_machine_reaches():
    hosts = ("127.0.0.1", "127.9.9.9", "::1", "localhost", "0.0.0.0", "::", "192.168.0.1", "example.org", "")
    assert [host for host in hosts if security.is_loopback(host)] == ["127.0.0.1", "127.9.9.9", "::1", "localhost"]


def test_the_name_in_a_host_header():
    given = ("localhost:5050", "LOCALHOST", "[::1]:5050", "evil.example:80", "", "[")
    names = ["localhost", "localhost", "::1", "evil.example", None, None]
    assert [security.name_of(host) for host in given] == names


def test_every_answer_has_the_headers(server):
    for path in ("/health", "/nowhere", "/languages"):
        said = server.get(path, headers={"Origin": "https://evil.example"}).headers
        assert {name: said[name] for name in security.HEADERS} == security.HEADERS
        assert "Access-Control-Allow-Origin" not in said
        assert "Server" not in said
    refused = server.get("/health", headers={"Host": "evil.example"}).headers
    assert {name: refused[name] for name in security.HEADERS} == security.HEADERS


@pytest.mark.parametrize("host", ["evil.example", "evil.example:5050", "127.0.0.1.evil.example", "", "["])
def test_another_host_is_refused_on_loopback(server, host):
    said = server.get("/health", headers={"Host": host})
    assert said.status_code in (421, 400)  # 400: uvicorn itself, of what is no host at all
    if said.status_code == 421:
        assert said.json() == {
            "error": f"host: is not this server, got {host!r}; expected localhost, or a name of --cors"
        }


def test_the_host_of_a_proxy_that_the_operator_names():
    guard = Guard(None, host="127.0.0.1", origins=("https://example.org", "*"), body_bytes=10)
    for host in ("example.org", "localhost:5050"):
        guard.check({"method": "POST"}, security.Headers({"host": host, "origin": "https://example.org"}))
    with pytest.raises(ServingError):
        guard.check({"method": "GET"}, security.Headers({"host": "evil.example"}))


def test_another_host_is_fine_elsewhere():
    guard = Guard(None, host="0.0.0.0", origins=(), body_bytes=10)
    guard.check({"method": "GET"}, security.Headers({"host": "example.org"}))


def test_a_page_of_another_origin_may_not_ask(server):
    for origin in ("https://evil.example", "null", "http://localhost:1", "http://["):
        said = server.post("/translate", ASKED, headers={"Origin": origin})
        assert said.status_code == 403
        assert said.json() == {"error": f"origin: may not ask, got {origin!r}; expected one that --cors names"}
    assert server.post("/translate", ASKED, headers={"Origin": server.address}).status_code == 200


def test_pages_that_the_operator_names_may_ask_and_read(tmp_path):
    origin = "https://app.example"
    with servers.stand_in(tmp_path / "log", origins=[origin]) as server:
        said = server.post("/translate", ASKED, headers={"Origin": origin})
        assert said.status_code == 200
        assert said.headers["Access-Control-Allow-Origin"] == origin
        other = server.post("/translate", ASKED, headers={"Origin": "https://evil.example"})
        assert other.status_code == 403
        preflight = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        asked = {**preflight, "Access-Control-Request-Headers": "content-type"}
        assert requests.options(f"{server.address}/translate", headers=asked, timeout=9).status_code == 200


def test_keys_over_http(tmp_path):
    """By header in both schemes and by field; without one the body is not even read."""
    with servers.stand_in(tmp_path / "log", keys=["secret", "other"]) as server:
        for status, given in (
            (200, {"headers": {"Authorization": "Bearer secret"}, "fields": ASKED}),
            (200, {"headers": {"Authorization": "DeepL-Auth-Key other"}, "fields": ASKED}),
            (200, {"fields": ASKED | {"api_key": "secret"}}),
            (403, {"fields": ASKED | {"api_key": "wrong"}}),
            (403, {"fields": ASKED}),
            (403, {"headers": {"Authorization": "Bearer wrong"}, "fields": ASKED | {"api_key": "secret"}}),
        ):
            assert server.post("/translate", **given).status_code == status, given
        wrong = server.post("/v2/translate", {"text": ["a"]}, headers={"Authorization": "DeepL-Auth-Key wrong"})
        assert wrong.status_code == 403
        assert list(wrong.json()) == ["message"]
        for path in ("/detect", "/attention", "/translate/stream"):
            assert server.post(path, ASKED).status_code == 403, path
        assert server.get("/metrics").status_code == 403
        assert server.get("/metrics", headers={"Authorization": "Bearer secret"}).status_code == 200
        assert server.get("/languages").status_code == 200
        used = server.get("/v2/usage", headers={"Authorization": "DeepL-Auth-Key other"}).json()
        assert used["character_count"] == len("a b")
        assert "secret" not in server.log


def test_a_body_is_bounded_before_it_is_read(tmp_path):
    limit = servers.stand_in(tmp_path / "log", limits={"characters": 100})
    with limit as server:
        most = 12 * 100 + (64 << 10)
        said = server.post("/translate", data=b"x" * (most + 1), headers={"Content-Type": "application/json"})
        assert said.status_code == 413
        assert said.json() == {"error": f"body: is too long; expected at most {most:,} bytes"}
        announced = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=9)
        announced.putrequest("POST", "/translate")
        announced.putheader("Content-Length", str(10**12))
        announced.endheaders()  # and no byte of the body
        assert announced.getresponse().status == 413
        assert server.post("/translate", data=iter([b"x" * most, b"xx"])).status_code == 413  # in chunks, unannounced


@pytest.mark.parametrize("route", ["/translate", "/v2/languages"])
def test_a_body_that_is_waited_for_counts(tmp_path, route):
    """However many bodies a client announces, the server holds no more of them than it may have requests."""
    head = f"POST {route} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n".encode() + b"{"
    with servers.stand_in(tmp_path / "log", limits={"at_once": 1}, keys=["secret"]) as server:
        place = urlsplit(server.address)
        with socket.create_connection((place.hostname, place.port), timeout=9) as slow:
            slow.sendall(head)
            with socket.create_connection((place.hostname, place.port), timeout=9) as second:
                made_up = b"Authorization: Bearer made up\r\nHost"
                second.sendall(head.replace(b"Host", made_up) if route == "/v2/languages" else head)
                assert second.recv(4096).startswith(b"HTTP/1.1 429 ")
            fields = ASKED | {"api_key": "secret"}
            assert server.post("/translate", ASKED, headers={"Authorization": "Bearer secret"}).status_code == 200
            assert server.post("/translate", fields).status_code == 429  # whose address has one under way
        for _ in range(50):
            if (status := server.post("/translate", fields).status_code) == 200:
                break
            time.sleep(0.1)
        assert status == 200


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path):
    with servers.stand_in(tmp_path / "log", limits={"timeout_seconds": 0.3}) as server:
        place = urlsplit(server.address)
        with socket.create_connection((place.hostname, place.port), timeout=9) as slow:
            slow.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
            said = slow.recv(4096).decode()
        assert said.startswith("HTTP/1.1 408 ")
