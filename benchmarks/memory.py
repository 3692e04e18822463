"""What a training's own stage holds of the machine's memory as its updates go by, tracking and validation included.

    python benchmarks/memory.py multi30k_de_en-bpe_8k-transformer_prenorm-small --updates 3800 --picture rss.svg

`dvc repro encode` must have encoded the corpus. The stage runs in a folder of its own, with the params and the data of
this one, from scratch, and is asked to end after so many updates. Linux only.
"""

import csv
from pathlib import Path
from typing import Annotated

import typer
from contestants.machine import describe
from contestants.stage import SYSTEM, Sample, watch


def main(
    system: Annotated[str, typer.Argument(help="Id of a system, whose corpus is encoded.")] = SYSTEM,
    updates: Annotated[int, typer.Option(min=1, help="Updates after which the stage is asked to end.")] = 300,
    every: Annotated[int, typer.Option(min=1, help="Updates between two samples.")] = 10,
    table: Annotated[Path | None, typer.Option(help="CSV file for all samples.")] = None,
    drawn: Annotated[Path | None, typer.Option(help="Draw the samples of this CSV file instead.")] = None,
    picture: Annotated[Path | None, typer.Option(help="SVG or PNG file for a plot of them.")] = None,
) -> None:
    """Print a table of about ten samples."""
    samples = read(drawn) if drawn else watch(system, updates, every)
    print(f"{describe()}; {system}\n")
    print("| update | GiB | most so far |")
    print("| ---: | ---: | ---: |")
    for sample in [*samples[: -1 : max(1, len(samples) // 10)], samples[-1]]:
        print(f"| {sample.update:,} | {sample.gib:.2f} | {sample.peak_gib:.2f} |")
    if table:
        with table.open("w", newline="") as file:
            csv.writer(file).writerows([Sample._fields, *samples])
    if picture:
        draw(samples, picture, system)


def read(path: Path) -> list[Sample]:
    """The samples of a table that was written before."""
    with path.open(newline="") as file:
        rows = [tuple(map(float, row)) for row in list(csv.reader(file))[1:]]
    return [Sample(int(update), gib, peak) for update, gib, peak in rows]


def draw(samples: list[Sample], path: Path, system: str) -> None:
    """A plot of what was held, and of the most so far."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot([one.update for one in samples], [one.gib for one in samples], label="held", linewidth=1)
    axes.plot([one.update for one in samples], [one.peak_gib for one in samples], label="most so far", linewidth=1)
    axes.set(title=system, xlabel="update", ylabel="GiB (resident)", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    typer.run(main)
