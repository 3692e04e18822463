"""What a training's own stage holds of the machine's memory as its updates go by, tracking and validation included.

    python benchmarks/memory.py multi30k_de_en-bpe_8k-transformer_prenorm-small-1 --updates 3800

`dvc repro encode` must have encoded the corpus. The stage runs in a folder of its own, with the params and the data of
this one, from scratch, and is asked to end after so many updates. Linux only.
"""

from typing import Annotated

import typer
from contestants.machine import describe
from contestants.stage import SYSTEM, watch


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


if __name__ == "__main__":
    typer.run(main)
