"""Short names of systems: any part of an id that no other built system has."""

from collections.abc import Sequence

NAMES = 4  # in an id: corpus, vocabulary, model and size; a further seed stands behind them


def matching(text: str, ids: Sequence[str]) -> list[str]:
    """The ids that have a text in them; if some have it as whole names, only these: `small` is no `very_small`.

    A further seed is meant only if the text names it: without it, the text is that of the system's first training.
    """
    if not text:
        return []
    found = [name for name in ids if f"-{text}-" in f"-{name}-"] or [name for name in ids if text in name]
    return [name for name in found if name.count("-") < NAMES] or found


def shortest(system: str, ids: Sequence[str]) -> str:
    """The least that tells a system from the others: its model, model and size, these and its vocabulary, or its id.

    The size of a further seed has the seed behind it: `rnnsearch-tiny-2`.
    """
    _, vocabulary, model, size = system.split("-", NAMES - 1)
    parts = (model, f"{model}-{size}", f"{vocabulary}-{model}-{size}")
    return next((part for part in parts if matching(part, ids) == [system]), system)
