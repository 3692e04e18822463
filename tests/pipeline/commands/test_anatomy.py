import shutil

import numpy as np
import pytest
import torch

from pipeline import ids
from pipeline.commands import anatomy as shown
from pipeline.params import read_yaml
from pipeline.training.learning import Learning
from pipeline.training.loss import smoothed_cross_entropy
from tests.toys.samples import LEARNING


@pytest.fixture
def project(tmp_path, project_root, monkeypatch):
    """A folder with a valid params.yaml, to which the test goes."""
    shutil.copyfile(project_root / "tests/toys/params.yaml", tmp_path / "params.yaml")
    shutil.copytree(project_root / "tests/toys/corpora", tmp_path / "corpora")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_page_and_pictures(run, project):
    said = run("anatomy")
    assert (said.status, said.out, said.err) == (0, "work/anatomy/index.html\n", "")
    page = (project / "work/anatomy/index.html").read_text()
    for model, sizes in read_yaml(project / "params.yaml")["models"].items():
        for size in set(sizes) - {"default"}:
            assert f"{model} {size}" in page
    assert "default" not in page
    assert list((project / "work/anatomy").glob("*.png"))
    assert run("anatomy", "--out", "elsewhere").out == "elsewhere/index.html\n"
    assert (project / "elsewhere/index.html").read_bytes() == (project / "work/anatomy/index.html").read_bytes()


def test_a_fault_of_params_yaml_is_named(fails, project):
    text = (project / "params.yaml").read_text()
    (project / "params.yaml").write_text(text.replace("beam_size: 2", "beam_size: 0"))
    assert fails("anatomy") == "params.yaml: decode.beam_size: should be greater than 0, got 0"


def test_a_schedule_in_words():
    learning = Learning.model_validate(LEARNING | {"schedule": {"kind": "noam", "factor": 2.0, "warmup": 2000}})
    assert shown.name_schedule("m tiny", learning) == "m tiny: noam, warmup 2000"
    assert shown.name_schedule("m tiny", Learning.model_validate(LEARNING)) == "m tiny: constant"
    linear = {"kind": "linear", "peak_rate": 1e-3, "warmup": 400}
    learning = Learning.model_validate(LEARNING | {"schedule": linear})
    assert shown.name_schedule("m tiny", learning) == "m tiny: linear, warmup 400, 20000 updates"


def test_rates_by_hand():
    noam = {"kind": "noam", "factor": 1.0, "warmup": 4000}
    rates = shown.rates(512, Learning.model_validate(LEARNING | {"schedule": noam}))
    peak = shown.UPDATES.index(4000)
    assert len(rates) == len(shown.UPDATES)
    assert rates.argmax() == peak
    assert rates[peak] == pytest.approx(512**-0.5 * 4000**-0.5)
    assert rates[0] == pytest.approx(512**-0.5 * 4000**-1.5)


@pytest.mark.parametrize(("smoothing", "spread"), [(0.1, "all"), (0.1, "others"), (0.0, "all"), (0.3, "others")])
def test_targets_are_those_that_the_loss_learns_towards(smoothing, spread):
    """Its gradient is softmax - target; of even logits the softmax is even."""
    size = len(shown.PIECES)
    for row, piece in zip(shown.targets(smoothing, spread), shown.GOLD, strict=True):
        gold = shown.PIECES.index(piece)
        if gold == ids.PAD:
            assert not row.any()
            continue
        logits = torch.zeros(1, size, requires_grad=True)
        smoothed_cross_entropy(logits, torch.tensor([gold]), smoothing=smoothing, spread=spread).backward()
        np.testing.assert_allclose(row, 1 / size - logits.grad[0].numpy(), atol=1e-6)
        assert row.sum() == pytest.approx(1)


def test_penalties_by_hand():
    """Plain cross-entropy is -log p; a smoothed target is met best at its own mass, and confidence beyond costs."""
    np.testing.assert_allclose(shown.penalties(0.0, "all"), -np.log(shown.CONFIDENCE), atol=1e-5)
    smoothed = shown.penalties(0.1, "all")
    assert shown.CONFIDENCE[smoothed.argmin()] == pytest.approx(0.9 + 0.1 / len(shown.PIECES), abs=0.01)
    assert smoothed[-1] > smoothed.min() + 0.2
    assert (np.diff(shown.CONFIDENCE) > 0).all()


def test_label_smoothings_in_words():
    assert [shown.name_smoothing(*one) for one in ((0.0, "others"), (0.1, "all"))] == ["none", "all, 0.1"]


def test_masks_are_what_the_transformer_sees():
    causal, padding, cross = shown.masks().values()
    assert causal.seen.tolist() == np.tri(len(shown.INPUT), dtype=bool).tolist()
    assert padding.seen.tolist() == [[True] * 4, [True] * 3 + [False], [True] * 2 + [False] * 2]
    assert cross.seen.tolist() == [[True] * 3 + [False]] * len(shown.INPUT)
    for mask in (causal, padding, cross):
        assert mask.seen.shape == (len(mask.rows), len(mask.columns))
