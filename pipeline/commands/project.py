"""The project in the working directory: its built systems, by their short names too, and how they decode."""

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path

from ..common.files import DataError
from ..common.params import PATH, nearest
from ..common.system import Build, System, corpus_file
from ..decoding.settings import Decoding
from ..decoding.translator import Translator
from ..packaging import loading


def check_here() -> None:
    """Check that the working directory is the project's folder.

    Raises: DataError.
    """
    if not PATH.exists():
        raise DataError(f"{Path.cwd()}: has no {PATH}; expected the project's folder, which nmt runs in")


def parse(text: str, where: str = "--system") -> System:
    """The system that an option names: by its id, or by a part of the id that only one built system has.

    Raises: DataError if no built system has it, with the nearest id, or if several have, with their short names.
    """
    check_here()
    ids = built()
    matches = [text] if text in ids else matching(text, ids)
    if len(matches) > 1:
        names = ", ".join(shortest(name, ids) for name in matches)
        raise DataError(
            f"{where}: must mean one system, got {text!r}, a part of {len(matches)}; expected one of {names}"
        )
    if matches:
        return System.parse(matches[0])
    if matching(text, [system.id for system in Build.load("build").systems()]):
        raise DataError(f"{where}: not built yet, got {text!r}; expected one that `nmt repro` has built")
    expected = nearest(text, ids) or (
        f"; expected one that `build` of {PATH} names and `nmt repro` builds (`dvc checkout` takes others away)"
    )
    raise DataError(f"{where}: no built system has this name, got {text!r}{expected}")


def load(system: System) -> Translator:
    """A built system: as it is packaged, also while its run is built again; or else as its run left it.

    Without a package the settings of the search are those of the pages.
    """
    if system.packaged.is_dir():
        return loading.load(system.packaged)
    own = [f"{corpus_file(system.corpus)}:decode"] if corpus_file(system.corpus).exists() else []
    return Translator.built(system, Decoding.load("decode", *own))


def built() -> list[str]:
    """The ids of all systems that can translate, even those that `build` no longer chooses."""
    ids = []
    for name in sorted({path.name for folder in ("runs", "models") for path in Path(folder).glob("*-*-*-*-*")}):
        with contextlib.suppress(ValueError):
            ids += [name] if is_built(System.parse(name)) else []
    return ids


def is_built(system: System) -> bool:
    """Whether a system can translate."""
    run = system.weights, system.training_summary, system.vocabulary_folder
    return system.packaged.is_dir() or all(path.exists() for path in run)


def matching(text: str, ids: Sequence[str]) -> list[str]:
    """The ids that have a text in them; if some have it as whole names, only these: `small` is no `very_small`.

    Of several seeds of a system the first in `ids` is meant, unless the text ends in one.
    """
    if not text:
        return []
    matches = [name for name in ids if f"-{text}-" in f"-{name}-"] or [name for name in ids if text in name]
    if re.search("-[0-9]+$", text):
        return matches
    firsts: dict[str, str] = {}
    for name in matches:
        firsts.setdefault(name.rpartition("-")[0], name)
    return list(firsts.values())


def shortest(system: str, ids: Sequence[str]) -> str:
    """The least that tells a system from the others: the last names of its id, with the seed only if need be."""
    *_, vocabulary, model, size, seed = system.split("-")
    short = (model, f"{model}-{size}", f"{vocabulary}-{model}-{size}")
    candidates = (*short, *(f"{name}-{seed}" for name in short[1:]))
    return next((name for name in candidates if matching(name, ids) == [system]), system)
