"""A search: what may be asked, what it tries, that it goes on where it ended, and what it leaves."""

import ast
import json
import re
import sqlite3
import statistics
import sys
from pathlib import Path

import pytest
from dvc.utils.serialize import modify_yaml

pytest.importorskip("optuna", reason="no package optuna: the extra `search` is not installed")

from hydra.core.override_parser.overrides_parser import OverridesParser

from pipeline.commands.search import Search
from pipeline.system import System
from pipeline.tracking.deadline import Deadline
from tests.toys import trainings

module = sys.modules[Search.__module__]  # the package has no such name before the command runs
SYSTEM = trainings.SYSTEM
TINY = "models.transformer_prenorm.tiny"
RATE = f"{TINY}.schedule.peak_rate=tag(log,interval(1e-3,1e-1))"
SHORT = ("-S", "training.toy.updates=8", "-S", "training.toy.validation_interval=4")


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A folder with what a training reads, to which the test goes; its runs are tracked nowhere."""
    trainings.lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", module.EXPERIMENT)  # so that what the command sets is taken back
    over = Deadline()
    over.give_up()
    monkeypatch.setattr(module.runs, "deadline", over)
    return tmp_path


@pytest.fixture
def search(run):
    """Search with settings; the lines that the command prints."""

    def search_here(*words: str, trials: int) -> list[str]:
        said = run("search", "--system", SYSTEM, *words, "--trials", str(trials))
        assert said.status == 0, said.err
        return said.out.splitlines()

    return search_here


def test_a_trial_is_the_training_that_the_stage_would_run(project, search):
    [trial, best, to_build] = search("-S", f"{TINY}.schedule.peak_rate=0.02,0.02", trials=1)
    trainings.edit(project, "peak_rate: 1e-2", "peak_rate: 0.02")
    trainings.finish(project)
    loss = json.loads((project / f"runs/{SYSTEM}/train/training.json").read_text())["best"]["validation_loss"]
    assert trial == f"trial 1: peak_rate 0.02: validation loss {loss:.4f}"
    assert best == f"best of 1: validation loss {loss:.4f}, {TINY}.schedule.peak_rate=0.02"
    assert to_build == f"to build it: dvc exp run -S {TINY}.schedule.peak_rate=0.02"
    [(value,)] = sqlite3.connect(project / module.STORE).execute("select value from trial_values")
    assert value == loss


def test_a_search_that_was_interrupted_tries_what_it_would_have_tried(project, search, monkeypatch):
    asked = ("-S", RATE, "-S", f"{TINY}.feed_forward=interval(16,32)", *SHORT)
    whole = search(*asked, trials=4)
    (project / module.STORE).unlink()

    def interrupted(self, config, trial, run, label):
        if trial.number == 2:
            raise KeyboardInterrupt
        return loss(self, config, trial, run, label)

    loss = module.Search.loss
    with monkeypatch.context() as patch:
        patch.setattr(module.Search, "loss", interrupted)
        with pytest.raises(AssertionError):
            search(*asked, trials=4)
    assert search(*asked, trials=4) == whole[2:]
    assert search(*asked, trials=4) == whole[4:]  # all are there: only the end is printed


def test_values_are_drawn_from_what_was_asked(project, search, monkeypatch):
    tried = []

    def loss(self, config, trial, run, label):
        arch, schedule = config.arch, config.learning.schedule
        assert (config.training.updates, config.training.seed) == (8, 1)
        tried.append((schedule.peak_rate, arch.feed_forward, arch.dropout, arch.tied_embeddings))
        return abs(schedule.peak_rate - 1e-2)

    monkeypatch.setattr(module.Search, "loss", loss)
    whole, share = f"{TINY}.feed_forward=interval(2,40)", f"{TINY}.dropout=interval(0,0.5)"
    search("-S", RATE, "-S", whole, "-S", share, "-S", f"{TINY}.tied_embeddings=all,output", *SHORT, trials=15)
    rates, sizes, shares, tied = zip(*tried, strict=True)
    assert all(1e-3 <= rate <= 1e-1 and rate == float(f"{rate:.3g}") for rate in rates)
    assert 3 <= sum(rate < 1e-2 for rate in rates) <= 12  # half of a logarithmic scale
    assert all(isinstance(size, int) and 2 <= size <= 40 for size in sizes)
    assert all(0 <= one <= 0.5 for one in shares)
    assert set(tied) == {"all", "output"}
    assert len(set(rates)) > 10


def test_a_range_has_its_whole_numbers(project, search, monkeypatch):
    monkeypatch.setattr(module.Search, "loss", lambda self, config, *_: float(config.arch.encoder_layers))
    lines = search("-S", f"{TINY}.encoder_layers=range(2,4)", trials=6)
    assert {line.split(": ")[1] for line in lines[:6]} == {"encoder_layers 2", "encoder_layers 3"}
    assert lines[-1] == f"to build it: dvc exp run -S {TINY}.encoder_layers=2"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"),
        (True, "true"),
        (0.001, "0.001"),
        ("all", "all"),
        ({"kind": "linear", "warmup": 5}, "{kind: linear, warmup: 5}"),
        ([1, None], "[1, null]"),
    ],
)
def test_the_command_has_values_as_hydra_reads_them(value, written):
    assert module.written(value) == written
    assert OverridesParser.create().parse_override(f"a.b={written}").value() == value


def test_a_trial_worse_than_most_ends_early(project, search, monkeypatch):
    def validate(self, net, device, ranks, update):
        return {"validation_loss": float(self.training.seed)}

    monkeypatch.setattr(module.setup.Validator, "validate", validate)
    lines = search("-S", "training.default.seed=interval(1,1000)", *SHORT, trials=12)
    finished, ended = [], []
    for seed, how in (re.fullmatch(r"trial \d+: seed (\d+): (.+)", line).groups() for line in lines[:12]):
        if how == "ended early at update 4":
            ended.append(int(seed))
            assert len(finished) >= module.STARTUP_TRIALS
            assert int(seed) > statistics.median(finished)
        else:
            finished.append(int(seed))
    assert ended


def test_a_loss_that_diverges_is_the_worst(project, search, run, monkeypatch):
    def loss(self, config, *_):
        if config.learning.schedule.peak_rate > 0.01:
            raise module.DivergedError("update 1")
        return 2.0

    monkeypatch.setattr(module.Search, "loss", loss)
    lines = search("-S", f"{TINY}.schedule.peak_rate=0.001,0.1", trials=6)
    assert "trial 1: peak_rate 0.1: diverged" in [re.sub(r"\d+", "1", line, count=1) for line in lines]
    assert lines[-2] == f"best of 6: validation loss 2.0000, {TINY}.schedule.peak_rate=0.001"
    fewer = search("-S", f"{TINY}.schedule.peak_rate=0.001,0.1", trials=3)  # than there are already
    assert fewer[-2] == lines[-2]
    said = run("search", "--system", SYSTEM, "-S", f"{TINY}.schedule.peak_rate=0.1,0.2", "--trials", "1")
    assert said.status == 1
    assert said.err == f"error: {SYSTEM}: the loss diverged in all trials, got 1; expected lower learning rates\n"


def fails_of(fails, *words):
    return fails("search", "--system", SYSTEM, *words)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        (
            [f"{TINY}.dropout"],
            f"-S: missing EQUAL at '<EOF>', got '{TINY}.dropout'; expected KEY=VALUES",
        ),
        ([f"{TINY}.dropout=0.1"], f"-S: nothing to search, got {TINY}.dropout=0.1; expected a key with several values"),
        (["decode.beam_size=1,5"], f"-S: decode.beam_size: not read by the training of {SYSTEM}; expected a key of "),
        (
            [f"{TINY}.droput=0.1,0.2"],
            f"params.yaml: {TINY}.droput: no such section; nearest is 'dropout'",
        ),
        (
            [f"{TINY}.dropout=interval(0.1,1.5)"],
            f"params.yaml: {TINY}.dropout: should be less than or equal to 0.99, got 1.5",
        ),
        ([f"{TINY}.heads=2,3"], f"params.yaml: {TINY}.heads: must divide width 16, got 3"),
        (
            [f"{TINY}.dropout=interval(0.5,0.1)"],
            f"-S: {TINY}.dropout: no interval, got 0.5 to 0.1; expected low < high",
        ),
        (
            [f"{TINY}.dropout=tag(log,interval(0,0.1))"],
            f"-S: {TINY}.dropout: no interval, got 0 to 0.1; expected 0 < low < high",
        ),
        (
            [f"{TINY}.width=interval(1,inf)"],
            f"-S: {TINY}.width: no interval, got 1 to inf; expected low < high, both finite",
        ),
        (
            [f"{TINY}.width=interval(1.2,1.9)"],
            f"-S: {TINY}.width: no two whole numbers in the interval, got '{TINY}.width=interval(1.2,1.9)'; expected",
        ),
        (
            [f"{TINY}.width=interval(0,0.5)"],
            f"-S: {TINY}.width: no two whole numbers in the interval, got '{TINY}.width=interval(0,0.5)'; expected two",
        ),
        ([f"{TINY}.width=range(0,1,0)"], f"-S: {TINY}.width: no range, got 0 to 1 by 0; expected such as range(2,6)"),
        ([f"{TINY}.width=range(1,inf)"], f"-S: {TINY}.width: no range, got 1 to inf by 1; expected such as range(2,6)"),
        (
            [f"{TINY}.width=range(1,1e6)"],
            f"-S: {TINY}.width: has too many values, got 1 to 1e+06 by 1; expected an interval",
        ),
        ([f"{TINY}.dropout=glob(*)"], f"-S: {TINY}.dropout: no values, got 'glob(*)'; expected KEY=VALUES"),
    ],
)
def test_a_wrong_setting_is_one_line(project, fails, settings, fault):
    said = fails_of(fails, *(word for setting in settings for word in ("-S", setting)))
    assert said.startswith(fault)
    assert not (project / module.STORE).exists()


def test_a_key_that_the_size_replaces_is_one_line(project, fails):
    with modify_yaml("params.yaml") as params:
        params["models"]["transformer_prenorm"]["default"]["dropout"] = 0.2
    key = "models.transformer_prenorm.default.dropout"
    said = fails_of(fails, "-S", f"{key}=0.1,0.2")
    assert said == f"-S: {key}: is replaced by {TINY}.dropout; expected that key"


def test_a_system_without_ids_is_one_line(project, fails):
    (project / "data/encode/toy-joint/train").rename(project / "elsewhere")
    assert fails_of(fails, "-S", RATE) == (
        f"--system: not encoded yet, got '{SYSTEM}'; expected what `dvc repro encode@toy-joint` builds"
    )


def test_without_optuna_it_is_one_line(project, fails, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert re.fullmatch(
        r"optuna: no such package, got .+; expected what `pip install optuna` installs", fails_of(fails, "-S", RATE)
    )


def test_it_sets_what_the_training_reads(project_root):
    tree = ast.parse((project_root / "stages/train.py").read_text(encoding="utf-8"))
    [reads] = [ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "READS"]
    assert reads == module.READS


def test_a_value_stands_in_for_that_of_params_yaml(project):
    system = System.parse(SYSTEM)
    before, after = (module.configured(system, values) for values in ({}, {"training.default.seed": 7}))
    assert (before.training.seed, after.training.seed) == (1, 7)
    assert after.training.changed(seed=1) == before.training
    assert (after.arch, after.learning) == (before.arch, before.learning)


def test_a_further_seed_is_trained_with(project):
    assert module.configured(System.parse(f"{SYSTEM}-2"), {}).training.seed == 2


def test_every_trial_is_a_run_of_mlflow(project, search, monkeypatch):
    # Absolute: MLflow keeps a store of each address for as long as the process lives, whatever folder it was in.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{project}/mlflow.db")
    monkeypatch.setattr(module.runs, "deadline", Deadline())
    search("-S", f"{TINY}.dropout=0.1,0.1", *SHORT, trials=1)
    store = sqlite3.connect(project / "mlflow.db")
    [(name, experiment, status)] = store.execute("select name, experiment_id, status from runs")
    assert (name, status) == ("trial 1: dropout 0.1", "FINISHED")
    [(found,)] = store.execute("select name from experiments where experiment_id = ?", [experiment])
    assert found == "nmt-search"
    tags = dict(store.execute("select key, value from tags"))
    assert (tags["nmt.trial"], tags["nmt.system"]) == ("1", SYSTEM)
    assert tags["nmt.search"].startswith(f"{SYSTEM}-")
    assert tags["nmt.ended"].startswith("validation loss ")
    assert dict(store.execute("select key, value from params")) == {f"{TINY}.dropout": "0.1"}
    steps = store.execute("select step from metrics where key = 'validation_loss' order by step")
    assert [step for (step,) in steps] == [4, 8]


def test_a_seed_that_is_too_large_is_one_line(project, fails):
    assert fails("search", "--system", f"{SYSTEM}-99999999999", "-S", RATE) == (
        "seed: should be at most 2147483647, got 99999999999"
    )
