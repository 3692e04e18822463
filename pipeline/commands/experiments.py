"""`nmt experiments`: DVC's experiments, what was varied in each, and the scores that it changed."""

import json
import subprocess
from pathlib import Path
from typing import Any

from ..common.files import DataError
from ..common.params import PATH, flatten
from ..console import tables
from . import project
from .board import METRICS
from .repro import DVC


def experiments() -> None:
    """Show the experiments of the last commit: what each varied, and loss and score of the systems that it changed."""
    project.check_here()
    command = [*DVC, "--wait-for-lock", "exp", "show", "--json"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    if shown.returncode:
        raise DataError(f"dvc exp show: {shown.stderr.strip()}")
    table = tables.titled("name", "varied", "system", "loss", "score")
    for commit in json.loads(shown.stdout)[1:]:  # after the workspace
        base = commit["data"] or {}
        for system, values in scores(base).items():
            table.add_row(commit["name"] or commit["rev"][:7], "", system, *cells(values))
        for experiment in commit["experiments"] or ():
            table.add_section()
            data = experiment["revs"][0]["data"] or {}
            before, name = flat(base.get("params", {})), experiment["name"] or experiment["revs"][0]["rev"][:7]
            varied = [
                f"{key}={value}" for key, value in flat(data.get("params", {})).items() if before.get(key) != value
            ]
            changed = {system: values for system, values in scores(data).items() if values != scores(base).get(system)}
            state = (experiment["executor"] or {}).get("state", "scores as before")
            rows = [[system, *cells(values)] for system, values in changed.items()] or [[state]]
            table.add_row(name, "\n".join(varied), *("\n".join(column) for column in zip(*rows, strict=True)))
    tables.show(table)


def scores(data: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Loss and scores of each system."""
    return dict(data.get("metrics", {}).get(str(METRICS), {}).get("data", {}))


def cells(values: dict[str, float]) -> list[str]:
    """The loss, and the scores with their names."""
    return [f"{values['loss']:.3f}", "  ".join(f"{key} {value:.2f}" for key, value in values.items() if key != "loss")]


def flat(files: dict[str, Any]) -> dict[str, Any]:
    """The values of parameter files by their dotted names, those of models and corpora with the file before."""
    values: dict[str, Any] = {}
    for name, content in files.items():
        values |= flatten(content.get("data") or {}, "" if name == str(PATH) else f"{Path(name).stem}:")
    return values
