"""What a finished training leaves, of one whose numbers are known; tests/stages/test_train.py has a whole one."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from pipeline.encoding.batching import BatchSampler, Position
from pipeline.tracking.runs import no_run
from pipeline.training import outputs
from pipeline.training.state import TrainState
from tests.toys import samples

LINES = [[5], [5, 6], list(range(4, 34))]  # the last one is too long
HISTORY = ({"update": 2, "validation_loss": 1.0}, {"update": 4, "validation_loss": 2.0})


@pytest.mark.parametrize(("patience", "stopped"), [(0, "updates"), (1, "patience")])
def test_summary(tmp_path, patience, stopped):
    (tmp_path / "pieces").write_text("a\n")
    training, learning = samples.training(patience=patience), samples.learning()
    system = SimpleNamespace(vocabulary_folder=tmp_path)
    config = SimpleNamespace(system=system, training=training, learning=learning, params={"training.seed": 1})
    sampler = BatchSampler(samples.encoded(LINES, LINES), training, learning.batches)
    state = TrainState(Position(5, 1, 1), num_real_positions=15, num_positions=20, history=HISTORY, saved=(2, 4))
    summary = outputs.summarise(config, torch.device("cpu"), sampler, nn.Linear(3, 2), state)
    assert len(summary.pop("vocabulary")) == 64
    assert summary == {
        "updates": 4,
        "stopped": stopped,
        "best": HISTORY[0],
        "precision": "fp32",
        "padding_share": 0.25,
        "num_parameters": 8,
        "pairs": 3,
        "pairs_used": 2,
        "params": {"training.seed": 1},
    }


def test_speed_is_printed(capsys, monkeypatch):
    monkeypatch.setattr(outputs, "peak_memory_gib", lambda where: 1.5)
    monkeypatch.setattr(outputs.progress, "say", print)
    outputs.log_speed(no_run(), "toy", 4, 24691, 2.0, torch.device("cpu"))
    outputs.log_speed(no_run(), "toy", 4, 0, 0.0, torch.device("cpu"))  # no update was made
    assert capsys.readouterr().out == "toy 12,346 target tokens/s without padding, peak memory 1.50 GiB\n"
