"""Short names of systems: any part of an id that no other built system has."""

from collections.abc import Sequence


def matching(text: str, ids: Sequence[str]) -> list[str]:
    """The ids that have a text in them; if some have it as whole names, only these: `small` is no `very_small`."""
    if not text:
        return []
    whole = [name for name in ids if f"-{text}-" in f"-{name}-"]
    return whole or [name for name in ids if text in name]


def shortest(system: str, ids: Sequence[str]) -> str:
    """The least that tells a system from the others: its model, model and size, these and its vocabulary, or its id."""
    _, vocabulary, model, size = system.split("-")
    parts = (model, f"{model}-{size}", f"{vocabulary}-{model}-{size}")
    return next((part for part in parts if matching(part, ids) == [system]), system)
