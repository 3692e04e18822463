import pytest

from pipeline.params import ParamsError
from pipeline.training.learning import Learning


def test_faults_are_named(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text(
        "learning:\n"
        "  optimizer: {kind: sgd, beta1: 1.0, beta2: 0.98, epsilon: 0.0, weight_decay: -1.0}\n"
        "  schedule: {kind: noamm, factor: 1.0, warmup: 4000}\n"
        "  label_smoothing: 1.0\n"
        "  smoothing_spread: other\n"
        "  clip: 0.0\n"
        "  precision: fp16\n"
    )
    with pytest.raises(ParamsError) as caught:
        Learning.load("learning", path)
    assert [line.removeprefix(f"{path}: learning.") for line in str(caught.value).splitlines()] == [
        "optimizer.kind: should be 'adam' or 'adamw', got 'sgd'",
        "optimizer.beta1: should be less than 1, got 1.0",
        "optimizer.epsilon: should be greater than 0, got 0.0",
        "optimizer.weight_decay: should be greater than or equal to 0, got -1.0",
        "schedule.kind: unknown choice, got 'noamm'; nearest is 'noam'",
        "label_smoothing: should be less than 1, got 1.0",
        "smoothing_spread: should be 'all' or 'others', got 'other'",
        "clip: should be greater than 0, got 0.0",
        "precision: should be 'fp32' or 'bf16', got 'fp16'",
    ]


def test_keys_of_the_schedule_are_those_of_its_kind(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text(
        "learning:\n"
        "  optimizer: {kind: adam, beta1: 0.9, beta2: 0.98, epsilon: 1e-9, weight_decay: 0.0}\n"
        "  schedule: {kind: inverse_sqrt, peek_rate: 1e-3, warmup: 0}\n"
        "  label_smoothing: 0.1\n"
        "  smoothing_spread: others\n"
        "  clip: 1.0\n"
        "  precision: bf16\n"
    )
    with pytest.raises(ParamsError) as caught:
        Learning.load("learning", path)
    assert [line.removeprefix(f"{path}: learning.") for line in str(caught.value).splitlines()] == [
        "schedule.peak_rate: is missing",
        "schedule.warmup: should be greater than 0, got 0",
        "schedule.peek_rate: unknown key; nearest is 'peak_rate'",
    ]
