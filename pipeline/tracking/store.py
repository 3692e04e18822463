"""One run in MLflow's store."""

import contextlib
import hashlib
import json
import logging
import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pipeline import files
from pipeline.system import System
from pipeline.tracking import database, location, notes, recorded, registry, server, views
from pipeline.tracking.deadline import BYTES_PER_SECOND, Deadline, WatchedClient

if TYPE_CHECKING:
    from mlflow.entities import Metric, RunTag
    from mlflow.entities import Run as MlflowRun

T = TypeVar("T")
Kind = Literal["training", "scoring", "system"]

FLUSH_SECONDS = 3.0  # after which metrics are sent at the latest
FLUSH_METRICS = 900  # MLflow refuses batches of more than 1000
FLUSH_TEXTS = 90  # ... of more than 100 parameters or tags
PICTURE_SIZE = 512  # pixels of a picture in MLflow's grid
SAMPLE_SECONDS = 10.0  # between two readings of the system metrics
NAMED_SETTINGS = {"decode.beam_size": "beam", "decode.length_penalty": "length penalty"}  # in the name of a scoring
# MLflow 3.17 has a switch in its page instead of the kind; other servers read this.
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development", views.KEY: views.scores()}
NOTE, TABLES, IMAGES = "mlflow.note.content", "mlflow.loggedArtifacts", "mlflow.loggedImages"
MINUTES = "minutes"  # of a training, all its processes together
TIMEOUT = "MLFLOW_HTTP_REQUEST_TIMEOUT"  # in seconds
ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    TIMEOUT: "4",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
    "GIT_PYTHON_REFRESH": "quiet",
}


