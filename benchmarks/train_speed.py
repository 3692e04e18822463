"""How many target tokens a second a training gets through, beside torch's own nn.Transformer, in turn on one machine.

    python -m benchmarks.train_speed --data data/encode/multi30k_de_en-bpe_8k --precision fp32 --precision bf16

`dvc repro encode` must have encoded the corpus, with a joint vocabulary. An update of each is what fits into so many
positions: sentences times the longest of either side. Tokens are real target tokens, end of sentence included, without
padding. Memory is that of these few updates alone; memory.py measures the stage.
"""

import statistics
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from benchmarks.contestants.job import SIZES, training_job
from benchmarks.contestants.machine import describe
from benchmarks.contestants.turn import OURS, run, script


def main(
    precision: Annotated[
        list[str], typer.Option(help="fp32, bf16; may be repeated.", default_factory=lambda: ["fp32"])
    ],
    data: Annotated[Path, typer.Option(help="Folder of an encoded corpus with a joint vocabulary.")] = Path(
        "data/encode/phrasebook_fr_en-bpe_2k"
    ),
    size: Annotated[str, typer.Option(help=f"Model: {', '.join(SIZES)}.")] = "small",
    positions: Annotated[int, typer.Option(help="Most positions of an update, padding included.")] = 4096,
    updates: Annotated[int, typer.Option(min=1, help="Updates that are timed.")] = 20,
    warm_up: Annotated[int, typer.Option(min=1, help="Updates before them.")] = 5,
    rounds: Annotated[int, typer.Option(min=1, help="How often each has its turn, on other batches.")] = 3,
    threads: Annotated[int, typer.Option(help="Threads of each.")] = torch.get_num_threads(),
) -> None:
    """Print a table: medians over the rounds, and the ratio to this project round by round."""
    job = training_job(data, size, positions=positions, updates=updates, warm_up=warm_up)
    print(f"{describe()}; {threads} threads; {size}, updates of {positions} positions, {data.name}\n")
    print("| precision | system | target tokens/s | of ours | tokens an update | padding | GiB of these updates |")
    print("| :--- | :--- | ---: | ---: | ---: | ---: | ---: |")
    for kind in precision:
        figures: dict[str, list[dict[str, Any]]] = {OURS: [], "torch": []}
        for seed in range(1, rounds + 1):
            for name, runs in figures.items():
                runs.append(run(script(f"{name}_training"), job | {"precision": kind, "seed": seed}, threads))
        for name, runs in figures.items():
            print(f"| {kind} | {name} | {row(runs, figures[OURS], updates)} |", flush=True)


def row(runs: list[dict[str, Any]], ours: list[dict[str, Any]], updates: int) -> str:
    """The cells of a line of the table."""
    speeds, reference = ([result["tokens"] / result["seconds"] for result in results] for results in (runs, ours))
    ratio = statistics.median(a / b for a, b in zip(speeds, reference, strict=True))
    tokens = sum(result["tokens"] for result in runs) / len(runs) / updates
    peak = max(result["peak_gib"] for result in runs)
    padding = runs[0]["padding"]
    return f"{statistics.median(speeds):,.0f} | {ratio:.2f} | {tokens:,.0f} | {padding:.1%} | {peak:.2f}"


if __name__ == "__main__":
    typer.run(main)
