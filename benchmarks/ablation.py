"""What each part of a recipe brings: the same minutes of training with it and without, each with several seeds.

    python benchmarks/ablation.py multi30k_de_en-bpe_8k --recipes plain,half_batch,modern,lsi,less_dropout,r_drop \\
        --minutes 20 --seeds 1,2,3 --side-by-side 2 --folder work/ablation

`dvc repro encode` must have encoded the corpus, with a joint vocabulary. `plain` is `transformer_prenorm` as
params.yaml has it; the other names add a part each, and `modern+lsi` has both. The speed of each recipe is measured
first, in short trainings that take turns; minutes are updates divided by this speed, without validation. Then each
trains from scratch by the stage `train`, with every seed, and the last checkpoints are averaged. The BLEU is that of
the validation part, with the search of params.yaml. With `--folder`, what was stopped goes on where it was.
"""

import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from contestants.machine import describe
from contestants.notes import Notes
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
PLAIN, CHECKPOINTS = "plain", 20  # a training's checkpoints
TURNS, BEFORE = 2, 20  # short trainings of each recipe, and their updates before those that are timed
SCHEDULE = {"kind": "linear", "peak_rate": 2e-3, "warmup": 400}


@dataclass(frozen=True)
class Part:
    """What a part of a recipe changes."""

    model: str = ""
    training: dict[str, Any] = field(default_factory=dict)
    learning: dict[str, Any] = field(default_factory=dict)  # of the model's size


PARTS = {
    PLAIN: Part("transformer_prenorm", learning={"schedule": SCHEDULE}),
    "half_batch": Part(
        training={"tokens_per_update": 800, "tokens_per_batch": 900},
        learning={"schedule": SCHEDULE | {"peak_rate": 1.5e-3, "warmup": 600}},
    ),
    "modern": Part("transformer_modern"),  # rotary positions, gated feed-forward networks
    "lsi": Part(learning={"lsi_pairs": 100_000}),
    "less_dropout": Part(learning={"dropout": 0.1, "attention_dropout": 0.0, "feed_forward_dropout": 0.0}),
    "r_drop": Part(learning={"r_drop": 3.0}),
}
OFF = {"lsi_pairs": 0, "r_drop": 0.0}  # which `transformer_modern` has by itself


class Training(NamedTuple):
    """A recipe that trains in a folder of its own."""

    encoded: str
    size: str
    recipe: str
    seed: int
    threads: int

    def run(self, folder: Path, updates: int) -> str:
        """Train for so many updates, or go on from where an earlier call was stopped; the system's id."""
        corpus, vocabulary = self.encoded.split("-")
        model = self.lay_out(folder, corpus, updates)
        command = ["-m", "stages.train", corpus, vocabulary, model, self.size]
        call(command, folder, self.threads)
        return "-".join(command[2:])

    def lay_out(self, folder: Path, corpus: str, updates: int) -> str:
        """Write the params of this training, beside the data of the project; the model's name."""
        yaml = YAML(typ="safe")
        params, parts = yaml.load(Path("params.yaml")), [PARTS[PLAIN], *map(PARTS.__getitem__, self.recipe.split("+"))]
        model = next(part.model for part in reversed(parts) if part.model)
        if self.size not in params["models"].get(model, {}):
            raise RuntimeError(
                f"params.yaml: models.{model}.{self.size}: missing; expected what {self.recipe!r} changes"
            )
        every = updates if updates % CHECKPOINTS else updates // CHECKPOINTS
        params["training"][corpus] |= {"updates": updates, "validation_interval": updates, "checkpoint_interval": every}
        params["training"][corpus] |= {"validation_sentences": 0, "patience": 0}
        params["training"][corpus] |= {"seed": self.seed, "threads": self.threads}
        params["models"][model][self.size] |= OFF
        for part in parts:
            params["training"][corpus] |= part.training
            params["models"][model][self.size] |= part.learning
        folder.mkdir(parents=True, exist_ok=True)
        yaml.dump(params, folder / "params.yaml")
        for name in ("data", "corpora"):
            if not (folder / name).exists():
                (folder / name).symlink_to(Path(name).resolve())
        return model

    def speed(self, updates: int) -> float:
        """Updates a second."""
        with tempfile.TemporaryDirectory() as name:
            system = self.run(Path(name), BEFORE + updates)
            log = Path(name, "work/logs", system, "train.jsonl").read_text(encoding="utf-8").splitlines()
        steps = [step for step in map(json.loads, log) if "tokens_per_second" in step][BEFORE:]
        return len(steps) / float(sum(step["tokens"] / step["tokens_per_second"] for step in steps))

    def scores(self, folder: Path, updates: int) -> tuple[float, float]:
        """Loss of the last weights and BLEU of the averaged ones, of the validation part."""
        system = self.run(folder, updates)
        with Path(folder, "runs", system, "train/curves.csv").open(newline="") as file:
            loss = float(list(csv.DictReader(file))[-1]["validation_loss"])
        table = call([str(ROOT / "benchmarks/choose_on_validation.py"), system], folder, self.threads)
        shutil.rmtree(folder)
        return loss, float(table.splitlines()[-1].split("|")[-2])


