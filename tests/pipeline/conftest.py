"""One packaged system, with random weights, for all tests of a module that only read it."""

from pathlib import Path

import pytest

from tests.toys import packages


@pytest.fixture(scope="module")
def packaged(tmp_path_factory) -> Path:
    """Its folder."""
    root = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        return packages.build(root)
