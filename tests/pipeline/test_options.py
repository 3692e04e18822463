"""Checks of options that commands share."""

import pytest

from pipeline.files import DataError
from pipeline.options import check_different


def test_different_systems_pass():
    check_different("--model", [])
    check_different("--model", ["a", "b"])


def test_the_first_system_named_twice_is_refused():
    with pytest.raises(DataError) as caught:
        check_different("--system", ["c", "b", "a", "b", "a", "a"])
    assert str(caught.value) == "--system: must be different systems, got b 2 times; expected each once"
