"""The worth of so many sentence pairs: `nmt new-corpus` on a part of a corpus, built as a user builds it.

    python -m benchmarks.data_size --pairs 1000 --pairs 3000 --seeds 2
    python -m benchmarks.data_size --corpus multi30k_de_en --pairs 29000 --seeds 2

In a clone of this repository the corpus is downloaded and split. Each number of its training pairs, drawn at random,
becomes a corpus of its own, tested on the test part of the whole one. Choices are to be made with `--part validation`.
"""

import contextlib
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from ruamel.yaml import YAML

from benchmarks.contestants.machine import describe
from pipeline.common import files, parts
from pipeline.common.system import Build, System, split_folder

ROOT = Path(__file__).parents[1]
PARAMS = Path("params.yaml")
SIDES = ("source", "target")
SPLIT_SEEDS = (1, 2)  # of the whole and of its parts: a hash that has carved a text once cannot do so again


def main(
    pairs: Annotated[list[int], typer.Option(min=100, help="Training pairs, held-out ones among them; at most all.")],
    corpus: Annotated[str, typer.Option(help="Where they are drawn from.")] = "eng_fra_fr_en",
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each.")] = 1,
    part: Annotated[str, typer.Option(help="Part of the whole corpus to test on.")] = parts.TEST,
    folder: Annotated[Path, typer.Option(help="Of the clone, which stays and is used again.")] = Path("work/data_size"),
    option: Annotated[list[str] | None, typer.Option(help="For nmt new-corpus, such as --option=--sizes=tiny.")] = None,
) -> None:
    """Print a table: BLEU (mean and standard deviation of the seeds) and minutes of a training."""
    if not folder.exists():
        run("git", "clone", "--quiet", str(ROOT), str(folder))
    print(f"{describe()}; {corpus}, BLEU on {part}, {seeds} seeds, {' '.join(option or ())}\n")
    print("| pairs | system | BLEU | chrF | minutes of a training |\n| ---: | :--- | ---: | ---: | ---: |")
    with contextlib.chdir(folder):
        edit("build", corpora=[corpus])
        edit("split", seed=SPLIT_SEEDS[0])
        run("dvc", "repro", "--quiet", f"split@{corpus}")
        edit("split", seed=SPLIT_SEEDS[1])
        for number in pairs:
            systems = add(corpus, number, part, seeds, option or [])
            minutes, scores = zip(*map(measured, systems), strict=True)
            bleu, chrf = (spread([score[metric] for score in scores]) for metric in ("bleu", "chrf"))
            name = f"{systems[0].model} {systems[0].size}, {systems[0].vocabulary}"
            print(f"| {number:,} | {name} | {bleu} | {chrf} | {statistics.mean(minutes):.1f} |", flush=True)


def run(*command: str) -> None:
    """Run a command of this environment; what it prints goes to the error stream."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(command, env=os.environ | {"PATH": path}, stdout=sys.stderr, check=True)


def edit(section: str, **values: list[str] | list[int] | int) -> None:
    """Set keys of a section of params.yaml."""
    params = YAML().load(PARAMS.read_text(encoding="utf-8"))
    for key, value in values.items():
        if isinstance(value, list):
            params[section][key][:] = value  # stays in block style
        else:
            params[section][key] = value
    with PARAMS.open("w", encoding="utf-8") as file:
        YAML().dump(params, file)


def add(corpus: str, number: int, part: str, seeds: int, options: list[str]) -> list[System]:
    """Make a corpus of some pairs by `nmt new-corpus`; returns what it chose to build, seed by seed."""
    whole, name = split_folder(corpus), f"{corpus}_{number}"
    pairs = list(parts.read(whole, parts.TRAIN))
    texts = {parts.TRAIN: random.Random(1).sample(pairs, min(number, len(pairs)))}
    texts[parts.TEST] = list(parts.read(whole, part))
    languages = files.read_json(whole / "languages.json")
    for text, lines in texts.items():
        parts.write(Path("my"), f"{name}.{text}", lines)
    Path("corpora", f"{name}.yaml").unlink(missing_ok=True)
    given = {"": parts.TRAIN, "test-": parts.TEST}
    paths = [f"--{key}{side}=my/{name}.{text}.{side}.txt" for key, text in given.items() for side in SIDES]
    codes = [f"--{side}-language={languages[f'{side}_language']}" for side in SIDES]
    run("nmt", "new-corpus", name, *paths, *codes, *options)
    edit("build", seeds=list(range(1, seeds + 1)))
    return list(Build.load("build").systems())


def measured(system: System) -> tuple[float, dict[str, float]]:
    """Minutes that the stage `train` takes, and scores on the test part."""
    run("dvc", "repro", "--quiet", f"encode@{system.corpus}-{system.vocabulary}")
    start = time.monotonic()
    run("dvc", "repro", "--quiet", "--single-item", "--force", system.stage("train"))
    minutes = (time.monotonic() - start) / 60
    run("dvc", "repro", "--quiet", system.stage("score"))
    scores: dict[str, float] = files.read_json(system.metrics)[parts.TEST]
    return minutes, scores


def spread(values: list[float], digits: int = 1) -> str:
    """Mean and, of several values, standard deviation."""
    deviation = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{deviation}"


if __name__ == "__main__":
    typer.run(main)
