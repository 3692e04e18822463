"""How much of its speed this project keeps beside other programs that want the processor too.

    python benchmarks/shared_machine.py --data data/encode/multi30k_de_en-bpe_8k

The same training, idle and beside one and two processes that do nothing but count, with each way for OpenMP's threads
to wait for one another: as libgomp has it, and as `pipeline/cli.py` sets it. Meaningless where anything else runs.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from contestants.machine import FASTER, describe
from contestants.shapes import SIZES, training_job
from contestants.turn import HERE, OURS, run

from pipeline import cli

DEFAULT = "300000"  # turns of libgomp where nothing is said
WAYS = {"as libgomp has it": DEFAULT, f"GOMP_SPINCOUNT={cli.SPINS}": cli.SPINS}


def main(
    data: Annotated[Path, typer.Option(help="Folder of an encoded corpus with a joint vocabulary.")] = Path(
        "data/encode/phrasebook_fr_en-bpe_2k"
    ),
    size: Annotated[str, typer.Option(help=f"Model: {', '.join(SIZES)}.")] = "small",
    precision: Annotated[str, typer.Option(help="fp32 or bf16.")] = FASTER,
    positions: Annotated[int, typer.Option(help="Most positions of an update, padding included.")] = 1500,
    updates: Annotated[int, typer.Option(min=1, help="Updates that are timed.")] = 20,
    warm_up: Annotated[int, typer.Option(min=1, help="Updates before them.")] = 5,
    rounds: Annotated[int, typer.Option(min=1, help="How often each has its turn.")] = 1,
    threads: Annotated[int, typer.Option(help="Threads of the training.")] = torch.get_num_threads(),
) -> None:
    """Print a table: median target tokens a second."""
    given = training_job(data, size, positions=positions, updates=updates, warm_up=warm_up, precision=precision)
    print(f"{describe()}; {threads} threads; {size}, {precision}, updates of {positions} positions, {data.name}\n")
    print("| threads wait | idle | beside one process | beside two |")
    print("| :--- | ---: | ---: | ---: |")
    for way, spins in WAYS.items():
        cells = [f"{speed(given, others, spins, rounds, threads):,.0f}" for others in range(3)]
        print(f"| {way} | {' | '.join(cells)} |", flush=True)


def speed(given: dict[str, Any], others: int, spins: str, rounds: int, threads: int) -> float:
    """Target tokens a second of the training beside so many `others`."""
    command = [sys.executable, str(HERE / f"{OURS}_training.py")]
    os.environ["GOMP_SPINCOUNT"] = spins
    speeds = []
    for seed in range(1, rounds + 1):
        with busy(others):
            found = run(command, given | {"seed": seed}, threads)
        speeds.append(found["tokens"] / found["seconds"])
    return statistics.median(speeds)


@contextmanager
def busy(number: int) -> Iterator[None]:
    """So many processes that only count, meanwhile."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    typer.run(main)
