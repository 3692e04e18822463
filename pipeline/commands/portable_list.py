"""portable.json: the md5 of every result of `nmt repro-portable`, and what those results depend on."""

import hashlib
import json
from collections import defaultdict
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from pipeline import files
from pipeline.files import DataError
from pipeline.params import PATH, find, read_yaml
from pipeline.system import Build, Distillation, split_folder, vocabulary_folder

LIST = Path("portable.json")
PACKAGES = ("numpy", "sacrebleu", "sentencepiece", "torch")  # whose arithmetic is in the results
UNLISTED = ("attend", "ensemble", "package", "report")  # stages that write no result of the list


def conditions(root: Path) -> dict[str, Any]:
    """Versions of packages, and the checksum of each section of the parameter files that shapes a result."""
    chosen = read_build(root)
    values = {f"{PATH}: build": chosen.model_dump()}
    for file, names in sections(root, chosen).items():
        whole = read_yaml(root / file)
        values |= {f"{file}: {name}": find(whole, name, root / file) for name in names}
    return {
        "packages": {name: version(name).partition("+")[0] for name in PACKAGES},
        "sections": {place: md5(json.dumps(value, sort_keys=True)) for place, value in sorted(values.items())},
    }


def sections(root: Path, chosen: Build) -> dict[str, set[str]]:
    """File -> names of the sections that the stages of a build with a listed result read, as dvc.yaml says."""
    found = defaultdict[str, set[str]](set)
    axes = [{f"item.{axis}": name for axis, name in system._asdict().items()} for system in chosen.systems()]
    taught = [{"key": corpus} for corpus in Distillation.load("distill", root / PATH).teachers]
    for stage, about in read_yaml(root / "dvc.yaml")["stages"].items():
        each, script = (taught, about["do"]) if "foreach" in about else (axes, about)
        entries = [] if stage in UNLISTED else script.get("params", [])
        for values, entry in product(each, entries):
            for file, names in (entry if isinstance(entry, dict) else {str(PATH): [entry]}).items():
                found[filled(file, values)] |= {filled(name, values) for name in names}
    return found


def filled(text: str, values: dict[str, str]) -> str:
    """A name of dvc.yaml with these values in the place of `${<name>}`."""
    for name, value in values.items():
        text = text.replace(f"${{{name}}}", value)
    return text


def read_build(root: Path) -> Build:
    """What the params.yaml of a project chooses."""
    return Build.load("build", root / PATH)


def check_fits(made_with: dict[str, Any]) -> None:
    """Check that the list was made with today's parameters and packages.

    Raises: DataError naming those that have changed.
    """
    listed = read_list()
    names = [
        name
        for kind in ("packages", "sections")
        for name in sorted({*listed[kind], *made_with[kind]})
        if listed[kind].get(name) != made_with[kind].get(name)
    ]
    if names:
        raise DataError(
            f"{LIST}: was made with another {', '.join(names)}; expected those of this folder. "
            "`nmt repro-portable --renew` builds and writes the list anew"
        )


def read_list() -> dict[str, Any]:
    """The committed list.

    Raises: DataError if there is none, or if it is no such list.
    """
    expected = "the one that git has, or what `nmt repro-portable --renew` writes"
    if not LIST.exists():
        raise DataError(f"{LIST}: no such file; expected {expected}")
    found = files.read_json(LIST)
    if not isinstance(found, dict) or not {"code", "packages", "results", "sections"} <= {*found}:
        raise DataError(f"{LIST}: not a list of portable results; expected {expected}")
    return found


def checksums(root: Path) -> dict[str, str]:
    """The md5 of each result, in the order in which they are made."""
    chosen, paths = read_build(root), list[Path]()
    for corpus in chosen.corpora:
        paths += sorted((root / split_folder(corpus)).iterdir())
        for words in chosen.vocabularies:
            paths += sorted((root / vocabulary_folder(corpus, words)).iterdir())
    for system in chosen.all_systems():
        curves, translations = root / system.trained / "curves.csv", sorted((root / system.decoded).glob("*.txt"))
        paths += [curves, root / system.weights, *translations, root / system.metrics]
    return {path.relative_to(root).as_posix(): md5(path.read_bytes()) for path in paths}


def compare(root: Path, results: dict[str, str]) -> None:
    """Check that the results of the project at `root` are those of the list.

    Raises: DataError naming the first that is not, in the order in which they are made, and the likely reason.
    """
    listed = read_list()
    names = list(dict.fromkeys([*results, *listed["results"]]))
    if others := [name for name in names if results.get(name) != listed["results"].get(name)]:
        same = code(root) == listed["code"]
        reason = "the code is the same, so this machine" if same else "the code has changed since, or this machine"
        raise DataError(
            f"{LIST}: {len(others)} of {len(names)} results differ, first {others[0]}; {reason} rounds differently"
        )


def write(root: Path, made_with: dict[str, Any], results: dict[str, str]) -> None:
    """Write the list of the project at `root`."""
    files.write_json(LIST, {"code": code(root), **made_with, "results": results})


def code(root: Path) -> str:
    """One checksum of all code that stages may run."""
    paths = sorted(path for room in ("pipeline", "stages") for path in (root / room).rglob("*.py"))
    return md5(
        "".join(f"{path.relative_to(root).as_posix()} {md5(path.read_bytes())}\n" for path in paths if ran(path))
    )


def ran(path: Path) -> bool:
    """Whether a stage may run a file: not one of the command `nmt` or of the server."""
    return not {"commands", "serving"} & {*path.parts}


def md5(content: str | bytes) -> str:
    """Hexadecimal md5, as DVC writes it."""
    return hashlib.md5(content.encode() if isinstance(content, str) else content, usedforsecurity=False).hexdigest()