class Store:
    """One run in MLflow, used in the thread of its `Run` only; every method may raise whatever MLflow raises."""

    client: WatchedClient
    monitor: Any  # untyped in MLflow

    def __init__(self, kind: Kind, system: str, *, stage: str, fingerprint: str, deadline: Deadline) -> None:
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        self.kind, self.system, self.stage, self.fingerprint = kind, system, stage, fingerprint
        self.deadline = deadline
        self.created = int(time.time() * 1000)  # before anything is logged, so that time rises with the step
        self.run_id = self.parent_id = ""
        self.artifact_uris: dict[str, str] = {}
        self.began, self.minutes = time.monotonic(), 0.0  # of the processes before this one
        self.last: dict[str, int] = {}  # last step of each metric that the run already held
        self.known: set[str] = set()  # parameters that the run already held
        self.buffer: list[Metric] = []
        self.flushed = self.sampled = 0.0
        self.samples = 0

    def open(self, resumed_at: int) -> None:
        """Connect; find or create the run."""
        uri = location.address()
        path = database.file_of(uri)
        server.probe(uri)
        if path:
            database.sweep(path)
        if path and path.exists():
            database.probe(path)
        with self.deadline.own_work():
            from mlflow import MlflowClient
            from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

            for name in ("alembic", "mlflow", "urllib3.connectionpool"):  # importing mlflow sets its own levels
                logging.getLogger(name).setLevel(logging.CRITICAL)
            if path and not path.exists():
                database.create(path)
            self.client = WatchedClient(MlflowClient(uri), self.deadline, local=path is not None)
            if path:
                self.client.search_experiments(max_results=1)  # imports as much again, and checks the tables
        self.experiment_id = self._experiment(os.environ.get("MLFLOW_EXPERIMENT_NAME") or "nmt")
        newest = self._newest({"nmt.folder": location.folder(), **clone_tag()})
        if self.kind != "training":
            newest = newest or self._newest({})
        if path:
            database.settle(path, self.experiment_id, newest.info.run_id if newest else None)
        self.base = path.parent.resolve() if path else location.project()
        if newest:
            self._renew(newest)
        if self.kind == "scoring":
            self.parent_id = newest.info.run_id if newest else self._created_ended()
            self.run_id = self._create(self.parent_id)
        elif self.kind == "system":
            self.run_id = newest.info.run_id if newest else self._created_ended()
            self.last = last_steps(newest) if newest else {}
        else:
            self._open_training(newest, resumed_at)
        # Only read from, never started: its thread would print warnings and errors of its own.
        monitor: Any = SystemMetricsMonitor
        self.monitor = monitor(self.run_id, tracking_uri=uri)
        self.samples = 1 + max((step for name, step in self.last.items() if name.startswith("system/")), default=-1)

    def metrics(self, step: int, milliseconds: int, values: Mapping[str, float]) -> None:
        """Buffer the metrics that the run does not hold yet; the training's run gets a copy of its scores."""
        from mlflow.entities import Metric

        finite = {name: float(value) for name, value in values.items() if math.isfinite(value)}
        points = [Metric(name, value, milliseconds, step) for name, value in finite.items()]
        self.buffer += [point for point in points if step > self.last.get(point.key, -1)]
        if self.parent_id:
            self.client.log_batch(self.parent_id, metrics=points)
        self.tick()

    def params(self, values: Mapping[str, str]) -> None:
        """Send the parameters that the run does not hold yet; a scoring is named by its settings of decoding."""
        from mlflow.entities import Param

        new = [Param(name, value) for name, value in values.items() if name not in self.known]
        self.known.update(values)
        for some in batches(new, FLUSH_TEXTS):
            self.client.log_batch(self.run_id, params=some)
        settings = [f"{word} {values[name]}" for name, word in NAMED_SETTINGS.items() if name in values]
        if self.kind == "scoring" and settings:
            self.client.update_run(self.run_id, name=run_name(self.system, self.stage.split("@")[0], *settings))

    def dataset(self, name: str, data: Sequence[Path], counts: Mapping[str, int], path: Path | None) -> None:
        """Send the description of one input, with the name of its content in DVC's cache if DVC knows it."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        with self.deadline.own_work():
            digest = files.sha256(*data)
        md5 = recorded.md5(path) if path else ""
        known = {"dvc_md5": md5} if md5 else {}
        source = json.dumps({"uri": path.as_posix() if path else name, **known})
        described = Dataset(name, digest[:36], "local", source, profile=json.dumps({**counts, **known}))
        self.client.log_inputs(self.run_id, [DatasetInput(described, [InputTag("mlflow.data.context", self.kind)])])

    def artifact(self, path: Path, folder: str) -> None:
        """Send a file, or every file of a folder."""
        self._upload(self.run_id, path, folder)

    def table(self, name: str, columns: Mapping[str, Sequence[object]]) -> None:
        """Send a table that MLflow's pages show as one, to the training's run too."""
        rows = [list(row) for row in zip(*columns.values(), strict=True)]
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch, f"{name}.json")
            path.write_text(json.dumps({"columns": list(columns), "data": rows}, ensure_ascii=False), encoding="utf-8")
            for run_id in self._with_parent():
                self._upload(run_id, path, "")
                known = json.loads(self.client.get_run(run_id).data.tags.get(TABLES, "[]"))
                entry = {"path": path.name, "type": "table"}
                if entry not in known:
                    self.client.set_tag(run_id, TABLES, json.dumps([*known, entry]))

    def image(self, path: Path, name: str, step: int) -> None:
        """Send a picture that MLflow's pages show beside the charts; one of the same name is replaced."""
        from PIL import Image

        with tempfile.TemporaryDirectory() as scratch, Image.open(path) as picture:
            # MLflow's form: name, step, time in milliseconds, a unique id; the small one is shown in the grid.
            unique = hashlib.sha256(f"{name} {step}".encode()).hexdigest()[:8]
            stem = f"{name}+step+{step}+timestamp+0+{unique}"
            small = picture.convert("RGB")
            small.thumbnail((PICTURE_SIZE, PICTURE_SIZE))
            small.save(Path(scratch, f"{stem}+compressed.webp"))
            shutil.copyfile(path, Path(scratch, f"{stem}.png"))
            self._upload(self.run_id, Path(scratch), "images")
        self.client.set_tag(self.run_id, IMAGES, "True")

    def describe(self, text: str) -> None:
        """Set the description of the run and of its training, unless a user has written one."""
        for run_id in self._with_parent():
            if notes.is_ours(self.client.get_run(run_id).data.tags.get(NOTE, "")):
                self.client.set_tag(run_id, NOTE, text)

    def model(self, folder: Path, about: registry.About) -> None:
        """Log a packaged system as a model of this run and register it as a version of its corpus.

        The same bytes are registered once. The best version becomes the champion.
        """
        packaged = registry.Packaged.read(folder, about)
        if not registry.is_registered(self.client, packaged):
            from mlflow.entities import LoggedModelOutput
            from mlflow.models import Model

            logged = self.client.create_logged_model(
                self.experiment_id, packaged.config["system"], self.run_id, tags=packaged.tags, model_type="translation"
            )
            try:
                with tempfile.TemporaryDirectory() as scratch:
                    made = Path(scratch, "model")
                    with self.deadline.own_work():
                        registry.save(packaged, made, Model(run_id=self.run_id, model_id=logged.model_id))
                    log = partial(self.client.log_model_artifact, logged.model_id)
                    self._send(made, Path(), str(logged.artifact_location), log)
            except BaseException:
                with contextlib.suppress(Exception):  # the first error says more
                    self.client.finalize_logged_model(logged.model_id, "FAILED")
                raise
            self.client.finalize_logged_model(logged.model_id, "READY")
            self.client.log_outputs(self.run_id, [LoggedModelOutput(logged.model_id, 0)])
            registry.register(self.client, packaged, logged.model_id, self.run_id, experiment_tag())
        registry.crown(self.client, packaged.name, about.comparable, is_experiment=bool(location.experiment()))

    def tags(self, values: Mapping[str, str]) -> None:
        """Set tags."""
        self.client.log_batch(self.run_id, tags=run_tags(values))

    def tick(self) -> None:
        """Sample system metrics and send the buffer, each if it is due."""
        now = time.monotonic()
        if now - self.sampled >= SAMPLE_SECONDS and self.kind != "system":
            self._sample()
        if len(self.buffer) >= FLUSH_METRICS or now - self.flushed >= FLUSH_SECONDS:
            self._flush()

    def end(self, status: str) -> None:
        """Send everything and set the status, unless the run was opened only to add to it."""
        if self.kind != "system":
            self._sample()
        self._flush()
        if self.kind != "system":
            self.client.set_terminated(self.run_id, status)

    def _with_parent(self) -> list[str]:
        """This run, and the training's if it is another."""
        return [run_id for run_id in (self.run_id, self.parent_id) if run_id]

    def _upload(self, run_id: str, path: Path, folder: str) -> None:
        """Send a file, or every file of a folder, below `folder` of a run."""
        if run_id not in self.artifact_uris:
            self.artifact_uris[run_id] = str(self.client.get_run(run_id).info.artifact_uri)
        self._send(path, Path(folder), self.artifact_uris[run_id], partial(self.client.log_artifact, run_id))

    def _send(self, path: Path, folder: Path, uri: str, log: Callable[[str, str], None]) -> None:
        """Send a file, or every file of a folder, below `folder` of a place of MLflow's."""
        for file, where in files_of(path):
            below = folder / where
            self.deadline.expect(file.stat().st_size)
            if is_relative(uri):  # to the store; MLflow would resolve it against the working directory
                copy(file, self.base / uri / below / file.name)
                self.deadline.answered(local=True)
            else:
                with patient(file.stat().st_size):
                    log(str(file), "" if below == Path() else below.as_posix())

    def _flush(self) -> None:
        for some in batches(self.buffer, FLUSH_METRICS):
            self.client.log_batch(self.run_id, metrics=some)
        self.buffer, self.flushed = [], time.monotonic()

    def _sample(self) -> None:
        from mlflow.entities import Metric

        self.monitor.collect_metrics()
        now = int(time.time() * 1000)
        for name, value in self.monitor.aggregate_metrics().items():
            self.buffer.append(Metric(f"system/{name}", value, now, self.samples))
        for part in self.monitor.monitors:
            part.clear_metrics()
        if self.kind == "training":
            minutes = round(self.minutes + (time.monotonic() - self.began) / 60, 2)
            self.buffer.append(Metric(MINUTES, minutes, now, 0))
        self.samples, self.sampled = self.samples + 1, time.monotonic()

    def _open_training(self, run: "MlflowRun | None", resumed_at: int) -> None:
        if run is None or (run.info.status == "FINISHED" and resumed_at == 0):
            self.run_id = self._create()
            return
        self.run_id = run.info.run_id
        if tag := experiment_tag():
            self.tags(tag)
        self.known, self.minutes = set(run.data.params), run.data.metrics.get(MINUTES, 0.0)
        self.last = last_steps(run)
        self.client.update_run(self.run_id, status="RUNNING")

    def _experiment(self, name: str) -> str:
        """Id of the experiment, with the tags that MLflow's pages read; a kind that the user has chosen stays."""
        from mlflow.exceptions import MlflowException

        if experiment := self.client.get_experiment_by_name(name):
            wrong = {views.KEY} if experiment.tags.get(views.KEY) != views.scores() else set()
            for tag in wrong | (EXPERIMENT_TAGS.keys() - experiment.tags.keys()):
                with contextlib.suppress(MlflowException):  # another process was faster, or the user may not
                    self.client.set_experiment_tag(experiment.experiment_id, tag, EXPERIMENT_TAGS[tag])
            return str(experiment.experiment_id)
        try:
            return str(self.client.create_experiment(name, tags=EXPERIMENT_TAGS))
        except MlflowException:  # another process was faster
            if experiment := self.client.get_experiment_by_name(name):
                return str(experiment.experiment_id)
            raise

    def _newest(self, tags: Mapping[str, str]) -> "MlflowRun | None":
        """The newest training run with this system, fingerprint and tags, whatever its name; None if there is none."""
        wanted = {"nmt.system": self.system, "nmt.fingerprint": self.fingerprint, "nmt.kind": "training", **tags}
        where = " and ".join(f"tags.`{name}` = '{value}'" for name, value in wanted.items())
        order = ["attributes.start_time DESC"]
        runs = self.client.search_runs([self.experiment_id], where, order_by=order, max_results=1)
        return runs[0] if runs else None

    def _renew(self, run: "MlflowRun") -> None:
        """Give a training's run of an earlier version the name, tags and minutes of today; a user's name stays.

        A training whose outputs another stage reads has ended, whether or not the store heard of it.
        """
        if self.kind != "training" and run.info.status == "RUNNING":
            self.client.set_terminated(run.info.run_id, "FINISHED")
        if run.info.run_name == self.system != run_name(self.system):
            self.client.update_run(run.info.run_id, name=run_name(self.system))
            self.client.log_batch(run.info.run_id, tags=run_tags(system_tags(self.system)))
        if self.kind != "training" and run.data.metrics and MINUTES not in run.data.metrics and run.info.end_time:
            minutes = round((run.info.end_time - run.info.start_time) / 60_000, 2)
            self.client.log_metric(run.info.run_id, MINUTES, minutes)

    def _create(self, parent: str | None = None) -> str:
        tags = {
            "nmt.system": self.system,
            "nmt.fingerprint": self.fingerprint,
            "nmt.kind": "scoring" if parent else "training",
            "nmt.folder": location.folder(),
            **clone_tag(),
            "dvc.stage": self.stage,
            **system_tags(self.system),
            **experiment_tag(),
            "mlflow.user": user(),
            "mlflow.source.name": f"stages/{self.stage.split('@')[0]}.py",
            "mlflow.source.type": "LOCAL",
        }
        if commit := git_commit():
            tags["mlflow.source.git.commit"] = commit
        if parent:
            tags["mlflow.parentRunId"] = parent
        name = run_name(self.system, self.stage.split("@")[0]) if parent else run_name(self.system)
        return str(self.client.create_run(self.experiment_id, tags=tags, run_name=name).info.run_id)

    def _created_ended(self) -> str:
        """A new, ended run for a system whose training another store tracked; it takes what later stages log."""
        run_id = self._create()
        self.client.set_terminated(run_id)
        return run_id


