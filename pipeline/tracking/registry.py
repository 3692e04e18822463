"""MLflow's registry: every corpus is a model, every package a version, the one best on validation the champion."""

import importlib.metadata
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..common import files
from .runs import Run
from .store import store, tolerant

CHAMPION = "champion"  # the alias of the version with the best validation
CODE = Path(__file__).parents[1]  # our package, copied into each model, which then needs no wheel
# What loading and translating imports; a model gets the versions that are installed here.
REQUIRED = (
    *("mlflow", "numpy", "pandas", "pydantic", "rich", "ruamel.yaml", "ruamel.yaml.clib", "sacremoses"),
    *("safetensors", "sentencepiece", "torch"),
)


@tolerant
def register(run: Run, package: Path, validation: str) -> None:
    """Log a packaged system as a model of its training's run and as a version of its corpus, once for the same bytes.

    `validation` is the same for systems that were validated on the same sentences: only they are compared.
    """
    config, digest = files.read_json(package / "config.json"), files.sha256(package / "checksums.json")
    name = config["corpus"]
    if not store.client.search_model_versions(f"name = '{name}' and tags.digest = '{digest}'", max_results=1):
        scores = {
            f"{part}/{metric}": value for part, found in config["scores"].items() for metric, value in found.items()
        }
        tags = {axis: config[axis] for axis in ("system", "vocabulary", "model", "size")}
        tags |= {key: f"{value:g}" for key, value in (scores | config["validation"]).items()}
        log_model(run, package, config, tags | {"digest": digest, "validation": validation})
    choose_champion(name, validation)


def log_model(run: Run, package: Path, config: Mapping[str, Any], tags: dict[str, str]) -> None:
    """Log and register a packaged system as an MLflow model made from code: loading it unpickles nothing."""
    import mlflow.pyfunc
    from mlflow.models import Model, ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema

    decoding = config["decoding"]
    beam_size = ParamSpec("beam_size", DataType.long, int(decoding["beam_size"]))
    length_penalty = ParamSpec("length_penalty", DataType.double, float(decoding["length_penalty"]))
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
        code_paths=[str(CODE)],
        signature=ModelSignature(
            inputs=Schema([ColSpec(DataType.string, "source")]),
            outputs=Schema([ColSpec(DataType.string, "translation")]),
            params=ParamSchema([beam_size, length_penalty]),
        ),
        # A build of torch is not named: `2.9.0`, not `2.9.0+cpu`.
        pip_requirements=[f"{name}=={importlib.metadata.version(name).partition('+')[0]}" for name in REQUIRED],
    )
    for key, value in tags.items():
        store.client.set_model_version_tag(config["corpus"], str(logged.registered_model_version), key, value)


def choose_champion(name: str, validation: str) -> None:
    """Make the version with the best validation BLEU the champion, by the loss where there is none.

    An experiment of DVC, which may be undone, takes the place of no champion that was validated otherwise.
    """
    versions = store.client.search_model_versions(f"name = '{name}'")
    now = store.client.get_registered_model(name).aliases.get(CHAMPION)
    if os.environ.get("DVC_EXP_NAME") and any(
        str(version.version) == str(now) and version.tags.get("validation") != validation for version in versions
    ):
        return
    alike = [version for version in versions if version.tags.get("validation") == validation]
    best = max(alike, key=quality, default=None)
    if best and str(best.version) != str(now):
        store.client.set_registered_model_alias(name, CHAMPION, best.version)


def quality(version: Any) -> tuple[float, float, int]:
    """By which versions are ordered: BLEU, then loss, the first among equals."""
    bleu, loss = (float(version.tags.get(f"validation_{name}", "nan")) for name in ("bleu", "loss"))
    return (bleu if bleu == bleu else -1.0), -loss, -int(version.version)
