"""What one training says of itself; its summary stands in tests/stages/test_train.py, where one is trained."""

import pytest

from pipeline.training.ranks import Ranks
from pipeline.training.trial import Trial
from tests.toys import samples


def trial(**given):
    return Trial(**dict.fromkeys(Trial._fields) | given)


@pytest.mark.parametrize(("ranks", "idle"), [(1, 0), (2, 0), (3, 1), (5, 3)])
@pytest.mark.parametrize(
    ("batches", "matter"),
    [({"kind": "tokens"}, 1), ({"kind": "sentences", "sentences_per_update": 10, "pool_pairs": 100}, 0)],
)
def test_idle_ranks_by_hand(batches, matter, ranks, idle):
    """40 tokens an update in micro-batches of 24 make two; of sentences nobody knows."""
    made = trial(training=samples.training(), learning=samples.learning(batches=batches), ranks=Ranks(0, ranks))
    assert made.idle_ranks == matter * idle
