"""What the tests of the bundled corpus and of its grammar share."""

import pytest

from pipeline.data.phrasebook import Sentence, sentences


@pytest.fixture(scope="session")
def corpus() -> dict[str, list[Sentence]]:
    """A large sample of every part, drawn once."""
    sizes = {"train": 14000, "validation": 1000, "test": 1000, "compositional": 1000}
    return {part: sentences(part, size, seed=1) for part, size in sizes.items()}
