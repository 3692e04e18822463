import pytest

from pipeline.params import ParamsError
from pipeline.training.learning import Learning
from pipeline.training.optimizers import Adadelta, Adam
from tests.toys import samples


def faults(tmp_path, **lines):
    """What is said of a section whose keys have these texts, those of the toys aside."""
    path = tmp_path / "params.yaml"
    keys = {
        "batches": "{kind: tokens}",
        "optimizer": "{kind: adam, beta1: 0.9, beta2: 0.98, epsilon: 1e-9, weight_decay: 0.0}",
        "schedule": "{kind: constant, learning_rate: 1e-3}",
        "label_smoothing": "0.1",
        "smoothing_spread": "others",
        "r_drop": "0.0",
        "lsi_pairs": "0",
        "clip": "1.0",
        "precision": "bf16",
    }
    path.write_text("learning:\n" + "".join(f"  {key}: {text}\n" for key, text in (keys | lines).items()))
    with pytest.raises(ParamsError) as caught:
        Learning.load("learning", path)
    return [line.removeprefix(f"{path}: learning.") for line in str(caught.value).splitlines()]


def test_faults_are_named(tmp_path):
    changed = {
        "batches": "{kind: token}",
        "optimizer": "{kind: adam, beta1: 1.0, beta2: 0.98, epsilon: 0.0, weight_decay: -1.0}",
        "schedule": "{kind: noamm, factor: 1.0, warmup: 4000}",
        "label_smoothing": "1.0",
        "smoothing_spread": "other",
        "r_drop": "-1.0",
        "clip": "0.0",
        "precision": "fp16",
    }
    assert faults(tmp_path, **changed) == [
        "batches.kind: unknown choice, got 'token'; nearest is 'tokens'",
        "optimizer.beta1: should be less than 1, got 1.0",
        "optimizer.epsilon: should be greater than 0, got 0.0",
        "optimizer.weight_decay: should be greater than or equal to 0, got -1.0",
        "schedule.kind: unknown choice, got 'noamm'; nearest is 'noam'",
        "label_smoothing: should be less than 1, got 1.0",
        "smoothing_spread: should be 'all' or 'others', got 'other'",
        "r_drop: should be greater than or equal to 0, got -1.0",
        "clip: should be greater than 0, got 0.0",
        "precision: should be 'auto', 'fp32' or 'bf16', got 'fp16'",
    ]


def test_keys_of_the_schedule_are_those_of_its_kind(tmp_path):
    assert faults(tmp_path, schedule="{kind: inverse_sqrt, peek_rate: 1e-3, warmup: 0}") == [
        "schedule.peak_rate: is missing",
        "schedule.warmup: should be greater than 0, got 0",
        "schedule.peek_rate: unknown key; nearest is 'peak_rate'",
    ]


def test_keys_of_the_optimizer_are_those_of_its_kind(tmp_path):
    assert faults(tmp_path, optimizer="{kind: sgd}") == [
        "optimizer.kind: unknown choice, got 'sgd'; expected one of adadelta, adam, adamw"
    ]
    assert faults(tmp_path, optimizer="{kind: adadelta, rho: 1.0, epsilon: 0.0, beta1: 0.9}") == [
        "optimizer.rho: should be less than 1, got 1.0",
        "optimizer.epsilon: should be greater than 0, got 0.0",
        "optimizer.beta1: unknown key; expected one of epsilon, kind, rho",
    ]


def test_an_optimizer_is_found_by_its_kind():
    adadelta = {"kind": "adadelta", "rho": 0.95, "epsilon": 1e-6}
    assert isinstance(samples.learning(optimizer=adadelta).optimizer, Adadelta)
    for kind in ("adam", "adamw"):
        assert isinstance(samples.learning(optimizer=samples.LEARNING["optimizer"] | {"kind": kind}).optimizer, Adam)
