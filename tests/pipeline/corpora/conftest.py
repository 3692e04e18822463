"""A web server on loopback, and little patience with it."""

from collections.abc import Iterator

import pytest
from urllib3 import Retry

from pipeline.corpora import fetching
from tests.server import Server, serving


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    retry = Retry(total=2, backoff_factor=0, status_forcelist=(503,), raise_on_status=False)
    monkeypatch.setattr(fetching, "RETRY", retry)
    with serving() as running:
        yield running
