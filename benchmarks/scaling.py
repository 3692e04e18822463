"""What a second process brings a training on one machine, what travels between them, and what that says of GPUs.

    python benchmarks/scaling.py --data data/encode/multi30k_de_en-bpe_8k

The same updates are made by one process, by one with two threads, and by two processes with a thread each, whose
gradients are added so that the number of processes does not show (`training.exact`), or as the backend does. The lines
on GPUs are arithmetic, not measurements: the time of an update on one GPU shared out, and a ring's all-reduce of all
gradients in fp32 after it, with nothing done meanwhile, as this project's trainings do it.
"""

import statistics
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from contestants.machine import describe, flops_per_token
from contestants.shapes import SIZES, training_job
from contestants.turn import HERE, OURS, run

PARTS = 4  # micro-batches of an update
WAYS = {  # processes, threads of each, whether exact
    "1 process of 1 thread": (1, 1, True),
    "1 process of 2 threads": (1, 2, True),
    "2 processes of 1 thread": (2, 1, True),
    "2 processes of 1 thread, not exact": (2, 1, False),
}
BYTES = 4  # of a gradient in fp32
WARM_UP = 3  # updates before those that are timed
LOOPBACK = Path("/sys/class/net/lo/statistics/tx_bytes")  # sent between all processes of this machine; Linux has it


def main(
    data: Annotated[Path, typer.Option(help="Folder of an encoded corpus with a joint vocabulary.")] = Path(
        "data/encode/phrasebook_fr_en-bpe_2k"
    ),
    size: Annotated[str, typer.Option(help=f"Model: {', '.join(SIZES)}.")] = "small",
    precision: Annotated[str, typer.Option(help="fp32 or bf16.")] = "fp32",
    positions: Annotated[int, typer.Option(help="Target tokens of an update, about.")] = 4096,
    updates: Annotated[int, typer.Option(min=1, help="Updates that are timed.")] = 10,
    rounds: Annotated[int, typer.Option(min=1, help="How often each way has its turn.")] = 3,
    gpu_tokens: Annotated[float, typer.Option(help="Target tokens a second of one GPU, assumed.")] = 500_000.0,
    gpu_update: Annotated[int, typer.Option(help="Target tokens of an update there.")] = 25_000,
    parameters: Annotated[float, typer.Option(help="Weights of the model there.")] = 60e6,
    inside: Annotated[float, typer.Option(help="GB/s between GPUs of a machine of 8, each way.")] = 450.0,
    between: Annotated[float, typer.Option(help="GB/s between machines, for each GPU.")] = 50.0,
) -> None:
    """Print what was measured, then what it says of 8 and 64 GPUs."""
    given = training_job(
        data, size, precision=precision, positions=positions, parts=PARTS, updates=updates, warm_up=WARM_UP
    )
    print(f"{describe()}; {size}, {precision}, updates of {positions} target tokens in micro-batches, {data.name}\n")
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    counted = []  # bytes that a process sent in a training of two
    for seed in range(1, rounds + 1):
        for way, (processes, threads, exact) in WAYS.items():
            before = sent_so_far()
            found[way].append(run(command(processes), given | {"seed": seed, "exact": exact}, threads))
            if processes > 1:
                counted.append((sent_so_far() - before) / processes)
    print("| way | target tokens/s | of 1 thread |\n| :--- | ---: | ---: |")
    speeds = {way: [one["tokens"] / one["seconds"] for one in runs] for way, runs in found.items()}
    alone = speeds[next(iter(WAYS))]
    for way, some in speeds.items():
        gain = statistics.median(a / b for a, b in zip(some, alone, strict=True))
        print(f"| {way} | {statistics.median(some):,.0f} | {gain:.2f} |")
    weights = flops_per_token(given) / 6  # two FLOPs forward and four backward for each of a matrix
    each = statistics.median(counted) / (WARM_UP + updates)
    print(
        f"\nIts {weights / 1e6:.1f} M weights in matrices: each of two processes sends {sent(weights, 2) / 1e6:.1f} MB"
    )
    print(
        f"an update by arithmetic, {each / 1e6:.1f} MB as the loopback interface counts all that its training sent.\n"
    )
    print(f"At {gpu_tokens:,.0f} target tokens/s a GPU, {gpu_update:,} an update, {parameters / 1e6:.0f} M weights:\n")
    print("| GPUs | all-reduce, ms | update, ms | efficiency | target tokens/s |\n| ---: | ---: | ---: | ---: | ---: |")
    for number, speed in ((8, inside), (64, between)):
        print(predicted(number, speed, gpu_tokens, gpu_update, parameters))


def sent_so_far() -> int:
    """Bytes that processes of this machine have sent each other."""
    return int(LOOPBACK.read_text(encoding="ascii"))


def sent(weights: float, processes: int) -> float:
    """Bytes that each process sends in a ring's all-reduce of all gradients."""
    return 2 * (processes - 1) / processes * BYTES * weights


def predicted(number: int, speed: float, gpu_tokens: float, gpu_update: int, weights: float) -> str:
    """A line of the table on GPUs: `speed` in GB/s, `gpu_tokens` a second of one."""
    alone, travelling = gpu_update / gpu_tokens, sent(weights, number) / (speed * 1e9)
    update = alone / number + travelling
    cells = (
        f"{number}",
        f"{travelling * 1e3:.2f}",
        f"{update * 1e3:.2f}",
        f"{alone / number / update:.0%}",
        f"{gpu_update / update:,.0f}",
    )
    return f"| {' | '.join(cells)} |"


def command(processes: int) -> list[str]:
    """This project's training, by torchrun where it is to have several processes."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"] if processes > 1 else []
    return [sys.executable, *launcher, str(HERE / f"{OURS}_training.py")]


if __name__ == "__main__":
    typer.run(main)
