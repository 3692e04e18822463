"""MLflow's registry: every corpus is a model, every package a version, the one best on validation the champion."""

import importlib.metadata
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..common import files, parts
from ..common.system import System
from ..evaluation.bleu import tokenizer
from .runs import Run
from .store import store, tolerant

# Imports of loading and translating; a model gets the versions that are installed here.
REQUIRED = "mlflow numpy pandas pydantic rich ruamel.yaml ruamel.yaml.clib sacremoses safetensors sentencepiece torch"


def register(system: System) -> None:
    """Log a packaged system as a model of its training's run and as a version of its corpus, once for the same bytes.

    An experiment of DVC, which may be undone, registers nothing.
    """
    if not os.environ.get("DVC_EXP_NAME"):
        with Run(system) as run:
            run.open_finished()
            add_version(run, system)


@tolerant
def add_version(run: Run, system: System) -> None:
    """Add the package as a version, and choose the champion among versions validated on the same sentences."""
    config, digest = files.read_json(system.packaged / "config.json"), files.sha256(system.packaged / "checksums.json")
    count = files.read_json(system.training_summary)["params"]["training"]["validation_sentences"]
    sums = files.sha256(*parts.paths(system.split, parts.VALIDATION))[:16]
    validation = f"{sums}, {count} sentences, {tokenizer(config['target_language'])}"
    if not store.client.search_model_versions(f"name = '{system.corpus}' and tags.digest = '{digest}'", max_results=1):
        scores = {f"{part}/{name}": value for part, named in config["scores"].items() for name, value in named.items()}
        tags = {key: f"{value:g}" for key, value in (scores | config["validation"]).items()}
        tags |= system.axes | {"system": system.id, "digest": digest, "validation": validation}
        version = log_model(run, system.packaged, config)
        for key, value in tags.items():
            store.client.set_model_version_tag(system.corpus, version, key, value)
    choose_champion(system.corpus, validation)


def log_model(run: Run, package: Path, config: Mapping[str, Any]) -> str:
    """The version of a packaged system as an MLflow model made from code: loading it unpickles nothing."""
    import mlflow.pyfunc
    from mlflow.models import Model, infer_signature

    options = {name: config["decoding"][name] for name in ("beam_size", "length_penalty")}
    mlflow.set_experiment(experiment_id=store.experiment_id)
    warnings.filterwarnings("ignore", "(?s).*input example")  # the signature is given
    logged = Model.log(
        artifact_path=None,  # `name` took its place
        flavor=mlflow.pyfunc,
        name=config["system"],
        run_id=run.id,
        registered_model_name=config["corpus"],
        model_type="translation",
        python_model=str(Path(__file__).with_name("served.py")),
        artifacts={"system": str(package)},
        code_paths=[str(Path(__file__).parents[1])],  # our package: the model needs no wheel
        signature=infer_signature([{"source": ""}], [{"translation": ""}], options),
        # A build of torch is not named: `2.9.0`, not `2.9.0+cpu`.
        pip_requirements=[f"{name}=={importlib.metadata.version(name).partition('+')[0]}" for name in REQUIRED.split()],
    )
    return str(logged.registered_model_version)


def choose_champion(name: str, validation: str) -> None:
    """Make the version with the best validation BLEU the champion, by the loss where there is none."""
    versions = store.client.search_model_versions(f"name = '{name}' and tags.validation = '{validation}'")
    order = [
        (float(version.tags.get("validation_bleu", -1)), -float(version.tags["validation_loss"]), -int(version.version))
        for version in versions
    ]
    if order:
        store.client.set_registered_model_alias(name, "champion", str(-max(order)[2]))
