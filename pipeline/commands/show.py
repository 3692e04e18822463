"""`nmt check`, `nmt params` and `nmt list`: the parameter files, and what is built by them."""

import sys
from typing import Annotated

import typer
from ruamel.yaml import YAML

from ..common import files
from ..common.params import PATH, nearest, read_yaml
from ..common.system import Build, System, config_file
from ..models import interface
from . import catalogue, project


def check() -> None:
    """Name every fault of params.yaml, configs/ and corpora/.

    `nmt repro` begins with it: some of these faults make DVC fail with unclear messages.
    """
    checked()
    models = [name for name in interface.names() if config_file(name).exists()]
    print(f"no faults in {PATH}, configs/ ({len(models)} models) and corpora/ ({len(catalogue.corpus_names())})")


def checked() -> Build:
    """What `build` chooses, once all files are checked."""
    project.check_here()
    catalogue.check()
    return Build.load("build")


def show_params(
    system: Annotated[str, typer.Argument(help="Its id, or a part of it that no other system of `build` has.")],
) -> None:
    """Print all that a system gets, with its corpus's keys in place of those of params.yaml."""
    ids = [known.id for known in checked().systems()]
    matches = project.matching(system, ids)
    try:
        chosen = System.parse(matches[0] if len(matches) == 1 else system)
    except ValueError as error:
        raise files.DataError(f"SYSTEM: {error}{nearest(system, ids)}") from None
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.dump(catalogue.sections(chosen), sys.stdout)


def list_all() -> None:
    """Show all corpora, vocabularies, models and sizes, and the systems that were built, with their scores.

    A star marks what `build` of params.yaml chooses.
    """
    build = checked()
    for axis, names in {"corpora": catalogue.corpus_names(), "vocabularies": read_yaml(PATH)["vocabularies"]}.items():
        print(f"{axis}:", *(f"  {' *'[name in getattr(build, axis)]} {name}" for name in names), sep="\n")
    print("models and sizes:")
    for model in interface.names():
        chosen = build.sizes if model in build.models else []
        sizes = catalogue.sizes_of(read_yaml(config_file(model)))
        print(f"  {' *'[bool(chosen)]} {model}: {', '.join(size + '*' * (size in chosen) for size in sizes)}")
    print("systems:")
    chosen = [system.id for system in build.systems()]
    for name in dict.fromkeys([*chosen, *project.built()]):
        print(f"  {' *'[name in chosen]} {name}: {state(System.parse(name))}")


def state(system: System) -> str:
    """The scores of a system, or what it lacks."""
    if not project.is_built(system):
        return "not built"
    if not system.metrics.exists():
        return "built, not scored"
    scores = {part: values for part, values in files.read_json(system.metrics).items() if part != "validation"}
    return ", ".join(
        " ".join([part, *(f"{name} {round(value, 1):,}" for name, value in values.items())])
        for part, values in scores.items()
    )
