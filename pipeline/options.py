"""Checks of the options that commands share."""

from pipeline.files import DataError


def check_different(option: str, names: list[str]) -> None:
    """Check that an option that is given several times has another value each time.

    Raises: DataError naming the first value that is there twice.
    """
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DataError(
            f"{option}: must be different systems, got {twice} {names.count(twice)} times; expected each once"
        )