def last_steps(run: "MlflowRun") -> dict[str, int]:
    """The last step of each metric of a run: MLflow gives it with its value, and whole histories take minutes."""
    return {metric.key: metric.step for metric in run.data._metric_objs}


def run_name(system: str, *first: str) -> str:
    """What MLflow's list calls a run: words such as `score`, then the system, what differs most first.

    The list cuts names off, and all systems of a corpus begin with the same letters.
    """
    known = parsed(system)
    parts = [system]
    if known:
        seed = [f"seed {known.seed}"] if known.seed else []
        parts = [f"{known.model}-{known.size}", *seed, known.vocabulary, known.corpus]
    return " · ".join([", ".join(first), *parts] if first else parts)


def system_tags(system: str) -> dict[str, str]:
    """The system's id, each of its four names and its further seed, for MLflow to filter, group and sort by."""
    known = parsed(system)
    return {"system": system, **({axis: name for axis, name in known._asdict().items() if name} if known else {})}


def parsed(system: str) -> System | None:
    """The system of an id; None if it is not an id."""
    try:
        return System.parse(system)
    except ValueError:
        return None


def run_tags(values: Mapping[str, str]) -> "list[RunTag]":
    """Tags as MLflow's client takes them."""
    from mlflow.entities import RunTag

    return [RunTag(name, value) for name, value in values.items()]


