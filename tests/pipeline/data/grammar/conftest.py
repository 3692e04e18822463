"""What the tests of the patterns share."""

from collections.abc import Callable
from types import ModuleType

import pytest

from pipeline.data.grammar.patterns import PATTERNS
from pipeline.data.phrasebook import Sentence


@pytest.fixture(scope="session")
def written_by(corpus: dict[str, list[Sentence]]) -> Callable[[ModuleType], dict[str, set[tuple[str, str]]]]:
    """For a module, each of its patterns with the pairs (French, English) that it writes in the training part."""
    written: dict[str, set[tuple[str, str]]] = {name: set() for name in PATTERNS}
    for sentence in corpus["train"]:
        written[sentence.pattern].add((sentence.french, sentence.english))

    def of_module(module: ModuleType) -> dict[str, set[tuple[str, str]]]:
        return {name: written[name] for name, write in PATTERNS.items() if write.__module__ == module.__name__}

    return of_module
