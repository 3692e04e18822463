"""How many target tokens a second a training gets through, beside its peers, in turn on the same machine.

    python benchmarks/train_speed.py --data data/encode/multi30k_de_en-bpe_8k --peers ../peers/bin/python

`--peers` is the Python of an environment with what benchmarks/peers.txt lists; without it only this project and torch's
own nn.Transformer run. `dvc repro encode` must have encoded the corpus, with a joint vocabulary. An update of each is
what fits into so many positions: sentences times the longest of either side. Tokens are real target tokens, end of
sentence included, without padding. Memory is that of these few updates and nothing else, of each contestant alike; what
this project's own stage holds, tracking, validation and checkpoints included, stands below the table.
"""

import statistics
import sys
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from contestants.machine import describe, flops_per_token, matrix_speed
from contestants.shapes import SIZES, training_job
from contestants.stage import watch
from contestants.turn import HERE, OURS, PEERS, run

PLAIN = "torch"


def main(
    precision: Annotated[
        list[str], typer.Option(help="fp32, bf16; may be repeated.", default_factory=lambda: ["fp32"])
    ],
    data: Annotated[Path, typer.Option(help="Folder of an encoded corpus with a joint vocabulary.")] = Path(
        "data/encode/phrasebook_fr_en-bpe_2k"
    ),
    peers: Annotated[Path | None, typer.Option(help="Python of the environment that has the peers.")] = None,
    size: Annotated[str, typer.Option(help=f"Model: {', '.join(SIZES)}.")] = "small",
    positions: Annotated[int, typer.Option(help="Most positions of an update, padding included.")] = 4096,
    updates: Annotated[int, typer.Option(min=1, help="Updates that are timed.")] = 20,
    warm_up: Annotated[int, typer.Option(min=1, help="Updates before them.")] = 5,
    rounds: Annotated[int, typer.Option(min=1, help="How often each has its turn, on other batches.")] = 3,
    threads: Annotated[int, typer.Option(help="Threads of each.")] = torch.get_num_threads(),
    stage_updates: Annotated[int, typer.Option(help="Updates of the stage whose memory is watched; 0: none.")] = 300,
) -> None:
    """Print a table: medians over the rounds, and the ratio to this project round by round."""
    torch.set_num_threads(threads)
    given = training_job(data, size, positions=positions, updates=updates, warm_up=warm_up)
    pythons = {OURS: sys.executable, PLAIN: sys.executable}
    if peers:
        pythons |= dict.fromkeys(PEERS, str(peers.absolute()))
    print(f"{describe()}; {threads} threads; {size}, updates of {positions} positions, {data.name}\n")
    heads = ("precision", "system", "target tokens/s", "of ours", "tokens an update", "padding", "GiB of these updates")
    print(f"| {' | '.join(heads)} | FLOPs utilisation |")
    print("| :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for kind in precision:
        peak = matrix_speed(kind)
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in pythons}
        for seed in range(1, rounds + 1):
            for name, python in pythons.items():
                command = [python, str(HERE / f"{name}_training.py")]
                found[name].append(run(command, given | {"precision": kind, "seed": seed}, threads))
        for name, runs in found.items():
            print(row(kind, name, runs, found[OURS], flops_per_token(given) / peak, updates), flush=True)
    if stage_updates:
        system = f"{data.name}-transformer_prenorm-{size}"
        last = watch(system, stage_updates, every=10)[-1]
        most = f"{last.peak_gib:.2f} GiB in {last.update} updates"
        print(f"\nThe stage `train` of {system}, as params.yaml has it, holds at most {most}")


def row(
    kind: str, name: str, runs: list[dict[str, Any]], ours: list[dict[str, Any]], least: float, updates: int
) -> str:
    """A line of the table; `least` is the seconds that a token takes at the machine's best."""
    speeds, reference = ([one["tokens"] / one["seconds"] for one in some] for some in (runs, ours))
    speed = statistics.median(speeds)
    ratio = statistics.median(a / b for a, b in zip(speeds, reference, strict=True))
    tokens = sum(one["tokens"] for one in runs) / len(runs) / updates
    padding = "" if runs[0]["padding_share"] is None else f"{runs[0]['padding_share']:.1%}"
    peak = max(one["peak_gib"] for one in runs)
    cells = (
        kind,
        name,
        f"{speed:,.0f}",
        f"{ratio:.2f}",
        f"{tokens:,.0f}",
        padding,
        f"{peak:.2f}",
        f"{speed * least:.0%}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    typer.run(main)