def call(command: list[str], folder: Path, threads: int) -> str:
    """What Python prints, run in a folder to a good end. Its tracking goes to a store of that folder."""
    environment = {key: value for key, value in os.environ.items() if key != "MLFLOW_TRACKING_URI"}
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads)) | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed in {folder}:\n{done.stderr[-3000:]}")
    return done.stdout


def main(
    encoded: Annotated[
        str, typer.Argument(help="An encoded corpus, <corpus>-<vocabulary>.")
    ] = "phrasebook_fr_en-bpe_2k",
    recipes: Annotated[str, typer.Option(help=f"Commas between; each is some of {', '.join(PARTS)}.")] = "plain,lsi",
    size: Annotated[str, typer.Option(help="Of transformer_prenorm and transformer_modern.")] = "small",
    minutes: Annotated[float, typer.Option(help="Of each training.")] = 0.2,
    seeds: Annotated[str, typer.Option(help="Commas between.")] = "1",
    side_by_side: Annotated[int, typer.Option(min=1, help="Trainings at a time.")] = 1,
    threads: Annotated[int, typer.Option(min=1, help="Threads of each.")] = 1,
    trial: Annotated[int, typer.Option(min=1, help="Timed updates of a turn.")] = 100,
    folder: Annotated[Path | None, typer.Option(help="For what was measured and what is under way.")] = None,
) -> None:
    """Print every training as soon as it is done, then a table."""
    chosen, numbers = recipes.split(","), [int(seed) for seed in seeds.split(",")]
    if unknown := sorted({name for recipe in chosen for name in recipe.split("+")} - PARTS.keys()):
        sys.exit(f"--recipes: got {unknown[0]!r}; expected some of {', '.join(PARTS)}")
    if encoded.count("-") != 1 or not Path("data/encode", encoded).exists():
        sys.exit(f"data/encode/{encoded}: no such folder; expected what `dvc repro encode` builds")
    question = {"encoded": encoded, "size": size, "threads": threads, "side by side": side_by_side, "trial": trial}
    noted = Notes(folder / "notes.json" if folder else None, question)
    print(f"{describe()}; {encoded}, {size}, {minutes:g} minutes each, {side_by_side} at a time, {threads} threads\n")
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(side_by_side) as pool:
        place = folder or Path(name)

        def speed(recipe: str, turn: int) -> float:
            one = Training(encoded, size, recipe, turn, threads)
            return noted.measured(f"updates/s, {recipe}, turn {turn}", lambda: one.speed(trial))

        def scores(recipe: str, seed: int) -> tuple[float, float]:
            one, about = (
                Training(encoded, size, recipe, seed, threads),
                f"{recipe}, seed {seed}, {updates[recipe]} updates",
            )
            found = noted.measured(about, lambda: one.scores(place / about.replace(", ", "-"), updates[recipe]))
            print(f"{about}: loss {found[0]:.3f}, BLEU {found[1]:.2f}", flush=True)
            return found

        turns = spread(pool, speed, chosen, range(1, TURNS + 1))
        updates = {recipe: num_updates(minutes, statistics.mean(turns[recipe])) for recipe in chosen}
        found = spread(pool, scores, chosen, numbers)
    print("\n| recipe | updates | loss | BLEU | BLEU of each seed |\n| :--- | ---: | ---: | ---: | ---: |")
    for recipe in chosen:
        losses, bleus = zip(*found[recipe], strict=True)
        each = ", ".join(f"{score:.1f}" for score in bleus)
        print(f"| {recipe} | {updates[recipe]:,} | {shown(losses, 2)} | {shown(bleus, 1)} | {each} |")


def num_updates(minutes: float, speed: float) -> int:
    """How many fit, a multiple of the checkpoints."""
    return max(1, int(minutes * 60 * speed / CHECKPOINTS)) * CHECKPOINTS


def spread(
    pool: ThreadPoolExecutor, measure: Callable[[str, int], Any], recipes: list[str], rounds: Iterable[int]
) -> dict[str, list[Any]]:
    """What was measured of each recipe, in rounds in which each has its turn."""
    started = [(recipe, pool.submit(measure, recipe, number)) for number in rounds for recipe in recipes]
    found: dict[str, list[Any]] = {recipe: [] for recipe in recipes}
    try:
        for recipe, one in started:
            found[recipe].append(one.result())
    except RuntimeError as error:
        pool.shutdown(cancel_futures=True)
        sys.exit(str(error))
    return found


def shown(values: Iterable[float], digits: int) -> str:
    """The mean, with the standard deviation if there are several."""
    given = list(values)
    mean = f"{statistics.mean(given):.{digits}f}"
    return f"{mean} ± {statistics.stdev(given):.{digits}f}" if len(given) > 1 else mean


if __name__ == "__main__":
    typer.run(main)
