"""MLflow's pages for `make ui`: they open under "Model training", at the list of runs with its scores.

MLflow 3.17 opens under "GenAI", whatever the experiment says of its kind, and keeps the choice in the browser only.
"""

import os
from pathlib import Path
from typing import Any

from pipeline.tracking.views import SCORES

# What the browser remembers already stays, and so does every address but the first page's.
SCRIPT = """<script>
for (const [key, value] of [
  ["mlflow.workflowType_v1", '"machine_learning"'],
  ["mlflow.assistant.fab.autoOpenedOnFirstLoad_v1", "true"],
]) if (localStorage.getItem(key) === null) localStorage.setItem(key, value);
%s</script>"""
GO = 'if (location.hash.length < 3) location.replace("%s");\n'


def runs_address(experiment_id: str) -> str:
    """The part of the address, after the server's, of an experiment's runs with their scores, the best first."""
    return f"#/experiments/{experiment_id}/runs?workflowType=machine_learning&viewStateShareKey={SCORES}"


def page(index: str, experiment_id: str) -> str:
    """MLflow's one page, with the script that sets where it opens."""
    go = GO % runs_address(experiment_id) if experiment_id else ""
    return index.replace("<head>", f"<head>{SCRIPT % go}", 1)


def experiment_id() -> str:
    """Id of the experiment that stages log to; empty if there is none yet."""
    from mlflow.server.handlers import _get_tracking_store

    store: Any = _get_tracking_store()  # untyped in MLflow
    found = store.get_experiment_by_name(os.environ.get("MLFLOW_EXPERIMENT_NAME") or "nmt")
    return str(found.experiment_id) if found else ""


def create_app() -> Any:
    """MLflow's own server with its first page replaced; `mlflow ui --app-name nmt` runs it."""
    from mlflow.server import app as flask
    from mlflow.server.fastapi_app import create_fastapi_app

    def serve() -> str:
        return page(Path(str(flask.static_folder), "index.html").read_text(encoding="utf-8"), experiment_id())

    flask.view_functions["serve"] = serve
    return create_fastapi_app(flask)
