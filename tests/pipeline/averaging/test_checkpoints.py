import torch
from pipeline.averaging.checkpoints import average_checkpoints

from pipeline.compute import weights


def test_the_mean_by_hand(tmp_path):
    """In fp64: 2^24 + 1 is lost in fp32."""
    for name, value in (("a", 2.0**24), ("b", 1.0), ("c", 1.0), ("d", -(2.0**24))):
        weights.save(tmp_path / name, {"weight": torch.tensor([value, 3.0])})
    average = average_checkpoints([tmp_path / name for name in "abcd"])
    assert average["weight"].tolist() == [0.5, 3.0]
    assert average["weight"].dtype == torch.float32
