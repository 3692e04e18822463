"""The gain of each kernel: trainings and searches with it, and with plain torch in its place, in turn on one machine.

    python -m benchmarks.kernel_speed multi30k_de_en-bpe_8k-transformer_prenorm-small-1

`dvc repro` must have built the system, a Transformer whose matrices are all tied. A kernel that buys less than
10 % of something that a user runs is taken out.
"""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from benchmarks.contestants.job import training_job
from benchmarks.contestants.machine import describe
from benchmarks.contestants.turn import HERE, OURS, run, script
from benchmarks.decode_speed import SYSTEM, write
from pipeline.commands import project
from pipeline.common import files, parts
from pipeline.common.system import System
from pipeline.compute import device

AS_IS = "none"
# Each training: what differs in its job, and the kernels it uses.
TRAINING: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "fp32": ({"precision": "fp32"}, ("dropout", "cross_entropy")),
    "bf16": ({"precision": "bf16"}, ("dropout", "cross_entropy", "linear", "attention")),
    "bf16, no dropout": ({"precision": "bf16", "dropout": 0.0}, ("attention",)),
}
DECODING = ("prepack", "threads")


def main(
    system: Annotated[str, typer.Argument(help="Id of a built system.")] = SYSTEM,
    part: Annotated[str, typer.Argument(help="Part of its corpus that is translated.")] = "test",
    size: Annotated[str, typer.Option(help="Transformer that is trained: small or base.")] = "small",
    positions: Annotated[int, typer.Option(help="Most positions of an update, padding included.")] = 1500,
    updates: Annotated[int, typer.Option(min=1, help="Updates that are timed.")] = 60,
    warm_up: Annotated[int, typer.Option(min=1, help="Updates before them.")] = 15,
    batch: Annotated[int, typer.Option(help="Source pieces of a batch that is translated.")] = 2000,
    sentences: Annotated[int, typer.Option(help="How many lines of the part.")] = 1000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each has its turn.")] = 3,
    threads: Annotated[int, typer.Option(help="Threads of each.")] = torch.get_num_threads(),
) -> None:
    """Print a table: seconds, and how many times as long a task takes without a kernel, round by round."""
    print(f"{describe()}; {threads} threads; {size}, updates of {positions} positions; {system}, {part}\n")
    print("| task | without | seconds | times as long | each round |")
    print("| :--- | :--- | ---: | ---: | :--- |")
    data = System.parse(system).encoded
    with tempfile.TemporaryDirectory() as folder:
        for task, kernels, kind, given in (
            *trainings(data, size, positions=positions, updates=updates, warm_up=warm_up),
            *searches(System.parse(system), part, Path(folder), sentences, batch, threads),
        ):
            commands = {name: command(name, kind) for name in (AS_IS, *kernels)}
            seconds: dict[str, list[float]] = {name: [] for name in commands}
            for seed in range(1, rounds + 1):
                for name, words in commands.items():
                    result = run(words, given | ({"seed": seed} if "precision" in given else {}), threads)
                    seconds[name].append(result["seconds"])
            for name, taken in seconds.items():
                print(row(task, name, taken, seconds[AS_IS]), flush=True)


def trainings(data: Path, size: str, **lengths: int) -> Iterator[tuple[str, tuple[str, ...], str, dict[str, Any]]]:
    """Each training, those in bf16 only where they are quick: its name, the kernels it uses, the script, the job."""
    for name, (changed, kernels) in TRAINING.items():
        if changed["precision"] == "fp32" or device.has_bf16(device.best()):
            yield f"training, {name}", kernels, "training", training_job(data, size, **changed, **lengths)


def searches(
    system: System, part: str, folder: Path, sentences: int, batch: int, threads: int
) -> Iterator[tuple[str, tuple[str, ...], str, dict[str, Any]]]:
    """Each search, likewise."""
    translator = project.load(system)
    lines = list(files.read_lines(parts.paths(system.split, part)[0]))[:sentences]
    given = write(translator, folder, translator.vocabulary.encode_source(lines), translator.decoding)
    for beam_size, task in ((1, "greedy search"), (5, "beam search, 5")):
        yield (
            task,
            DECODING,
            "decoding",
            given | {"threads": threads, "beam_size": beam_size, "tokens_per_batch": batch},
        )


def command(kernel: str, task: str) -> list[str]:
    """How a contestant is started without a kernel."""
    return script("without", kernel, str(HERE / f"{OURS}_{task}.py"))


def row(task: str, name: str, taken: list[float], as_is: list[float]) -> str:
    """A line of the table."""
    ratios = [a / b for a, b in zip(taken, as_is, strict=True)]
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    cells = (task, name, f"{statistics.median(taken):.1f}", f"{statistics.median(ratios):.2f}", each)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    typer.run(main)
