"""`nmt params`: what a system gets from params.yaml, configs/ and corpora/."""

import sys
from typing import Annotated

import typer
from ruamel.yaml import YAML

from pipeline import catalogue
from pipeline.files import DataError
from pipeline.models import interface
from pipeline.params import nearest
from pipeline.system import System


def show_params(
    system: Annotated[str, typer.Argument(help="Its id: <corpus>-<vocabulary>-<model>-<size>-<seed>.")],
) -> None:
    """Print all that a system gets, with its corpus's keys in place of those of params.yaml."""
    try:
        parsed = System.parse(system)
    except ValueError as error:
        raise DataError(f"SYSTEM: {error}") from None
    if parsed.model not in (models := interface.names()):
        raise DataError(f"SYSTEM: unknown model, got {parsed.model!r}{nearest(parsed.model, models)}")
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.dump(catalogue.sections(parsed), sys.stdout)
