"""Runs in MLflow of trainings and scorings. None of their methods raises or waits long: see `store.tolerant`."""

import getpass
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

from ..common import files, params
from ..common.system import System
from .store import store, tolerant

FLUSH_SECONDS = 5.0  # after which metrics are sent at the latest
MAX_METRICS = 900  # of a batch; MLflow takes 1000
MAX_PARAMS = 90  # ... and 100 parameters
TABLE_START = "| part |"  # of the descriptions that stages write


class Run:
    """One run in MLflow of a system; it records nothing until one of its three `open_` methods is called."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.id = self.parent_id = ""
        self.is_running = False  # this process ends it
        self.state_file: Path | None = None  # the run of a training, and the last update whose metrics were sent
        self.sent = 0
        self.buffer: list[Any] = []  # metrics to send
        self.flushed = time.monotonic()
        self.pending: Any = None  # the batch that MLflow sends in the background
        self.monitor: Any = None  # of system metrics

    @tolerant
    def open_training(self, state_file: Path, resumed_at: int) -> None:
        """Create a run, or go on in the one that the state file names, if training resumes after `resumed_at`."""
        from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

        self.state_file = state_file
        before = files.read_json(state_file) if state_file.exists() else None
        if before and resumed_at:
            self.id, self.sent = before["run"], before["sent"]
            store.client.update_run(self.id, status="RUNNING")
        else:
            if before:  # it ended before its first checkpoint, or its checkpoint is of no use any more
                store.client.set_terminated(before["run"], "KILLED")
            self.id = create_run(self.system, "train")
        self.is_running = True
        self.monitor = SystemMetricsMonitor(self.id, resume_logging=True)  # type: ignore[no-untyped-call]
        self.monitor.start()

    @tolerant
    def open_scoring(self) -> None:
        """Create a run of one scoring, below the training's, which gets the same scores.

        But not from an experiment that did not train the system: its run stands for itself.
        """
        training = find_training(self.system)
        if training and training.data.tags.get("experiment", "") == os.environ.get("DVC_EXP_NAME", ""):
            self.parent_id = training.info.run_id
        self.id, self.is_running = create_run(self.system, "score", self.parent_id), True

    @tolerant
    def open_finished(self) -> None:
        """Find the run of the training that wrote the system's summary, to add to; without one, create it."""
        if training := find_training(self.system):
            self.id = training.info.run_id
            return
        self.id = create_run(self.system, "train")
        self.tags(training=files.sha256(self.system.training_summary))
        store.client.set_terminated(self.id)

    @tolerant
    def log(self, step: int, /, **metrics: float) -> None:
        """Log metrics of one step, but for those that the run has already; MLflow draws no infinity and no NaN."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        if step > self.sent:
            self.buffer += [Metric(name, value, now, step) for name, value in metrics.items() if math.isfinite(value)]
        if len(self.buffer) > MAX_METRICS or time.monotonic() - self.flushed > FLUSH_SECONDS:
            self._flush()

    def _flush(self) -> None:
        """Have MLflow send the metrics in the background, once those before have arrived."""
        if self.pending:
            self.pending.wait()
        if self.buffer:
            self.pending = store.client.log_batch(self.id, metrics=self.buffer, synchronous=False)
            if self.state_file:  # more metrics of the last step may follow
                files.write_json(self.state_file, {"run": self.id, "sent": self.buffer[-1].step - 1})
        self.buffer, self.flushed = [], time.monotonic()

    @tolerant
    def scores(self, scores: Mapping[str, Mapping[str, float]]) -> None:
        """Log the scores of each test part, and describe the run by them and by how to use the system."""
        from mlflow.entities import Metric

        usage = f"In the project's folder, `nmt translate --system {self.system.id}` translates with it."
        now = int(time.time() * 1000)
        metrics = [Metric(f"{part}/{name}", value, now, 0) for part in scores for name, value in scores[part].items()]
        for run_id in filter(None, (self.id, self.parent_id)):
            store.client.log_batch(run_id, metrics=metrics)
            note = store.client.get_run(run_id).data.tags.get("mlflow.note.content", "")
            if not note or note.startswith(TABLE_START):  # what a user wrote stays
                store.client.set_tag(run_id, "mlflow.note.content", f"{table(scores)}\n\n{usage}")

    @tolerant
    def params(self, values: Mapping[str, object]) -> None:
        """Log parameters, with nested names joined by dots."""
        from mlflow.entities import Param

        flat = [Param(name, str(value)) for name, value in params.flatten(values).items()]
        for start in range(0, len(flat), MAX_PARAMS):
            store.client.log_batch(self.id, params=flat[start : start + MAX_PARAMS])

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

    @tolerant
    def table(self, name: str, columns: Mapping[str, Sequence[object]]) -> None:
        """Log a table by its columns."""
        store.client.log_table(self.id, dict(columns), f"{name}.json")

    @tolerant
    def tags(self, /, **values: str) -> None:
        """Set tags; they replace those of the same name."""
        for name, value in values.items():
            store.client.set_tag(self.id, name, value)

    @tolerant
    def close(self, status: str = "FINISHED") -> None:
        """Send what is left, and end the run unless it was there before."""
        self._flush()
        if self.pending:
            self.pending.wait()
        if self.monitor:
            self.monitor.finish()
        if self.is_running:
            store.client.set_terminated(self.id, status)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        stopped = isinstance(error, KeyboardInterrupt | SystemExit)
        self.close("FINISHED" if kind is None else "KILLED" if stopped else "FAILED")


def find_training(system: System) -> Any:
    """The newest run of the training that wrote the system's summary, None if the store has none."""
    where = f"tags.training = '{files.sha256(system.training_summary)}'"
    runs = store.client.search_runs([store.experiment_id], where, max_results=1)
    return runs[0] if runs else None


