"""The weights of another network, broken or not finite ones are refused, each by its text."""

import json

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from pipeline.common.files import DataError
from pipeline.compute import weights

OTHER = "weights of another network than this code's"
NET = nn.Linear(2, 1)


def test_weights_are_loaded_as_they_were_saved(tmp_path):
    weights.save(tmp_path / "a.safetensors", {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([7.0])})
    weights.load(tmp_path / "a.safetensors", net := nn.Linear(2, 1), "")
    assert net(torch.ones(2)).item() == 10.0


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"bias": None}, f"{OTHER}, without bias"),
        ({"more": torch.zeros(1)}, f"{OTHER}, with more"),
        ({"bias": torch.zeros(2)}, f"{OTHER}, bias is (2,) in place of (1,)"),
        ({"bias": torch.zeros(1, dtype=torch.float64)}, "bias is torch.float64 in place of torch.float32"),
        ({"bias": torch.tensor([float("nan")])}, "bias holds a number that is not finite"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, changed, fault):
    path = tmp_path / "model.safetensors"
    tensors = NET.state_dict() | changed
    weights.save(path, {name: tensor for name, tensor in tensors.items() if tensor is not None})
    with pytest.raises(DataError) as caught:
        weights.load(path, NET, "what a stage builds")
    assert str(caught.value) == f"{path}: {fault}; expected what a stage builds"


def test_weights_that_were_changed_are_refused(tmp_path):
    """Values, or names that were exchanged; and what another program wrote, unless its folder has checksums."""
    path, tensors = tmp_path / "model.safetensors", {"a": torch.ones(2), "b": torch.zeros(2)}
    for other in ({"a": torch.ones(2), "b": torch.tensor([0.0, 1e-9])}, {"a": tensors["b"], "b": tensors["a"]}):
        save_file(other, path, {weights.KEY: json.dumps({weights.CHECKSUM: weights.checksum(tensors)})})
        with pytest.raises(DataError, match=r"model\.safetensors: other weights than its checksum says; expected x$"):
            weights.read(path, "x")
    save_file(tensors, path)
    with pytest.raises(DataError, match="weights without a checksum; expected x"):
        weights.read(path, "x")
    assert weights.read(path, "x", is_sealed=True)[0].keys() == tensors.keys()


@pytest.mark.parametrize(
    ("data", "fault"), [(None, "no such file; expected x"), (b"x" * 100, "not a whole file of weights (")]
)
def test_broken_files_are_named(tmp_path, data, fault):
    path = tmp_path / "model.safetensors"
    if data:
        path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        weights.load(path, NET, "x")
    assert str(caught.value).startswith(f"{path}: {fault}")
