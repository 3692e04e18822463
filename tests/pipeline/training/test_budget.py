import pytest

from pipeline.training.budget import SentenceBatches, Training
from tests.toys import samples


@pytest.mark.parametrize(
    ("changed", "faults"),
    [
        (
            {"updates": 0, "max_length": 1, "threads": -1, "exakt": True},
            [
                "updates: should be greater than 0, got 0",
                "max_length: should be greater than or equal to 2, got 1",
                "threads: should be greater than or equal to 0, got -1",
                "exakt: unknown key; nearest is 'exact'",
            ],
        ),
        (
            {"validation_interval": 250, "checkpoint_interval": 100},
            ["validation_interval: must be a multiple of checkpoint_interval 100, got 250"],
        ),
    ],
)
def test_faults_are_named(changed, faults):
    given = Training.faults(samples.TRAINING | changed, "training")
    assert list(given) == [f"params.yaml: training.{fault}" for fault in faults]


def test_pools_hold_whole_updates():
    batches = {"kind": "sentences", "sentences_per_update": 80, "pool_pairs": 1500}
    assert list(SentenceBatches.faults(batches, "batches")) == [
        "params.yaml: batches.pool_pairs: must be a multiple of sentences_per_update 80, got 1500"
    ]
