import base64
import shutil

import numpy as np
import pytest
import torch

from pipeline.commands import anatomy
from pipeline.training.learning import Learning
from pipeline.training.loss import smoothed_cross_entropy
from tests.toys.samples import LEARNING


@pytest.fixture
def project(tmp_path, project_root, monkeypatch):
    """A folder with the parameters of this project, to which the test goes."""
    shutil.copyfile(project_root / "params.yaml", tmp_path / "params.yaml")
    for folder in ("corpora", "configs"):
        shutil.copytree(project_root / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def learning(**changes):
    return Learning.model_validate(LEARNING | changes)


def values(matrix):
    [encoded] = matrix["maps"][0]["heads"].values()
    shape = len(matrix["target"]), len(matrix["source"])
    return np.frombuffer(base64.b64decode(encoded), np.uint8).reshape(shape) / 255


def test_the_page_has_every_part(run, project):
    said = run("anatomy")
    assert (said.status, said.out, said.err) == (0, "work/anatomy.html\n", "")
    page = (project / "work/anatomy.html").read_text()
    assert all(part in page for part in ("Positional encoding", "Learning rate", "label smoothing", "causal mask"))


def test_rates_in_shares_of_the_highest():
    noam = learning(schedule={"kind": "noam", "factor": 2.0, "warmup": 250})
    line = anatomy.rates({"a": noam}).lines["a"]
    assert [point.text for point in line if point.text.startswith(("250:", "1,000:"))] == ["250: 1", "1,000: 0.5"]


@pytest.mark.parametrize(("smoothing", "spread"), [(0.1, "all"), (0.1, "others"), (0.0, "all")])
def test_targets_are_those_that_the_loss_learns_towards(smoothing, spread):
    """Its gradient is softmax - target; of even logits the softmax is even."""
    size = len(anatomy.PIECES)
    rows = values(anatomy.targets(learning(label_smoothing=smoothing, smoothing_spread=spread)))
    for row, piece in zip(rows, anatomy.TARGET, strict=True):
        logits, gold = torch.zeros(1, size, requires_grad=True), torch.tensor([anatomy.PIECES.index(piece)])
        smoothed_cross_entropy(logits, gold, smoothing=smoothing, spread=spread).backward()
        np.testing.assert_allclose(row, 1 / size - logits.grad[0].numpy(), atol=1 / 255)


def test_the_decoder_sees_no_later_piece():
    assert values(anatomy.causal_mask()).tolist() == np.tri(len(anatomy.TARGET)).tolist()
