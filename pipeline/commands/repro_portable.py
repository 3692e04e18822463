"""`nmt repro-portable`: a build whose results are the same on every x86-64 processor with AVX2, against a list of them.

It happens in `work/portable/`, a project of its own: what `nmt repro` built, dvc.lock and metrics/ stay as they are.
"""

import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from pipeline import cli
from pipeline.commands import outcome, portable_list, project
from pipeline.commands.check import check
from pipeline.commands.portable_list import LIST
from pipeline.files import DataError
from pipeline.params import PATH

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
        made_with = portable_list.conditions(Path())
        if not renew:
            portable_list.check_fits(made_with)
        lay_out()
        if status := build():
            sys.exit(status if status > 0 else 128 - status)
        results = portable_list.checksums(FOLDER)
    if renew:
        portable_list.write(FOLDER, made_with, results)
        print(f"{LIST}: {len(results)} results, written")
    else:
        portable_list.compare(FOLDER, results)
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
    """Ours with portable arithmetic, and this interpreter first on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED)}
    return kept | SETTINGS | {"PATH": project.search_path(), outcome.BUILDER: "nmt repro-portable"}


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
    """Give a file of the user another name, or copy it if the two folders are on different disks.

    Of a symbolic link it is the file that gets the name: a relative one leads elsewhere from `target`. One that leads
    to nothing is left out.
    """
    try:
        os.link(os.path.realpath(source), target)
    except FileNotFoundError:
        return
    except OSError:
        shutil.copy2(source, target)
