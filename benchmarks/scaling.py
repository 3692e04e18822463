"""The gain of a second process in a training on one machine.

    python -m benchmarks.scaling --data data/encode/multi30k_de_en-bpe_8k

The same updates are made by one process, by one with two threads, and by two processes with a thread each, whose
gradients are added so that the number of processes does not show (`training.exact`), or as the backend does.
"""

import statistics
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.contestants.job import SIZES, training_job
from benchmarks.contestants.machine import describe
from benchmarks.contestants.turn import HERE, run

PARTS = 4  # micro-batches of an update
WAYS = {  # processes, threads of each, whether exact
    "1 process of 1 thread": (1, 1, True),
    "1 process of 2 threads": (1, 2, True),
    "2 processes of 1 thread": (2, 1, True),
    "2 processes of 1 thread, not exact": (2, 1, False),
}
WARM_UP = 3  # updates before those that are timed


def main(
    data: Annotated[Path, typer.Option(help="Folder of an encoded corpus with a joint vocabulary.")] = Path(
        "data/encode/phrasebook_fr_en-bpe_2k"
    ),
    size: Annotated[str, typer.Option(help=f"Model: {', '.join(SIZES)}.")] = "small",
    precision: Annotated[str, typer.Option(help="fp32 or bf16.")] = "fp32",
    positions: Annotated[int, typer.Option(help="Target tokens of an update, about.")] = 4096,
    updates: Annotated[int, typer.Option(min=1, help="Updates that are timed.")] = 10,
    rounds: Annotated[int, typer.Option(min=1, help="How often each way has its turn.")] = 3,
) -> None:
    """Print a table: medians over the rounds."""
    given = training_job(
        data, size, precision=precision, positions=positions, parts=PARTS, updates=updates, warm_up=WARM_UP
    )
    print(f"{describe()}; {size}, {precision}, updates of {positions} target tokens in micro-batches, {data.name}\n")
    runs_of: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    for seed in range(1, rounds + 1):
        for way, (processes, threads, exact) in WAYS.items():
            runs_of[way].append(run(command(processes), given | {"seed": seed, "exact": exact}, threads))
    print("| way | target tokens/s | of 1 thread |\n| :--- | ---: | ---: |")
    speeds = {way: [result["tokens"] / result["seconds"] for result in runs] for way, runs in runs_of.items()}
    alone = speeds[next(iter(WAYS))]
    for way, some in speeds.items():
        gain = statistics.median(a / b for a, b in zip(some, alone, strict=True))
        print(f"| {way} | {statistics.median(some):,.0f} | {gain:.2f} |")


def command(processes: int) -> list[str]:
    """This project's training, by torchrun where it is to have several processes."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"] if processes > 1 else []
    return [sys.executable, *launcher, str(HERE / "pipeline_training.py")]


if __name__ == "__main__":
    typer.run(main)
