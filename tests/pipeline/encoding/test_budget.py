import pytest

from pipeline.encoding.budget import Batches, Training
from pipeline.params import ParamsError, Section
from tests.toys.samples import TRAINING


def faults(tmp_path, **changed):
    path = tmp_path / "params.yaml"
    keys = TRAINING | changed
    lines = (f"  {key}: {value}\n" for key, value in keys.items() if value is not None)
    path.write_text("training:\n" + "".join(lines).lower())
    with pytest.raises(ParamsError) as caught:
        Training.load("training", path)
    return [line.removeprefix(f"{path}: training.") for line in str(caught.value).splitlines()]


def test_faults_are_named(tmp_path):
    changed = {"updates": 0, "tokens_per_update": 1.5, "max_length": 1, "patience": -1}
    changed |= {"threads": -1, "exact": None, "exakt": 1}
    assert faults(tmp_path, **changed) == [
        "updates: should be greater than 0, got 0",
        "tokens_per_update: should be a valid integer, got 1.5",
        "max_length: should be greater than or equal to 2, got 1",
        "patience: should be greater than or equal to 0, got -1",
        "threads: should be greater than or equal to 0, got -1",
        "exact: is missing",
        "exakt: unknown key; nearest is 'exact'",
    ]


def test_validations_stand_at_checkpoints(tmp_path):
    assert faults(tmp_path, validation_interval=250, checkpoint_interval=100) == [
        "validation_interval: must be a multiple of checkpoint_interval 100, got 250"
    ]
    Training.model_validate(TRAINING | {"validation_interval": 300, "checkpoint_interval": 100})


class Holder(Section):
    batches: Batches


@pytest.mark.parametrize(
    ("batches", "said"),
    [
        ({}, "kind: is missing"),
        ({"kind": "pairs"}, "kind: unknown choice, got 'pairs'; expected one of sentences, tokens"),
        ({"kind": "tokens", "pool_pairs": 9}, "pool_pairs: unknown key; expected one of kind"),
        ({"kind": "sentences", "pool_pairs": 9}, "sentences_per_update: is missing"),
        (
            {"kind": "sentences", "sentences_per_update": 0, "pool_pairs": 9},
            "sentences_per_update: should be greater t",
        ),
        (
            {"kind": "sentences", "sentences_per_update": 80, "pool_pairs": 1500},
            "pool_pairs: must be a multiple of sentences_per_update 80, got 1500",
        ),
    ],
)
def test_faults_of_batches_are_named(batches, said):
    [fault] = Holder.faults({"batches": batches}, "learning")
    assert fault.startswith(f"params.yaml: learning.batches.{said}")


@pytest.mark.parametrize(("updates", "interval"), [(24, 1), (60, 1), (61, 2), (600, 10), (4000, 67), (100_000, 1667)])
def test_the_curve_of_the_loss_has_at_most_sixty_points(updates, interval):
    training = Training.model_validate(TRAINING | {"updates": updates})
    assert training.curve_interval == interval
    assert min(updates, 30) <= updates / interval <= 60
