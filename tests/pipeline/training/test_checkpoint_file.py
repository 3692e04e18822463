"""A checkpoint file gives back what was written, or an error."""

import json

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from pipeline.training import checkpoint_file
from pipeline.training.checkpoint_file import checksum, parse, write

TENSORS = {"b": torch.arange(6.0).view(2, 3), "a": torch.tensor([1, 2], dtype=torch.int64), "none": torch.empty(0, 3)}
METADATA = {"record": {"saved": [4, 8]}, "text": "é"}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "one.safetensors"
    write(path, TENSORS, METADATA)
    return path


def test_what_was_written_comes_back(path):
    tensors, metadata = parse(path.read_bytes())
    assert metadata == METADATA
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert (tensors[name].dtype, tensors[name].shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(tensors[name], tensor)


def test_anything_that_knows_the_format_reads_it(path):
    assert torch.equal(load_file(path)["b"], TENSORS["b"])


@pytest.mark.parametrize("metadata", [None, {"checkpoint": json.dumps(METADATA)}])
def test_the_bytes_are_those_of_the_library(tmp_path, metadata):
    """Of every type that a file may hold, of views, of names in any order and of one that is not ASCII."""
    tensors = {f"{dtype} é": torch.arange(5).to(dtype) for dtype in reversed(checkpoint_file.DTYPES)}
    tensors |= TENSORS | {"number": torch.tensor(3.0), "transposed": torch.arange(6.0).view(2, 3).t()}
    checkpoint_file.save_tensors(tmp_path / "ours.safetensors", tensors, metadata)
    whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
    assert (tmp_path / "ours.safetensors").read_bytes() == save(whole, metadata)


def test_the_same_bytes_again(tmp_path, path):
    other = tmp_path / "other.safetensors"
    write(other, dict(reversed(TENSORS.items())), METADATA)
    assert other.read_bytes() == path.read_bytes()


def test_any_byte_counts(path):
    """Of the tensors, and of the metadata: here an update's number."""
    data = path.read_bytes()
    place, size = data.index(b"4, 8]"), int.from_bytes(data[:8], "little")
    for index in (place, *range(8 + size, len(data))):
        broken = bytearray(data)
        broken[index] ^= 1
        with pytest.raises(ValueError, match="its checksum does not match"):
            parse(bytes(broken))


@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
def test_a_part_of_it_is_none(path, part):
    data = path.read_bytes()
    with pytest.raises(SafetensorError):
        parse(data[: int(part * len(data))])


def test_a_file_without_a_checksum_is_none(tmp_path):
    with pytest.raises(ValueError, match="its checksum does not match"):
        parse(save(TENSORS, {"checkpoint": json.dumps(METADATA)}))
    with pytest.raises(KeyError):
        parse(save(TENSORS))


def test_shape_and_type_count_as_well_as_bytes():
    flat = {"a": torch.zeros(4)}
    others = [{"a": torch.zeros(2, 2)}, {"a": torch.zeros(4, dtype=torch.int32)}, {"b": torch.zeros(4)}]
    assert len({checksum(tensors, {}) for tensors in (flat, *others)}) == 4
