"""Checks of the options that commands share."""

from pipeline.files import DataError


def check_different(option: str, systems: list[str]) -> None:
    """Check that no system is named twice: requests and ensembles know systems by their names.

    Raises: DataError naming the first that is.
    """
    if twice := next((system for system in systems if systems.count(system) > 1), None):
        raise DataError(f"{option}: got {twice} {systems.count(twice)} times; expected different systems")
