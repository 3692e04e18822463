"""Memory of a training's own stage as its updates go by, tracking and validation included.

    python -m benchmarks.memory multi30k_de_en-bpe_8k-transformer_prenorm-small-1 --updates 3800

`dvc repro encode` must have encoded the corpus. The stage runs in a folder of its own, with the params and the data of
this one, from scratch, and is asked to end after so many updates. Linux only.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from benchmarks.contestants.machine import describe

ROOT = Path(__file__).parents[1]
SYSTEM = "phrasebook_fr_en-bpe_2k-transformer_prenorm-small-1"


class Sample(NamedTuple):
    """Memory of the stage's process after an update, and its peak, in GiB."""

    update: int
    gib: float
    peak_gib: float


def main(
    system: Annotated[str, typer.Argument(help="Id of a system, whose corpus is encoded.")] = SYSTEM,
    updates: Annotated[int, typer.Option(min=1, help="Updates after which the stage is asked to end.")] = 300,
    every: Annotated[int, typer.Option(min=1, help="Updates between two samples.")] = 10,
) -> None:
    """Print a table of about ten samples."""
    samples = watch(system, updates, every)
    print(f"{describe()}; {system}\n")
    print("| update | GiB | most so far |")
    print("| ---: | ---: | ---: |")
    for sample in [*samples[: -1 : max(1, len(samples) // 10)], samples[-1]]:
        print(f"| {sample.update:,} | {sample.gib:.2f} | {sample.peak_gib:.2f} |")


def watch(system: str, updates: int, every: int) -> list[Sample]:
    """A sample about every `every` updates of a training from scratch, ended by SIGTERM after `updates`.

    It runs in a folder of its own, with the params and the data of this one: its tracking goes to a store of its own.
    """
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        link(folder, "params.yaml", "configs", "corpora", "data")
        command = [sys.executable, "-m", "stages.train", system]
        with (folder / "output").open("w+") as output:
            stage = subprocess.Popen(command, cwd=folder, env=environment(), stdout=output, stderr=output)
            while stage.poll() is None and (not samples or samples[-1].update < updates):
                time.sleep(0.2)
                update = last_update(folder)
                if update >= (samples[-1].update + every if samples else 1):
                    samples.append(Sample(update, *memory_gib(stage.pid)))
            if stage.poll() is None:
                stage.send_signal(signal.SIGTERM)
            if stage.wait() not in (0, -signal.SIGTERM, 128 + signal.SIGTERM):
                output.seek(0)
                sys.exit(f"{' '.join(command)} failed:\n{output.read()[-3000:]}")
    return samples


def link(folder: Path, *names: str) -> None:
    """Put files or folders of the project into a folder that stands for it; those that are there stay."""
    for name in names:
        if not (folder / name).exists():
            (folder / name).symlink_to(Path(name).resolve())


def environment() -> dict[str, str]:
    """That of a stage in such a folder: this code, and tracking in a store of the folder."""
    kept = {key: value for key, value in os.environ.items() if key != "MLFLOW_TRACKING_URI"}
    return kept | {"PYTHONPATH": str(ROOT), "DVC_STAGE": "train"}  # so that it says how far it is


def last_update(folder: Path) -> int:
    """How far the training in such a folder is, 0 before it has begun."""
    try:
        return int(json.loads((folder / "work/progress/train.json").read_bytes())["done"])
    except FileNotFoundError:
        return 0


def memory_gib(process_id: int) -> tuple[float, float]:
    """Memory of a process and its peak, as Linux counts them."""
    try:
        status = Path(f"/proc/{process_id}/status").read_text(encoding="ascii")
    except FileNotFoundError:
        sys.exit("no /proc: the memory of a stage is watched on Linux alone")
    held = {line.split()[0]: int(line.split()[1]) for line in status.splitlines() if line.endswith("kB")}  # KiB
    return held["VmRSS:"] / 2**20, held["VmHWM:"] / 2**20


if __name__ == "__main__":
    typer.run(main)
