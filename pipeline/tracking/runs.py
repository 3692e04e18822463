"""Runs in MLflow of trainings and scorings. None of their methods raises or waits long: see `store.tolerant`."""

import json
import math
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ruamel.yaml import YAML

from ..common import files, params, parts
from ..common.system import System
from .store import address, store, tolerant

FLUSH_SECONDS = 5.0  # after which metrics are sent at the latest
MAX_METRICS = 900  # of a batch; MLflow takes 1000, and 100 parameters


class Run:
    """One run in MLflow of a system; it records nothing until one of its three `open_` methods is called."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.id = self.parent_id = ""
        self.is_new = self.is_running = False  # this process created it, ends it
        self.metrics: list[Any] = []  # to send
        self.due = 0.0  # when to send them
        self.pending: Any = None  # the batch that MLflow sends in the background
        self.monitor: Any = None  # of system metrics

    @tolerant
    def open_training(self, state_file: Path, resumed_at: int) -> None:
        """Create a run, or go on in the one that the state file names, if training resumes after `resumed_at`."""
        from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

        before = files.read_json(state_file) if state_file.exists() else {}
        is_known = before.get("store") == address()  # not after a move
        if is_known and resumed_at:
            self.id = before["run"]
            store.client.update_run(self.id, status="RUNNING")
        else:
            if is_known:  # it ended before its first checkpoint, or its checkpoint is of no use any more
                store.client.set_terminated(before["run"], "KILLED")
            self.create("train")
            files.write_json(state_file, {"run": self.id, "store": address()})
        self.is_running = True
        self.monitor = SystemMetricsMonitor(self.id, resume_logging=True)  # type: ignore[no-untyped-call]
        self.monitor.start()

    @tolerant
    def open_scoring(self) -> None:
        """Create a run of one scoring, below the training's, which gets the same scores.

        But not from an experiment that did not train the system: its run stands for itself.
        """
        training = self.find_training()
        if training and training.data.tags.get("experiment", "") == os.environ.get("DVC_EXP_NAME", ""):
            self.parent_id = training.info.run_id
        self.create("score")
        self.is_running = True

    @tolerant
    def open_finished(self) -> None:
        """Find the run of the training that wrote the system's summary, to add to; without one, create it."""
        if training := self.find_training():
            self.id = training.info.run_id
            return
        self.create("train")
        self.mark()
        store.client.set_terminated(self.id)

    @tolerant
    def mark(self) -> None:
        """Mark the run as that of the training that wrote the system's summary, by which later stages find it."""
        store.client.set_tag(self.id, "training", files.sha256(self.system.training_summary))

    def find_training(self) -> Any:
        """The newest run of the training that wrote the system's summary, None if the store has none."""
        where = f"tags.training = '{files.sha256(self.system.training_summary)}'"
        return next(iter(store.client.search_runs([store.experiment_id], where, max_results=1)), None)

    def create(self, stage: str) -> None:
        """Create the run. Its name begins with what tells it from others: MLflow's list cuts names off."""
        from mlflow.tracking.context.registry import resolve_tags

        system, experiment, changes = self.system, os.environ.get("DVC_EXP_NAME", ""), varied()
        values = ", ".join(f"{key.rpartition('.')[2]}={value}" for key, value in changes.items())
        name = values, experiment, "" if stage == "train" else stage, f"{system.model}-{system.size}-{system.seed}"
        tags = system.axes | {"system": system.id, "stage": stage, "experiment": experiment}
        tags["varied"] = ", ".join(f"{key}={value}" for key, value in changes.items())
        tags = {key: value for key, value in (tags | {"mlflow.parentRunId": self.parent_id}).items() if value}
        run_name = " · ".join(filter(None, (*name, system.vocabulary, system.corpus)))
        self.id = store.client.create_run(store.experiment_id, tags=resolve_tags(tags), run_name=run_name).info.run_id
        self.is_new = True

    @tolerant
    def log(self, step: int, /, **metrics: float) -> None:
        """Have MLflow send the metrics of a step in the background; it draws no infinity and no NaN."""
        self.metrics += entities(metrics, step)
        if len(self.metrics) > MAX_METRICS or time.monotonic() > self.due:
            self.flush()

    def flush(self) -> None:
        """Send the metrics, once those before have arrived. Raises what failed meanwhile."""
        if self.pending:
            self.pending.wait()
        if self.metrics:
            self.pending = store.client.log_batch(self.id, metrics=self.metrics, synchronous=False)
        self.metrics, self.due = [], time.monotonic() + FLUSH_SECONDS

    @tolerant
    def scoring(self, section: Mapping[str, object], texts: Mapping[str, Any], metrics: Mapping[str, Any]) -> None:
        """Log the scores of each test part, to the training's run too, and what they were computed from."""
        system, named = self.system, [(part, name) for part in metrics for name in metrics[part]]
        scores = entities({f"{part}/{name}": metrics[part][name] for part, name in named})
        for run_id in filter(None, (self.id, self.parent_id)):
            store.client.log_batch(run_id, metrics=scores)
        self.params({"score": section, "decode": files.read_json(system.decoded / "decode.json")})
        for part, (sources, references, translations) in texts.items():
            data = parts.paths(system.split, part)
            self.dataset(f"{system.corpus} {part}", system.split, data, {"pairs": len(sources)})
            table = {"source": sources, "reference": references[0], "translation": translations}
            store.client.log_table(self.id, table, f"{part}.json")
        for path in system.decoded, system.scored:
            self.artifact(path, path.parent.name)

    @tolerant
    def params(self, values: Mapping[str, object]) -> None:
        """Log parameters, with nested names joined by dots."""
        from mlflow.entities import Param

        flat = [Param(name, str(value)) for name, value in params.flatten(values).items()]
        store.client.log_batch(self.id, params=flat)

    @tolerant
    def dataset(self, name: str, folder: Path, data: Sequence[Path], counts: Mapping[str, int]) -> None:
        """Log what the run reads: files of a folder, by a digest of their bytes, and how much it is."""
        from mlflow.entities import Dataset, DatasetInput

        source = json.dumps({"uri": folder.as_posix()})
        dataset = Dataset(name, files.sha256(*data)[:36], "local", source, profile=json.dumps(counts))
        store.client.log_inputs(self.id, [DatasetInput(dataset)])

    @tolerant
    def artifact(self, path: Path, folder: str = "") -> None:
        """Log a file, or all files of a folder, below `folder` of the run."""
        log = store.client.log_artifacts if path.is_dir() else store.client.log_artifact
        log(self.id, str(path), folder)

    def __enter__(self) -> Self:
        return self

    @tolerant
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Wait for what is on its way, and end the run unless it was there before."""
        self.flush()
        self.flush()  # waits for the last
        if self.monitor:
            self.monitor.finish()
        if self.is_running:
            stopped = isinstance(error, KeyboardInterrupt | SystemExit)
            store.client.set_terminated(self.id, "FINISHED" if kind is None else "KILLED" if stopped else "FAILED")


def entities(metrics: Mapping[str, float], step: int = 0) -> list[Any]:
    """Metrics as MLflow takes them, but for those that it cannot draw."""
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    return [Metric(name, value, now, step) for name, value in metrics.items() if math.isfinite(value)]


def varied() -> dict[str, Any]:
    """Parameters in which DVC's experiment differs from its baseline, but for what is built."""
    if not (baseline := os.environ.get("DVC_EXP_BASELINE_REV")):
        return {}
    changes: dict[str, Any] = {}
    # `git diff` may miss what DVC has just written: 0.1 -> 0.2 within a second of the last look at a file.
    for path in [Path("params.yaml"), *sorted(Path("configs").glob("*.yaml")), *sorted(Path("corpora").glob("*.yaml"))]:
        command = ["git", "show", f"{baseline}:./{path.as_posix()}"]
        before = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        if before and before != (now := path.read_text(encoding="utf-8")):
            old, new = (params.flatten(YAML(typ="safe").load(text) or {}) for text in (before, now))
            changes |= {name: value for name, value in new.items() if old.get(name) != value}
    return {name: value for name, value in changes.items() if not name.startswith("build.")}
