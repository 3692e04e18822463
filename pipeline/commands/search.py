"""`nmt search`: try values of what a training reads, and keep those with the lowest validation loss."""

import copy
import json
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pipeline import cli
from pipeline.commands import project
from pipeline.encoding.batching import START, load_batches
from pipeline.encoding.budget import Training
from pipeline.files import DataError
from pipeline.models import interface
from pipeline.params import PATH, Node, find, read_yaml
from pipeline.progress import track
from pipeline.seeding import seed_for
from pipeline.system import System
from pipeline.tracking import runs
from pipeline.training import setup
from pipeline.training.learning import Learning
from pipeline.training.loop import DivergedError, train
from pipeline.training.ranks import Ranks
from pipeline.training.resuming import digest

# What a training reads, as in stages/train.py: only keys below these can change its loss.
READS = ("training.default", "training.{corpus}", "models.{model}.default", "models.{model}.{size}")
STORE = Path("work/search.db")  # of Optuna: every search of this project
EXPERIMENT = "nmt-search"  # of MLflow: trials would bury the systems of experiment `nmt`
MOST_CHOICES = 1000  # of a range
DIGITS = 3  # of a number between two others, so that it can be typed again
STARTUP_TRIALS = 4  # finished before any is ended early


class Range(NamedTuple):
    """The values to try for a key: `choices`, or numbers from `low` to `high`."""

    key: str
    choices: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    is_log: bool = False
    is_whole: bool = False  # as the value in params.yaml is

    def ends(self) -> tuple[Any, ...]:
        """The values that must be allowed for all to be."""
        if self.choices:
            return self.choices
        return (int(self.low), int(self.high)) if self.is_whole else (self.low, self.high)

    def draw(self, trial: Any) -> Any:
        """The value that a trial of Optuna tries."""
        if self.choices:
            return trial.suggest_categorical(self.key, self.choices)
        if self.is_whole:
            return trial.suggest_int(self.key, int(self.low), int(self.high), log=self.is_log)
        value = trial.suggest_float(self.key, self.low, self.high, log=self.is_log)
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)


class Ended(Exception):
    """A trial that is worse than most, ended before its last update."""


