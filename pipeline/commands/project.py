"""The project in the working directory: its built systems, their settings of decoding, the Python of its stages."""

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

from pipeline.commands.naming import matching, shortest
from pipeline.decoding.settings import Decoding
from pipeline.decoding.translator import Translator
from pipeline.files import DataError
from pipeline.models import interface
from pipeline.params import PATH, nearest, read_yaml
from pipeline.system import AXES, Build, System, config_file, corpus_file


def search_path() -> str:
    """Where programs are looked for, this interpreter's folder first: dvc.yaml says only `python`."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def load(system: System) -> Translator:
    """A built system.

    Raises: DataError if it was not built, with the nearest name or the command that builds it.
    """
    check_here()
    if not is_built(system):
        check_known(system)
        raise DataError(f"--system: not built yet, got {system.id!r}; {recipe(system)}")
    return Translator.built(system)


def parse(text: str) -> System:
    """The system that `--system` names: by its id, or by a part of the id that only one built system has.

    The end of an id with a further seed, such as `bpe_2k-rnnsearch-tiny-2`, has as many words as an id.

    Raises: DataError if no built system has it, with the nearest id, or if several have, with their ids.
    """
    check_here()
    try:
        system = System.parse(text)
    except ValueError as error:
        ids = built()
        found = matching(text, ids)
        if not found:
            raise DataError(
                f"--system: {error}{nearest(text, ids) or '; expected a system that `dvc repro` builds'}"
            ) from None
    else:
        if is_built(system):
            return system
        ids = built()
        found = [name for name in ids if name.endswith(f"-{text}")]
        if not found:
            return system
    if len(found) > 1:
        names = ", ".join(shortest(name, ids) for name in found)
        raise DataError(
            f"--system: must mean one system, got {text!r}, a part of {len(found)}; expected one of {names}"
        )
    return System.parse(found[0])


def check_here() -> None:
    """Check that the working directory is the project's folder.

    Raises: DataError.
    """
    if not PATH.exists():
        raise DataError(f"{Path.cwd()}: has no {PATH}; expected the project's folder, which nmt runs in")


def is_built(system: System) -> bool:
    """Whether a system can translate."""
    return all(path.exists() for path in (system.weights, system.training_summary, system.vocabulary_folder))


def built() -> list[str]:
    """The ids of all systems that can translate, even those that `build` no longer chooses."""
    found = []
    for path in sorted(Path("runs").glob("*-*-*-*-*")):
        with contextlib.suppress(ValueError):
            if is_built(System.parse(path.name)):
                found.append(path.name)
    return found


def check_known(system: System) -> None:
    """Check that the project has a corpus, a vocabulary, a model and a size of these names.

    Raises: DataError with the nearest name of the first that it does not have.
    """
    from pipeline import catalogue  # every stage's sections: most of a second, which a system that is there spares

    whole = read_yaml(PATH)
    config = config_file(system.model)
    sizes = catalogue.sizes_of(read_yaml(config)) if config.exists() else []
    known = [catalogue.corpus_names(), mapping(whole, "vocabularies"), interface.names(), sizes]
    for (axis, name), names in zip(system.axes.items(), known, strict=False):
        if name not in names:
            hint = f"; built are {', '.join(built())}" if built() else ""
            raise DataError(
                f"--system: unknown {axis} {name!r}, got {system.id!r}{nearest(name, map(str, names))}{hint}"
            )


def mapping(node: dict[str, Any], name: str) -> dict[str, Any]:
    """The mapping at `name`; an empty one if there is none."""
    found = node.get(name)
    return found if isinstance(found, dict) else {}


def recipe(system: System) -> str:
    """How to build a system, in words."""
    build, command = Build.load("build"), f"run `dvc repro {system.stage('average')}`"
    missing = [
        f"{section}: {name}"
        for section, name in zip(AXES, system.axes.values(), strict=True)
        if name not in map(str, getattr(build, section))
    ]
    return f"name {', '.join(missing)} in `build` of {PATH}, then {command}" if missing else command


def decoding(system: System) -> Decoding:
    """Section `decode` for the corpus of a system; if the corpus's file is gone, params.yaml alone counts."""
    own = [f"{corpus_file(system.corpus)}:decode"] if corpus_file(system.corpus).exists() else []
    return Decoding.load_all("decode", *own)
