"""MLflow's first page opens at the runs, under model training, and every other address stays."""

import importlib.metadata
from pathlib import Path
from typing import Any

import mlflow
import pytest

from pipeline.tracking import pages

INDEX = "<!doctype html><html><head><title>MLflow</title></head><body></body></html>"


def test_page_opens_at_the_runs_of_the_experiment() -> None:
    found = pages.page(INDEX, "7")
    address = "#/experiments/7/runs?workflowType=machine_learning&viewStateShareKey=scores"
    assert f'location.replace("{address}")' in found
    assert found.index("<script>") < found.index("<title>")
    assert found.replace(found[found.index("<script>") : found.index("<title>")], "") == INDEX


def test_page_without_an_experiment_stays_where_it_is() -> None:
    assert "location.replace" not in pages.page(INDEX, "")
    assert "machine_learning" in pages.page(INDEX, "")


def test_mlflow_still_has_the_page() -> None:
    index = Path(mlflow.__file__).parent / "server/js/build/index.html"
    text = index.read_text(encoding="utf-8")
    assert pages.page(text, "1") != text


def test_mlflow_finds_the_app() -> None:
    entry = importlib.metadata.entry_points(group="mlflow.app")["nmt"]
    assert entry.load().__code__ == pages.create_app.__code__  # under the wheel's name, `nmt_pipeline`


def test_app_serves_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow.server import app as flask

    views = dict(flask.view_functions)
    monkeypatch.setattr(flask, "view_functions", views)
    monkeypatch.setattr(pages, "experiment_id", lambda: "3")
    pages.create_app()
    answer: Any = flask.test_client().get("/")
    assert "#/experiments/3/runs?" in answer.get_data(as_text=True)
