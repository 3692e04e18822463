"""Every model learns: to say digits again, and to say them backwards, from seeds never tried before."""

import random

import pytest

from pipeline.commands.copy_task import read_arch, run
from pipeline.models import interface

MODELS = interface.names()
QUICKEST = ("gru_attention", "transformer_prenorm")  # each of the others takes up to a minute


@pytest.fixture(autouse=True)
def params(monkeypatch, project_root):
    """Each model has the size `tiny` of this project's params.yaml, as `nmt copy-task` has."""
    monkeypatch.chdir(project_root)


def assert_learns(name, *, enough, reverse, batch_size, updates, length):
    """The model says enough of the unseen sentences exactly before the updates run out; each check has new ones."""
    seed, share = random.SystemRandom().randrange(2**31), 0.0
    asked = {"reverse": reverse, "batch_size": batch_size, "updates": updates, "interval": 50, "length": length}
    for check in run(name, read_arch(name, "tiny"), seed=seed, **asked):
        share = max(share, check.exact)
        if share >= enough:
            return
    pytest.fail(f"seed {seed}: {share:.1%} exact after {updates} updates")


@pytest.mark.parametrize(
    "name", [name if name in QUICKEST else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]
)
@pytest.mark.parametrize(
    "reverse", [pytest.param(False, marks=pytest.mark.slow, id="copy"), pytest.param(True, id="reverse")]
)
def test_five_digits_never_seen_come_out_exactly(name, reverse):
    assert_learns(name, enough=0.9, reverse=reverse, batch_size=80, updates=2000, length=5)


@pytest.mark.parametrize(
    "name", [name if name == "gru_attention" else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]
)
def test_one_sentence_an_update_is_enough(name):
    assert_learns(name, enough=0.9, reverse=False, batch_size=1, updates=8000, length=3)


@pytest.mark.slow
@pytest.mark.parametrize("trial", range(3))
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("reverse", [False, True], ids=["copy", "reverse"])
def test_ten_digits_never_seen_come_out_exactly(name, reverse, trial):
    assert_learns(name, enough=0.95, reverse=reverse, batch_size=80, updates=4000, length=10)
