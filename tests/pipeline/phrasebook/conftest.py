"""The bundled corpus drawn once, and what each pattern of its grammar wrote."""

from collections.abc import Callable
from types import ModuleType

import pytest

from pipeline.phrasebook.patterns import PATTERNS
from pipeline.phrasebook.sentences import Sentence, sentences


@pytest.fixture(scope="session")
def corpus() -> dict[str, list[Sentence]]:
    """A large sample of every part, drawn once."""
    sizes = {"train": 14000, "validation": 1000, "test": 1000, "compositional": 1000}
    return {part: sentences(part, size, seed=1) for part, size in sizes.items()}


@pytest.fixture(scope="session")
def written_by(corpus: dict[str, list[Sentence]]) -> Callable[[ModuleType], dict[str, set[tuple[str, str]]]]:
    """For a module, each of its patterns with the pairs (French, English) that it writes in the training part."""
    written: dict[str, set[tuple[str, str]]] = {name: set() for name in PATTERNS}
    for sentence in corpus["train"]:
        written[sentence.pattern].add((sentence.french, sentence.english))

    def of_module(module: ModuleType) -> dict[str, set[tuple[str, str]]]:
        return {name: written[name] for name, write in PATTERNS.items() if write.__module__ == module.__name__}

    return of_module
