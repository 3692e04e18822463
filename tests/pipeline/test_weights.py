"""The weights of another network, broken or not finite ones are refused, each by its text."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from pipeline import weights
from pipeline.files import DataError

PATH, EXPECTED = Path("runs/model.safetensors"), "what a stage builds"


@pytest.fixture
def net():
    return nn.Linear(2, 1)


@pytest.fixture
def save(tmp_path, monkeypatch, net):
    """Save the weights of `net`, some changed, where those of the system stand."""
    monkeypatch.chdir(tmp_path)
    path = PATH
    path.parent.mkdir(parents=True)

    def save_changed(**changed):
        kept = {name: tensor for name, tensor in (net.state_dict() | changed).items() if tensor is not None}
        save_file(kept, path)
        return path

    return save_changed


def test_weights_are_loaded_as_they_were_saved(save, net):
    save(bias=torch.tensor([7.0]))
    assert weights.read(PATH, net, EXPECTED)["bias"].tolist() == [7.0]
    assert weights.read(PATH, net.to("meta"), EXPECTED)["bias"].tolist() == [7.0]


OTHER = "weights of another network than this code's"


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"bias": None}, f"{OTHER}, without bias"),
        ({"more": torch.zeros(1)}, f"{OTHER}, with more"),
        ({"bias": torch.zeros(2)}, f"{OTHER}, bias is (2,) in place of (1,)"),
        ({"bias": torch.zeros(1, dtype=torch.float64)}, "bias is torch.float64 in place of torch.float32"),
        ({"bias": torch.tensor([float("nan")])}, "bias holds a number that is not finite"),
        ({"bias": torch.tensor([-float("inf")])}, "bias holds a number that is not finite"),
    ],
)
def test_what_does_not_fit_is_named(save, net, changed, what):
    path = save(**changed)
    with pytest.raises(DataError) as caught:
        weights.read(PATH, net, EXPECTED)
    assert str(caught.value) == f"{path}: {what}; expected {EXPECTED}"


@pytest.mark.parametrize("data", [b"", b"x" * 100, None])
def test_broken_files_are_named(save, net, data):
    path = save()
    path.write_bytes(path.read_bytes()[:-1] if data is None else data)
    with pytest.raises(DataError) as caught:
        weights.read(PATH, net, EXPECTED)
    assert str(caught.value).startswith(f"{path}: not a whole file of weights (")
    path.unlink()
    with pytest.raises(DataError) as caught:
        weights.read(PATH, net, EXPECTED)
    assert str(caught.value) == f"{path}: no such file; expected {EXPECTED}"


BUILDS = """
import sys
from pipeline import weights
from tests.toys import networks

with weights.shapes_alone():
    found = {name: networks.build(name) for name in networks.NAMES}
assert not {"torch._dynamo", "sympy"} & sys.modules.keys()
for name, net in found.items():
    usual = networks.build(name)
    for kind in ("named_parameters", "named_buffers"):
        shapes = {key: (value.shape, value.dtype) for key, value in getattr(net, kind)()}
        assert shapes == {key: (value.shape, value.dtype) for key, value in getattr(usual, kind)()}
        assert all(value.is_meta for _, value in getattr(net, kind)())
"""


def test_shapes_need_no_compiler(project_root):
    """torch's takes more than a second to import, which each `nmt translate` would wait for."""
    done = subprocess.run([sys.executable, "-c", BUILDS], cwd=project_root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
