"""Which checkpoints are averaged, and their mean."""

import numpy as np
import torch

from pipeline.averaging.checkpoints import average_checkpoints, names_to_average
from pipeline.compute import weights

KEPT = {"last": ["update_30", "update_40", "update_50"], "best": ["update_20"]}


def test_a_training_that_ran_out_of_patience_is_averaged_up_to_its_best_update():
    assert names_to_average(KEPT, "updates", 2) == ["update_40", "update_50"]
    assert names_to_average(KEPT, "patience", 2) == ["update_20"]
    assert names_to_average(KEPT | {"best": ["update_40"]}, "patience", 2) == ["update_30", "update_40"]
    assert names_to_average(KEPT | {"best": []}, "patience", 1) == ["update_50"]


def test_the_mean_by_hand(tmp_path):
    """In fp64: 2^24 + 1 is lost in fp32."""
    for name, value in (("a", 2.0**24), ("b", 1.0), ("c", 1.0), ("d", -(2.0**24))):
        weights.save(tmp_path / name, {"weight": torch.tensor([value, 3.0])})
    average = average_checkpoints([tmp_path / name for name in "abcd"])
    assert average["weight"].tolist() == [0.5, 3.0]
    assert average["weight"].dtype == np.float32
    weights.save(tmp_path / "array", average)
    weights.save(tmp_path / "tensor", {"weight": torch.tensor([0.5, 3.0])})
    assert (tmp_path / "array").read_bytes() == (tmp_path / "tensor").read_bytes()
