"""`nmt repro-portable`: a build whose results are the same on every x86-64 processor with AVX2, against a list of them.

It happens in `work/portable/`, a project of its own: what `nmt repro` built, dvc.lock and metrics/ stay as they are.
"""

import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline import cli, files
from pipeline.commands import project
from pipeline.commands.check import check
from pipeline.files import DataError
from pipeline.params import PATH, find, read_yaml
from pipeline.system import Build, Distillation, split_folder, vocabulary_folder

LIST = Path("portable.json")  # what the results depend on, and the md5 of each
FOLDER = Path("work/portable")
SETTINGS = {
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own loops: not the variant for AVX-512
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # nor oneDNN's
    "MKL_CBWR": "COMPATIBLE",  # MKL: the only branch that it takes on every maker's processors
    "OMP_NUM_THREADS": "1",  # of the stages that no parameter gives a number
    "CUDA_VISIBLE_DEVICES": "",
}
# Of the user, they would change results, or mix this build's trainings with others.
DROPPED = (
    *("ATEN_", "DNNL_", "GIT_", "KMP_", "MKL_", "MLFLOW_TRACKING_", "NPY_", "OMP_", "ONEDNN_", "PET_"),
    "TRAIN_PROCESSES",
)
BUILD = (sys.executable, "-m", "pipeline.commands.nmt", "repro")
COPIED = ("corpora", "pipeline", "stages")
PACKAGES = ("numpy", "sacrebleu", "sentencepiece", "torch")  # whose arithmetic is in the results
UNLISTED = ("attend", "package", "report")  # stages that write no result of the list
DVC_CONFIG = """[core]
    no_scm = true
    analytics = false
    check_update = false
[cache]
    dir = cache
"""  # its own cache: from a shared one, DVC would restore the results of `nmt repro`


def repro_portable(
    renew: Annotated[
        bool, typer.Option("--renew", help=f"Write {LIST} from what was built, after a change of code or parameters.")
    ] = False,
) -> None:
    """Build all of params.yaml in work/portable/ with portable arithmetic, and compare the results with portable.json.

    It is made to give the same bytes on every x86-64 processor with AVX2, and takes longer than `nmt repro`. A build
    that was stopped goes on with the same command; remove work/portable/ to build everything again.
    """
    project.check_here()
    check()
    check_processor()
    with cli.held(cli.LOCKS / "repro-portable"):
        made_with = conditions(Path())
        if not renew:
            check_fits(made_with)
        lay_out()
        if status := build():
            sys.exit(status if status > 0 else 128 - status)
        results = checksums(FOLDER)
    if renew:
        files.write_json(LIST, {"code": code(FOLDER), **made_with, "results": results})
        print(f"{LIST}: {len(results)} results, written")
    else:
        compare(results)
        print(f"{LIST}: all {len(results)} results are the same here")


def check_processor() -> None:
    """Check that this processor has the instructions that the portable results are made with.

    Raises: DataError.
    """
    import torch  # two seconds, which other commands need not wait for

    found = torch.cpu.get_capabilities()
    if not (found.get("avx2") and found.get("fma3")):
        raise DataError(
            f"this processor: has no AVX2 with FMA, got {platform.machine()}; expected an x86-64 processor that has "
            "them, or `make repro`, whose results this machine repeats"
        )


def environment() -> dict[str, str]:
    """Ours with portable arithmetic, and this interpreter first on the path, as dvc.yaml says only `python`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED)}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", os.defpath)])
    return kept | SETTINGS | {"PATH": path}


def build() -> int:
    """Run `nmt repro` in `FOLDER`; its status. A terminal sends Ctrl-C to it too; SIGTERM is passed on."""
    asked, running = threading.Event(), list[subprocess.Popen[bytes]]()

    def pass_on(*_: object) -> None:
        asked.set()
        for process in running:
            process.terminate()

    before = signal.signal(signal.SIGTERM, pass_on), signal.signal(signal.SIGINT, lambda *_: None)
    try:
        running.append(subprocess.Popen(BUILD, cwd=FOLDER, env=environment()))
        if asked.is_set():  # by a signal before the process was in `running`
            pass_on()
        return running[0].wait()
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


def lay_out() -> None:
    """Bring code and parameters of the project in `FOLDER` up to date; what was built there stays."""
    for name in COPIED:
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        shutil.copytree(name, FOLDER / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for name in (".dvcignore", "dvc.yaml", str(PATH)):
        shutil.copyfile(name, FOLDER / name)
    shutil.rmtree(FOLDER / "my", ignore_errors=True)
    shutil.copytree("my", FOLDER / "my", copy_function=link)
    (FOLDER / ".dvc").mkdir(exist_ok=True)
    (FOLDER / ".dvc/config").write_text(DVC_CONFIG, encoding="utf-8")


def link(source: str, target: str) -> None:
    """Give a file of the user another name, or copy it if the two folders are on different disks."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


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
    for system in chosen.systems() + chosen.more_systems():
        curves, translations = root / system.trained / "curves.csv", sorted((root / system.decoded).glob("*.txt"))
        paths += [curves, root / system.weights, *translations, root / system.metrics]
    return {path.relative_to(root).as_posix(): md5(path.read_bytes()) for path in paths}


def compare(results: dict[str, str]) -> None:
    """Check that the results are those of the list.

    Raises: DataError naming the first that is not, in the order in which they are made, and the likely reason.
    """
    listed = read_list()
    names = list(dict.fromkeys([*results, *listed["results"]]))
    if others := [name for name in names if results.get(name) != listed["results"].get(name)]:
        same = code(FOLDER) == listed["code"]
        reason = "the code is the same, so this machine" if same else "the code has changed since, or this machine"
        raise DataError(
            f"{LIST}: {len(others)} of {len(names)} results differ, first {others[0]}; {reason} rounds differently"
        )


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
