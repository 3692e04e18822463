"""The application: what it tells a worker, what it says to what no route takes, and the page."""

import http.client
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pipeline.serving import app, page


def test_what_a_worker_is_told():
    options = app.Options(
        folders=[Path("models/one")], engine="ctranslate2", threads=3, glossary=Path("terms.tsv"), beam_size=2
    )
    assert options.given == {
        "folders": ["models/one"],
        "engine": "ctranslate2",
        "threads": 3,
        "glossary": "terms.tsv",
        "beam_size": 2,
    }


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", "/nowhere", 404, {"error": "GET /nowhere: no such page; expected one of docs/serving.md"}),
        ("GET", "/v2/nowhere", 404, {"message": "GET /v2/nowhere: no such page; expected one of docs/serving.md"}),
        ("PUT", "/translate", 405, {"error": "PUT /translate: wrong method; expected one of docs/serving.md"}),
        ("GET", "/app.py", 404, {"error": "GET /app.py: no such page; expected one of docs/serving.md"}),
        ("GET", "/docs", 404, {"error": "GET /docs: no such page; expected one of docs/serving.md"}),
        ("GET", "/openapi.json", 404, {"error": "GET /openapi.json: no such page; expected one of docs/serving.md"}),
    ],
)
def test_what_no_route_takes(server, method, path, status, said):
    found = (
        getattr(server, method.lower())(path) if method == "GET" else __import__("requests").put(server.address + path)
    )
    assert (found.status_code, found.json()) == (status, said)


@pytest.mark.parametrize("path", ["/../app.py", "/%2e%2e/app.py", "/page/../../app.py", "/page/%2e%2e/app.py"])
def test_no_path_leads_out_of_the_page(server, path):
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=9)  # sends paths as they are
    connection.request("GET", path)
    assert connection.getresponse().status == 404


def test_the_page(server):
    answer = server.get("/")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    for name in page.FOLDER.iterdir():
        assert server.get(f"/{name.name}").content == name.read_bytes()
