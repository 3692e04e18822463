import re

import pytest
import torch

from pipeline.averaging import Averaging, average_checkpoints
from pipeline.files import DataError
from pipeline.params import ParamsError
from pipeline.training import checkpoint_file


@pytest.fixture
def write(tmp_path):
    def saved(name, **weights):
        checkpoint_file.write(tmp_path / name, {key: torch.tensor(value) for key, value in weights.items()}, {})
        return tmp_path / name

    return saved


def test_by_hand(write):
    paths = [
        write("a", weight=[[1.0, 2.0], [3.0, 4.0]], bias=[0.0]),
        write("b", weight=[[2.0, 2.0], [0.0, -4.0]], bias=[1.0]),
        write("c", weight=[[3.0, 2.0], [0.0, 9.0]], bias=[0.5]),
    ]
    average = average_checkpoints(paths)
    assert {name: weight.tolist() for name, weight in average.items()} == {
        "weight": [[2.0, 2.0], [1.0, 3.0]],
        "bias": [0.5],
    }
    assert {weight.dtype for weight in average.values()} == {torch.float32}


def test_one_is_itself_and_many_of_one_too(write):
    path = write("a", weight=[0.1, 1e-30, -3e7])
    for count in (1, 3, 7):
        assert torch.equal(average_checkpoints([path] * count)["weight"], torch.tensor([0.1, 1e-30, -3e7]))


def test_sums_are_in_fp64(write):
    """In fp32 the 1 would be lost beside 1e8."""
    paths = [write("a", weight=[1e8]), write("b", weight=[1.0]), write("c", weight=[-1e8])]
    torch.testing.assert_close(average_checkpoints(paths)["weight"], torch.tensor([1 / 3]))


@pytest.mark.parametrize(
    "other", [{"weight": [1.0, 2.0, 3.0]}, {"wait": [1.0, 2.0]}, {"weight": [1.0, 2.0], "b": [0.0]}]
)
def test_files_of_different_models_are_refused(write, other):
    first, second = write("first", weight=[1.0, 2.0]), write("second", **other)
    expected = f"{second}: weights differ in name or shape from {first}; expected the same model"
    with pytest.raises(DataError, match=f"^{re.escape(expected)}$"):
        average_checkpoints([first, first, second])


def test_faults_of_the_section_are_named(tmp_path):
    (tmp_path / "params.yaml").write_text("average: {tiny: {checkpoints: 0}}")
    with pytest.raises(ParamsError, match=r"params.yaml: average.tiny.checkpoints: should be greater than 0, got 0$"):
        Averaging.load("average.tiny", tmp_path / "params.yaml")