def search(
    system: Annotated[str, typer.Option(help="A system of `build`, whose corpus is encoded.")],
    settings: Annotated[
        list[str], typer.Option("--set-param", "-S", help="KEY=VALUES, as many as there are keys; see above.")
    ],
    trials: Annotated[int, typer.Option(min=1, help="How many in all, those of earlier commands included.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Of the values that are tried.")] = 1,
) -> None:
    """Train a system with several values of some keys; name those with the lowest loss on the validation part.

    \b
    -S KEY=1e-3,3e-3                      one of these
    -S 'KEY=range(2,6)'                   2, 3, 4 or 5
    -S 'KEY=interval(0,0.5)'              a number between the two
    -S 'KEY=tag(log,interval(1e-4,1e-2))' the same, evenly on a logarithmic scale
    -S KEY=300                            this value in every trial

    Optuna chooses what to try next, and a trial that is worse than most ends early. Trials are kept in work/search.db
    and in MLflow's experiment `nmt-search`. Repeat the command to go on after an interruption, or with more trials.
    """
    optuna = package()
    project.check_here()
    chosen = project.parse(system)
    fixed, ranges = read_settings(settings, chosen)
    for one in ranges:  # a value out of bounds is named before the first trial
        for end in one.ends():
            configured(chosen, fixed | {one.key: end})
    if not (chosen.encoded / "train").exists():
        stage = f"encode@{chosen.encoded.name}"
        raise DataError(f"--system: not encoded yet, got {chosen.id!r}; expected what `dvc repro {stage}` builds")
    os.environ.setdefault("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    with cli.held(cli.LOCKS / "search"):
        Search(optuna, chosen, fixed, ranges, seed).run(trials)


def package() -> Any:
    """The package optuna.

    Raises: DataError if it is missing.
    """
    try:
        optuna = import_module("optuna")
    except ImportError as error:
        raise DataError(f"optuna: no such package, got {error}; expected what `pip install optuna` installs") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def read_settings(texts: list[str], system: System) -> tuple[dict[str, Any], list[Range]]:
    """The keys that have one value in every trial, and the ranges of the others.

    Source: Hydra's grammar, which `dvc exp run -S` has too.
    Raises: DataError naming the text that is no setting, or has a key that the training does not read.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser  # a third of a second
    from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, RangeSweep
    from hydra.errors import HydraException

    fixed: dict[str, Any] = {}
    ranges = []
    for text in texts:
        try:
            override = OverridesParser.create().parse_override(text)
        except HydraException as error:
            what = str(error).splitlines()[0]
            raise DataError(f"-S: {what}, got {text!r}; expected KEY=VALUES, see `nmt search --help`") from None
        key, value = override.key_or_group, override.value()
        current = current_value(key, system)
        if isinstance(value, IntervalSweep):
            low, high, is_log = float(value.start or 0), float(value.end or 0), "log" in value.tags
            if not low < high or not math.isfinite(high - low) or (is_log and low <= 0):
                expected = "0 < low < high" if is_log else "low < high, both finite"
                raise DataError(f"-S: {key}: no interval, got {low:g} to {high:g}; expected {expected}")
            if is_whole := isinstance(current, int):
                low, high = math.ceil(low), math.floor(high)
                if low >= high:
                    expected = "two at least, or params.yaml with a fraction such as 0.0 there"
                    raise DataError(
                        f"-S: {key}: no two whole numbers in the interval, got {text!r}; expected {expected}"
                    )
            ranges.append(Range(key, (), low, high, is_log, is_whole))
        elif isinstance(value, RangeSweep):
            ranges.append(Range(key, numbers(key, value)))
        elif isinstance(value, ChoiceSweep):
            ranges.append(Range(key, tuple(map(plain, value.list))))
        elif override.is_sweep_override():  # glob(...), which has no meaning here
            raise DataError(f"-S: {key}: no values, got {text.partition('=')[2]!r}; expected KEY=VALUES")
        else:
            fixed[key] = plain(value)
    if not ranges:
        raise DataError(f"-S: nothing to search, got {', '.join(texts)}; expected a key with several values")
    return fixed, ranges


def numbers(key: str, sweep: Any) -> tuple[int | float, ...]:
    """The numbers of a `range(start,stop,step)` of Hydra.

    Raises: DataError if there is none or no end of them.
    """
    start, stop, step = (float(one) for one in (sweep.start or 0, sweep.stop, sweep.step))
    if not (math.isfinite(start) and math.isfinite(stop) and math.isfinite(step) and (stop - start) * step > 0):
        raise DataError(f"-S: {key}: no range, got {start:g} to {stop:g} by {step:g}; expected such as range(2,6)")
    if (stop - start) / step > MOST_CHOICES:
        raise DataError(f"-S: {key}: has too many values, got {start:g} to {stop:g} by {step:g}; expected an interval")
    return tuple(sweep.range())


def plain(value: Any) -> Any:
    """A value of Hydra's as YAML has it."""
    return getattr(value, "text", value)  # of a QuotedString


def written(value: Any) -> str:
    """A value as Hydra reads it: null, true, {key: value}."""
    match value:
        case None | bool():
            return json.dumps(value)
        case dict():
            return f"{{{', '.join(f'{key}: {written(one)}' for key, one in value.items())}}}"
        case list():
            return f"[{', '.join(map(written, value))}]"
        case _:
            return str(value)


def current_value(key: str, system: System) -> Any:
    """The value of a key that the training of a system reads.

    Raises: DataError if it reads no such key; ParamsError if params.yaml has no such key.
    """
    sections = [place.format(**system.axes) for place in READS]
    if not key.startswith(tuple(f"{section}." for section in sections)):
        raise DataError(f"-S: {key}: not read by the training of {system.id}; expected a key of {', '.join(sections)}")
    whole = read_yaml(PATH)
    found = find(whole, key)
    of_default, own = sections[:2] if key.startswith("training.") else sections[2:]
    first, *_ = key.removeprefix(f"{of_default}.").split(".")
    if key.startswith(f"{of_default}.") and first in find(whole, own):
        raise DataError(f"-S: {key}: is replaced by {own}.{first}; expected that key")
    return found


def configured(system: System, values: Mapping[str, Any]) -> setup.Config:
    """The training of a system, with some values in place of those of params.yaml.

    Raises: ParamsError listing the faults of a section.
    """
    whole = copy.deepcopy(read_yaml(PATH))
    for key, value in values.items():
        section, _, last = key.rpartition(".")
        find(whole, section)[last] = value
    nodes = [Node(find(whole, place), place, PATH) for place in (read.format(**system.axes) for read in READS)]
    module, training = interface.find(system.model), Training.merged(nodes[:2])
    return setup.Config(
        system,
        training=setup.seeded(training, system),
        arch=module.Arch.merged([node.only(module.Arch.model_fields) for node in nodes[2:]]),
        learning=Learning.merged([node.only(Learning.model_fields) for node in nodes[2:]]),
        model=module.Model,
    )


class Search:
    """A study of Optuna: the same question in the same project is the same study, which goes on where it ended."""

    def __init__(
        self, optuna: Any, system: System, fixed: Mapping[str, Any], ranges: Sequence[Range], seed: int
    ) -> None:
        self.optuna, self.system, self.fixed, self.ranges, self.seed = optuna, system, fixed, ranges, seed
        self.ranks = Ranks()
        config = configured(system, {**fixed, **{one.key: one.ends()[0] for one in ranges}})
        asked = digest((config.params, repr(ranges), seed), setup.inputs(system))
        STORE.parent.mkdir(exist_ok=True)
        self.study = optuna.create_study(
            storage=f"sqlite:///{STORE}",
            study_name=f"{system.id}-{asked}",
            pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS),
            load_if_exists=True,
        )

    def run(self, trials: int) -> None:
        """Run trials until so many are finished; print each and, at the end, the best and how to build it.

        Raises: DataError if the loss of every trial diverged.
        """
        states = self.optuna.trial.TrialState
        for trial in self.study.get_trials(states=[states.RUNNING]):  # what an interruption has left
            self.study.tell(trial.number, state=states.FAIL)
        while (done := len(self.study.get_trials(states=[states.COMPLETE, states.PRUNED]))) < trials:
            # A seed of its own for each: a search that was interrupted tries what it would have tried.
            self.study.sampler = self.optuna.samplers.TPESampler(seed=seed_for(self.seed, "search", done) % 2**32)
            self.run_one(self.study.ask(), done + 1)
        complete = self.study.get_trials(states=[states.COMPLETE])
        if not complete:
            raise DataError(
                f"{self.system.id}: the loss diverged in all trials, got {done}; expected lower learning rates"
            )
        best = self.study.best_trial
        values = [f"{key}={written(value)}" for key, value in best.user_attrs["values"].items()]
        print(f"best of {done}: validation loss {best.value:.4f}, {', '.join(values)}")
        command = ["dvc", "exp", "run", *(word for value in values for word in ("-S", value))]
        print(f"to build it: {shlex.join(command)}")

    def run_one(self, trial: Any, number: int) -> None:
        """Run one trial, and print how it ended."""
        values = {one.key: one.draw(trial) for one in self.ranges}
        trial.set_user_attr("values", values)
        shown = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in values.items())
        states = self.optuna.trial.TrialState
        name = f"{self.study.study_name}-{trial.number}"
        log = self.system.log / f"search/{name}.jsonl"
        with runs.training_run(self.system.id, stage="search", fingerprint=name, log=log, resumed_at=0) as run:
            run.tags(**{"mlflow.runName": f"trial {number}: {shown}", "nmt.search": self.study.study_name})
            run.tags(**{"nmt.trial": str(number)})
            run.params(values)
            try:
                loss = self.loss(configured(self.system, {**self.fixed, **values}), trial, run, f"trial {number}")
            except (Ended, DivergedError) as error:
                ended = "diverged" if isinstance(error, DivergedError) else f"ended early at update {error}"
                self.study.tell(trial, state=states.PRUNED)
            else:
                ended = f"validation loss {loss:.4f}"
                self.study.tell(trial, loss)
            run.tags(**{"nmt.ended": ended})
        print(f"trial {number}: {shown}: {ended}", flush=True)

    def loss(self, config: setup.Config, trial: Any, run: runs.Run, label: str) -> float:
        """The lowest validation loss of a training, which is that of the stage `train`.

        Raises: Ended with the update at which the trial was worse than most; DivergedError.
        """
        training, learning = config.training, config.learning
        device = setup.prepare_device(training)
        vocabulary, encoded, validator = setup.open_data(config)
        sampler = setup.open_sampler(config, encoded, device)
        net = setup.build_model(config, vocabulary, device)
        setup.start_weights(net, config, encoded, self.ranks)
        optimizer = learning.optimizer.build(net)
        batches = load_batches(sampler, encoded, START, training.updates)
        asked = {"width": config.arch.width, "updates": training.updates, "seed": training.seed, "ranks": self.ranks}
        best = math.inf
        for step in track(
            train(net, optimizer, batches, learning, **asked), label, total=training.updates, unit="updates"
        ):
            is_last = step.update == training.updates
            if is_last or step.update % training.validation_interval == 0:
                scores = validator.validate(net, device, self.ranks, step.update)
                run.log(step.update, **scores)
                best = min(best, scores["validation_loss"])
                trial.report(scores["validation_loss"], step.update)
                if not is_last and trial.should_prune():
                    raise Ended(step.update)
        return best
