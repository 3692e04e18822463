import pytest
import torch

from pipeline.models import interface, transformer_postnorm, transformer_prenorm
from pipeline.params import Section
from tests.toys import ARCH

NAMES = ["transformer_postnorm", "transformer_prenorm"]
SOURCE = torch.tensor([[5, 6, 3], [7, 3, 0], [4, 8, 3]])


def test_a_model_is_found_by_name():
    assert [interface.find(name) for name in NAMES] == [transformer_postnorm, transformer_prenorm]


@pytest.mark.parametrize("name", NAMES)
def test_every_model_answers(name):
    found = interface.find(name)
    assert issubclass(found.Arch, Section)
    model = found.Model(found.Arch.model_validate(ARCH), source_size=9, target_size=10)
    assert isinstance(model, torch.nn.Module)
    hidden = model.hidden(SOURCE, torch.tensor([[2, 4], [2, 5], [2, 6]]))
    assert model.logits(hidden).shape == (3, 2, 10)
    state = model.start(SOURCE)
    logits, after = model.step(state, torch.tensor([2, 2, 2]))
    assert logits.shape == (3, 10)
    assert state.keys() == after.keys()
    assert {len(tensor) for tensor in [*state.values(), *after.values()]} == {3}


def test_select_repeats_reorders_and_drops():
    state = {"one": torch.tensor([[1], [2], [3]]), "two": torch.tensor([10, 20, 30])}
    found = interface.select(state, torch.tensor([2, 0, 2, 2]))
    assert {name: tensor.tolist() for name, tensor in found.items()} == {
        "one": [[3], [1], [3], [3]],
        "two": [30, 10, 30, 30],
    }
    assert state["two"].tolist() == [10, 20, 30]


@torch.no_grad()
@pytest.mark.parametrize("name", NAMES)
def test_rows_selected_go_on_as_they_would_have(name):
    found = interface.find(name)
    model = found.Model(found.Arch.model_validate(ARCH), source_size=9, target_size=10).eval()
    rows, tokens = torch.tensor([2, 0, 0]), torch.tensor([7, 4, 9])
    _, state = model.step(model.start(SOURCE), torch.tensor([2, 2, 2]))
    logits, _ = model.step(interface.select(state, rows), tokens)
    hidden = model.hidden(SOURCE[rows], torch.stack([torch.full_like(tokens, 2), tokens], dim=1))
    torch.testing.assert_close(logits, model.logits(hidden)[:, 1], rtol=1e-5, atol=1e-5)