def user() -> str:
    """Who runs this, as MLflow itself would say."""
    from mlflow.tracking.context.default_context import DefaultRunContext

    context: Any = DefaultRunContext()  # untyped in MLflow
    try:
        return str(context.tags()["mlflow.user"])
    except (KeyError, OSError, RuntimeError):  # a container's user id without a name or a home
        return "unknown"


def experiment_tag() -> dict[str, str]:
    """The name of the experiment that DVC runs, as a tag; empty outside an experiment."""
    name = location.experiment()
    return {"dvc_exp_name": name} if name else {}


def clone_tag() -> dict[str, str]:
    """What tells this project's runs from those of other clones, as a tag; empty in the project's own store."""
    name = location.clone()
    return {"nmt.clone": name} if name else {}


@contextlib.contextmanager
def patient(num_bytes: int) -> Iterator[None]:
    """A block in which MLflow waits until a server has passed so many bytes on to where it keeps them."""
    before = os.environ[TIMEOUT]
    os.environ[TIMEOUT] = str(math.ceil(float(before) + num_bytes / BYTES_PER_SECOND))
    try:
        yield
    finally:
        os.environ[TIMEOUT] = before


def files_of(path: Path) -> list[tuple[Path, Path]]:
    """A file, or every file of a folder, each with the folder that it lies in, relative to `path`."""
    if not path.is_dir():
        return [(path, Path())]
    return [(file, file.parent.relative_to(path)) for file in sorted(path.rglob("*")) if file.is_file()]


def is_relative(uri: str) -> bool:
    """Whether the address of artifacts is a path relative to the store: no scheme, not absolute."""
    return not uri.startswith("/") and ":" not in uri


def copy(file: Path, target: Path) -> None:
    """Copy a file atomically, without fsync, as a report has hundreds."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    try:
        shutil.copyfile(file, partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def batches(items: list[T], size: int) -> Iterator[list[T]]:
    """`items` in lists of at most `size`."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def git_commit() -> str | None:
    """The commit checked out, None outside a git repository."""
    command = ["git", "rev-parse", "--verify", "-q", "HEAD"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
