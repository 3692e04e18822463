"""One server without models for all tests that only ask it something; packaged systems for those of engines."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.toys import packages, servers


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[servers.Server]:
    """A server with three systems and everybody's requests."""
    with servers.stand_in(tmp_path_factory.mktemp("server") / "log") as one:
        yield one


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """A packaged Transformer and a packaged recurrent model."""
    with pytest.MonkeyPatch.context() as patch:
        root = tmp_path_factory.mktemp("project")
        patch.chdir(root)
        return {model: packages.build(root, model) for model in ("transformer_prenorm", "rnnsearch")}
