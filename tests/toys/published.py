"""The sections of this project's own params.yaml, for tests of what it says."""

from pathlib import Path
from types import ModuleType
from typing import Any

from pipeline.models import interface
from pipeline.params import DEFAULT, read_yaml
from pipeline.training.learning import Learning

ROOT = Path(__file__).parents[2]
PARAMS = read_yaml(ROOT / "params.yaml")
CORPORA = {path.stem: read_yaml(path) for path in sorted((ROOT / "corpora").glob("*.yaml"))}


def sizes() -> list[tuple[str, str]]:
    """Every model and size."""
    return [(model, size) for model, known in PARAMS["models"].items() for size in known if size != DEFAULT]


def values(model: str, size: str) -> dict[str, Any]:
    """Every key of a size, its own before the model's default."""
    return PARAMS["models"][model][DEFAULT] | PARAMS["models"][model][size]


def arch(model: str, size: str) -> Any:
    """The architecture of a size, typed."""
    return own(interface.find(model), "Arch", values(model, size))


def learning(model: str, size: str) -> Learning:
    """How a size learns, typed."""
    given = {key: value for key, value in values(model, size).items() if key in Learning.model_fields}
    return Learning.model_validate(given)


def own(module: ModuleType, name: str, given: dict[str, Any]) -> Any:
    """A section of the keys that are fields of its class."""
    kind = getattr(module, name)
    return kind.model_validate({key: value for key, value in given.items() if key in kind.model_fields})