def create_run(system: System, stage: str, parent: str = "") -> str:
    """The id of a new run, whose name begins with what tells it from others: MLflow's list cuts names off."""
    experiment, changes = os.environ.get("DVC_EXP_NAME", ""), varied()
    name = f"{system.model}-{system.size}-{system.seed} · {system.vocabulary} · {system.corpus}"
    name = name if stage == "train" else f"{stage} · {name}"
    tags = {
        "system": system.id,
        **system.axes,
        "stage": stage,
        "experiment": experiment,
        "varied": changes,
        "mlflow.parentRunId": parent,
        "mlflow.user": getpass.getuser(),
        "mlflow.source.name": f"stages/{stage}.py",
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": git("rev-parse", "-q", "--verify", "HEAD").strip(),
    }
    tags = {key: value for key, value in tags.items() if value}
    if experiment:
        name = " · ".join([f"{experiment}: {changes}" if changes else experiment, name])
    return str(store.client.create_run(store.experiment_id, tags=tags, run_name=name).info.run_id)


def varied() -> str:
    """Parameters in which DVC's experiment differs from its baseline: `decode.beam_size=1`."""
    if not (baseline := os.environ.get("DVC_EXP_BASELINE_REV")):
        return ""
    changes = []
    # `git diff` may miss what DVC has just written: 0.1 -> 0.2 within a second of the last look at a file.
    for path in [Path("params.yaml"), *sorted(Path("configs").glob("*.yaml")), *sorted(Path("corpora").glob("*.yaml"))]:
        texts = git("show", f"{baseline}:./{path.as_posix()}"), path.read_text(encoding="utf-8")
        if texts[0] and texts[0] != texts[1]:
            before, now = (params.flatten(YAML(typ="safe").load(text) or {}) for text in texts)
            changes += [f"{name}={value}" for name, value in now.items() if before.get(name) != value]
    return ", ".join(changes)


def git(*arguments: str) -> str:
    """What git prints; nothing without git or outside a repository."""
    try:
        return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def table(scores: Mapping[str, Mapping[str, float]]) -> str:
    """Scores of each part in Markdown."""
    metrics = list(dict.fromkeys(name for of_part in scores.values() for name in of_part))
    rows = [["part", *metrics], ["---"] * (len(metrics) + 1)]
    rows += [
        [part, *(f"{found[name]:.1f}" if name in found else "" for name in metrics)] for part, found in scores.items()
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
