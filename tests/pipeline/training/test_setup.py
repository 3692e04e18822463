"""What a training needs before its first update; tests/stages/test_train.py runs the whole of it."""

import pytest

from pipeline.tracking import runs
from pipeline.training.ranks import Ranks
from pipeline.training.setup import idle_ranks, start_run
from tests.toys import samples


@pytest.mark.parametrize(("ranks", "idle"), [(1, 0), (2, 0), (3, 1), (5, 3)])
@pytest.mark.parametrize(
    ("batches", "matter"),
    [({"kind": "tokens"}, 1), ({"kind": "sentences", "sentences_per_update": 10, "pool_pairs": 100}, 0)],
)
def test_idle_ranks_by_hand(batches, matter, ranks, idle):
    """40 tokens an update in micro-batches of 24 make two; of sentences nobody knows."""
    assert idle_ranks(samples.training(), samples.learning(batches=batches), ranks) == matter * idle


def test_only_rank_0_tracks():
    assert isinstance(start_run(None, "key", None, None, Ranks(1, 2)), runs.NullRun)
