"""What stands in the folder that a command runs in: the systems that were built, and how they search."""

import math
import re
from pathlib import Path
from typing import Any

from pipeline.build import Build
from pipeline.decoding.translate import CorpusDecoding, Decoding
from pipeline.decoding.translator import Translator, training_path
from pipeline.files import DataError
from pipeline.params import NAME, PATH, nearest, read_yaml
from pipeline.weights import weights_path

AXES = {"corpora": "corpus", "vocabularies": "vocabulary", "models": "model", "sizes": "size"}


def load(system: str) -> Translator:
    """The built system of this id.

    Raises: DataError where there is none, with the nearest name or the command that builds it.
    """
    check_here()
    axes = system.split("-")
    if len(axes) != len(AXES) or not all(re.fullmatch(NAME, name) for name in axes):
        hint = nearest(system, built()) or "; expected a system that `dvc repro` builds"
        raise DataError(f"--system: must be <{'>-<'.join(AXES.values())}>, got {system!r}{hint}")
    if not is_built(system):
        check_known(axes)
        raise DataError(f"--system: not built yet, got {system!r}; {recipe(axes)}")
    return Translator.load(system)


def check_here() -> None:
    """Nothing, where this folder is the project's.

    Raises: DataError.
    """
    if not PATH.exists():
        raise DataError(f"{Path.cwd()}: has no {PATH}; expected the project's folder, which nmt runs in")


def is_built(system: str) -> bool:
    """Whether a system can translate."""
    corpus, vocabulary, *_ = system.split("-")
    needs = (weights_path(system), training_path(system), Path("data/vocabulary", f"{corpus}-{vocabulary}"))
    return all(path.exists() for path in needs)


def built() -> list[str]:
    """The ids of all systems that can translate, those of earlier choices too."""
    return sorted(filter(is_built, (path.name for path in Path("runs").glob("*-*-*-*"))))


def check_known(axes: list[str]) -> None:
    """Nothing, where the catalogue holds the four names.

    Raises: DataError with the nearest name of the first that it does not hold.
    """
    catalogue = read_yaml(PATH)
    sizes = mapping(mapping(catalogue, "models"), axes[2])
    known = [*(mapping(catalogue, section) for section in list(AXES)[:3]), sizes]
    for axis, name, names in zip(AXES.values(), axes, known, strict=True):
        if name not in names:
            hint = f"; built are {', '.join(built())}" if built() else ""
            raise DataError(
                f"--system: unknown {axis} {name!r}, got {'-'.join(axes)!r}{nearest(name, map(str, names))}{hint}"
            )


def mapping(node: dict[str, Any], name: str) -> dict[str, Any]:
    """What stands at `name`, where that is a mapping."""
    found = node.get(name)
    return found if isinstance(found, dict) else {}


def recipe(axes: list[str]) -> str:
    """How a system of the catalogue is built."""
    build, command = Build.load("build"), f"run `dvc repro average@{'-'.join(axes)}`"
    missing = [
        f"{section}: {name}" for section, name in zip(AXES, axes, strict=True) if name not in getattr(build, section)
    ]
    return f"name {', '.join(missing)} in `build` of {PATH}, then {command}" if missing else command


def decoding(system: str, beam: int | None, length_penalty: float | None) -> Decoding:
    """Section `decode` as it is for the corpus of a system, with what the command line says instead.

    A corpus that is not in the catalogue any more has nothing of its own.

    Raises: DataError where the length penalty is no number.
    """
    if length_penalty is not None and not math.isfinite(length_penalty):
        raise DataError(f"--length-penalty: must be finite, got {length_penalty}; expected 0 or more, such as 0.6")
    changed = {"beam_size": beam, "length_penalty": length_penalty}
    section, corpus = Decoding.load("decode"), system.split("-")[0]
    if corpus in mapping(read_yaml(PATH), "corpora"):
        section = section.changed(CorpusDecoding.load(f"corpora.{corpus}.decode"))
    given = {name: value for name, value in changed.items() if value is not None}
    return section.changed(CorpusDecoding.model_validate(given))
