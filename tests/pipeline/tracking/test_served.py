"""A registered model answers what `nmt translate --model` writes, byte for byte, and needs no pickle."""

import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from pipeline.tracking.deadline import Deadline

from pipeline.tracking import registry, runs, store
from tests.toys import packages, systems

ADDRESS = "models:/toy@champion"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a packaged and registered system; its store, whose creation takes seconds, too."""
    folder = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")  # MLflow keeps stores open by address
        patch.delenv("DVC_ROOT", raising=False)
        packages.build(folder)
        register(folder)
    return folder


@pytest.fixture
def project(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, as the working directory; what a loaded model adds to the path is taken off again."""
    monkeypatch.chdir(built)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{built}/mlflow.db")
    monkeypatch.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "false")
    monkeypatch.setattr(sys, "path", list(sys.path))
    return built


def register(folder: Path) -> None:
    """Log and register as the stage `package` does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "deadline", Deadline())
        with runs.system_run(systems.SYSTEM, stage="package", fingerprint="0") as run:
            run.model(Path("models", systems.SYSTEM), registry.About(Path("data/split/toy"), 200))
        assert not runs.deadline.is_over


def versions() -> Any:
    from mlflow import MlflowClient

    return MlflowClient().search_model_versions("name='toy'")


@functools.cache
def translated(project: Path) -> list[str]:
    """What the command writes of the test part."""
    command = [Path(sys.executable).with_name("nmt"), "translate", "--model", f"models/{systems.SYSTEM}"]
    file = "data/split/toy/test.source.txt"
    done = subprocess.run([*command, "--file", file], cwd=project, capture_output=True, text=True, check=True)
    return done.stdout.removesuffix("\n").split("\n")


def test_registered_model_answers_as_the_command_does(project: Path) -> None:
    import mlflow.pyfunc
    import pandas

    lines = systems.PARTS["test"]
    model = mlflow.pyfunc.load_model(ADDRESS)
    given = pandas.DataFrame({"source": lines})
    assert model.predict(given)["translation"].tolist() == translated(project)
    assert len(set(translated(project))) > 3
    greedy = model.predict(given, params={"beam_size": 1, "length_penalty": 0.0})["translation"].tolist()
    assert greedy != translated(project)


def test_version_says_what_it_is(project: Path) -> None:
    from mlflow import MlflowClient

    (version,) = versions()
    assert version.tags["system"] == systems.SYSTEM
    assert version.tags["test/bleu"] == "41.26"
    assert version.description.startswith("**transformer_prenorm, tiny**: fr to en, trained on `toy`")
    client = MlflowClient()
    assert client.get_registered_model("toy").aliases == {"champion": 1}
    run = client.get_run(version.run_id)
    assert run.data.tags["system"] == systems.SYSTEM
    (output,) = run.outputs.model_outputs
    logged = client.get_logged_model(output.model_id)
    assert (logged.name, logged.status.name) == (systems.SYSTEM, "READY")
    assert not Path(logged.artifact_location).is_absolute()


def test_same_bytes_are_registered_once(project: Path) -> None:
    register(project)
    assert len(versions()) == 1


@pytest.mark.parametrize("what", ["save", "_send"])
def test_a_model_that_could_not_be_sent_is_marked(
    project: Path, what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The stage goes on, and says why there is none."""
    from mlflow import MlflowClient

    def fails(*_: object) -> None:
        raise OSError("no space left")

    client = MlflowClient()
    experiment = client.get_run(versions()[0].run_id).info.experiment_id
    monkeypatch.setattr(registry, "is_registered", lambda *_: False)
    monkeypatch.setattr(registry if what == "save" else store.Store, what, fails)
    monkeypatch.setattr(runs, "deadline", Deadline())
    with runs.system_run(systems.SYSTEM, stage="package", fingerprint="0") as run:
        run.model(Path("models", systems.SYSTEM), registry.About(Path("data/split/toy"), 200))
    failed = [one for one in client.search_logged_models([experiment]) if one.status.name != "READY"]
    for one in failed:
        client.delete_logged_model(one.model_id)
    assert [one.status.name for one in failed] == ["FAILED"]
    assert capsys.readouterr().err == "tracking: OSError: no space left; the stage goes on without it\n"


@pytest.mark.slow
def test_a_moved_project_serves_its_own_copy(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a fresh interpreter, since MLflow keeps a store's file open, by the code that is in the model."""
    folder = tmp_path / "moved"
    shutil.copytree(project / "mlruns", folder / "mlruns")
    shutil.copy(project / "mlflow.db", folder)
    code = f"""
import mlflow.pyfunc, pandas, sys
model = mlflow.pyfunc.load_model({ADDRESS!r})
import pipeline
given = pandas.DataFrame({{"source": {systems.PARTS["test"]!r}}})
print(pipeline.__file__, *model.predict(given)["translation"], sep="\\n")
"""
    command = [sys.executable, "-c", code]
    here = os.environ | {"MLFLOW_TRACKING_URI": "sqlite:///mlflow.db"}
    done = subprocess.run(command, cwd=folder, env=here, capture_output=True, text=True, check=False, timeout=180)
    where, *lines = done.stdout.removesuffix("\n").split("\n")
    assert lines == translated(project), done.stderr
    assert Path(where).is_relative_to(folder / "mlruns")


@pytest.mark.slow
def test_mlflow_serves_it(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ["-m", ADDRESS, "--env-manager", "local", "--host", "127.0.0.1", "--port", str(port)]
    folder = os.path.dirname(sys.executable)  # `mlflow models serve` calls uvicorn by its name
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "mlflow", "models", "serve", *arguments]
    with subprocess.Popen(command, env=environment, start_new_session=True) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/ping")
            table = {"columns": ["source"], "data": [[line] for line in systems.PARTS["test"]]}
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/invocations",
                json.dumps({"dataframe_split": table}).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                found = [row["translation"] for row in json.load(answer)["predictions"]]
            assert found == translated(project)
        finally:
            server.terminate()


def wait_for(address: str, seconds: float = 180.0) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.5)
