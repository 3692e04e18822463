"""What each part of a recipe brings: the same minutes of training with it and without, each with several seeds.

    python benchmarks/ablation.py multi30k_de_en-bpe_8k --recipes plain,half_batch,modern,lsi,less_dropout \\
        --minutes 20 --seeds 1,2,3 --side-by-side 2 --folder work/ablation

`dvc repro encode` must have encoded the corpus, with a joint vocabulary. `plain` is `transformer_prenorm` with a linear
schedule that rises to 2e-3 in 400 updates, and all else as in params.yaml. The other names add a part each, and
`modern+lsi` has both. `modern` is `transformer_modern`, with the same schedule, and without what it has of R-Drop and
LSI; `half_batch` has its own schedule. The speed of each recipe is measured first, in four rounds of short trainings in
which each has its turn; the minutes are updates divided by this speed, without validation, start-up and the 5 s of
LSI. Then each trains from scratch by the stage `train`, with every seed. With `--folder`, what was stopped goes on
where it was, unless code or data have changed.
"""

import csv
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from contestants.machine import describe
from contestants.notes import Notes, digest, digest_of_files
from contestants.stage import ROOT, environment, link, log
from contestants.turn import end_at_sigterm
from ruamel.yaml import YAML

from pipeline.system import corpus_file

PLAIN, CHECKPOINTS = "plain", 20  # a training's checkpoints, the last of which are averaged
ROUNDS, UNTIMED = 4, 50  # of short trainings, and their updates before those that are timed
SCHEDULE = {"kind": "linear", "peak_rate": 2e-3, "warmup": 400}


@dataclass(frozen=True)
class Part:
    """What a part of a recipe changes."""

    model: str = ""
    training: dict[str, Any] = field(default_factory=dict)  # training.<corpus>
    size: dict[str, Any] = field(default_factory=dict)  # models.<model>.<size>


PARTS = {
    PLAIN: Part("transformer_prenorm", size={"schedule": SCHEDULE}),
    "half_batch": Part(
        training={"tokens_per_update": 800, "tokens_per_batch": 900},
        size={"schedule": SCHEDULE | {"peak_rate": 1.5e-3, "warmup": 600}},
    ),
    "modern": Part("transformer_modern"),  # rotary positions, gated feed-forward networks
    "lsi": Part(size={"lsi_pairs": 100_000}),
    "less_dropout": Part(size={"dropout": 0.1, "attention_dropout": 0.0, "feed_forward_dropout": 0.0}),
    "r_drop": Part(size={"r_drop": 3.0}),
}
OFF = {"lsi_pairs": 0, "r_drop": 0.0}  # which `transformer_modern` has by itself


class Result(NamedTuple):
    """What a training came to, on the validation part."""

    loss: float  # of the last weights
    bleu: float  # of the average
    minutes: float  # that its updates took


class Trainer:
    """Trains recipes on one corpus, each training in a folder of its own beside the data of the project."""

    def __init__(self, encoded: str, size: str, threads: int) -> None:
        self.corpus, self.vocabulary = encoded.split("-")
        self.size, self.threads = size, threads
        self.params = YAML(typ="safe").load(Path("params.yaml"))
        self.children: set[subprocess.Popen[str]] = set()

    def model(self, recipe: str) -> str:
        """The model of a recipe, whose params must have the size."""
        [*_, model] = [part.model for part in parts(recipe) if part.model]
        if self.size not in self.params["models"].get(model, {}):
            sys.exit(f"params.yaml: models.{model}.{self.size}: missing; expected what {recipe!r} changes")
        return model

    def changed(self, recipe: str, seed: int, updates: int, checkpoint_interval: int) -> dict[str, Any]:
        """The params of a training."""
        params = json.loads(json.dumps(self.params))
        training, size = params["training"][self.corpus], params["models"][self.model(recipe)][self.size]
        training |= {"updates": updates, "validation_interval": updates, "checkpoint_interval": checkpoint_interval}
        training |= {"validation_sentences": 0, "patience": 0, "seed": seed, "threads": self.threads}
        size |= OFF
        for part in parts(recipe):
            training |= part.training
            size |= part.size
        return dict(params)

    def train(self, folder: Path, recipe: str, params: dict[str, Any]) -> str:
        """Train, or go on from where an earlier call was stopped; the system's id."""
        folder.mkdir(parents=True, exist_ok=True)
        YAML(typ="safe").dump(params, folder / "params.yaml")
        link(folder, "data", "corpora")
        axes = [self.corpus, self.vocabulary, self.model(recipe), self.size]
        self.call(["-m", "stages.train", *axes], folder)
        return "-".join(axes)

    def speed(self, recipe: str, seed: int, updates: int) -> float:
        """Updates a second of a short training."""
        with tempfile.TemporaryDirectory() as name:
            number = UNTIMED + updates
            system = self.train(Path(name), recipe, self.changed(recipe, seed, number, number))
            return updates / sum(seconds(Path(name), system)[UNTIMED:])

    def result(self, folder: Path, recipe: str, params: dict[str, Any]) -> Result:
        """Train and score."""
        system = self.train(folder, recipe, params)
        with Path(folder, "runs", system, "train/curves.csv").open(newline="") as file:
            loss = float(list(csv.DictReader(file))[-1]["validation_loss"])
        table = self.call([str(ROOT / "benchmarks/choose_on_validation.py"), system], folder)
        return Result(loss, float(table.splitlines()[-1].split("|")[-2]), sum(seconds(folder, system)) / 60)

    def call(self, command: list[str], folder: Path) -> str:
        """What Python prints, run in a folder to a good end. Its tracking goes to a store of that folder."""
        given = environment() | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(self.threads))
        pipe = subprocess.PIPE
        child = subprocess.Popen([sys.executable, *command], cwd=folder, env=given, stdout=pipe, stderr=pipe, text=True)
        self.children.add(child)
        said, errors = child.communicate()
        self.children.discard(child)
        if child.returncode:
            raise RuntimeError(f"{' '.join(command)}: exit code {child.returncode} in {folder}\n{errors[-3000:]}")
        return said

    def stop(self) -> None:
        """Ask what runs to save and end."""
        for child in tuple(self.children):
            child.terminate()


def parts(recipe: str) -> list[Part]:
    """The parts of a recipe, `plain` first."""
    return [PARTS[name] for name in dict.fromkeys([PLAIN, *recipe.split("+")])]


def seconds(folder: Path, system: str) -> list[float]:
    """How long each update of a training took."""
    lines = log(folder, system).read_text(encoding="utf-8").splitlines()
    steps = {step["step"]: step for step in map(json.loads, lines) if "tokens_per_second" in step}
    return [step["tokens"] / step["tokens_per_second"] for step in steps.values()]


def main(
    encoded: Annotated[
        str, typer.Argument(help="An encoded corpus, <corpus>-<vocabulary>.")
    ] = "phrasebook_fr_en-bpe_2k",
    recipes: Annotated[str, typer.Option(help=f"Commas between; each is some of {', '.join(PARTS)}.")] = "plain,lsi",
    size: Annotated[str, typer.Option(help="Of transformer_prenorm and transformer_modern.")] = "small",
    minutes: Annotated[float, typer.Option(min=0.0, help="Of each training.")] = 0.2,
    seeds: Annotated[str, typer.Option(help="Commas between.")] = "1",
    side_by_side: Annotated[int, typer.Option(min=1, help="Trainings at a time.")] = 1,
    threads: Annotated[int, typer.Option(min=1, help="Threads of each.")] = 1,
    trial: Annotated[int, typer.Option(min=1, help="Timed updates of a short training.")] = 100,
    folder: Annotated[Path | None, typer.Option(help="For what was measured and what is under way.")] = None,
) -> None:
    """Print every training as soon as it is done, then a table."""
    names, numbers = list(dict.fromkeys(recipes.split(","))), list(dict.fromkeys(map(int, seeds.split(","))))
    if unknown := sorted({part for recipe in names for part in recipe.split("+")} - PARTS.keys()):
        sys.exit(f"--recipes: got {unknown[0]!r}; expected some of {', '.join(PARTS)}")
    if encoded.count("-") != 1 or not Path("data/encode", encoded).exists():
        sys.exit(f"data/encode/{encoded}: no such folder; expected what `dvc repro encode` builds")
    trainer = Trainer(encoded, size, threads)
    for recipe in names:
        trainer.model(recipe)
    question = {"encoded": encoded, "size": size, "threads": threads, "side by side": side_by_side, "trial": trial}
    question |= {
        "data": digest_of_files(Path("data/encode", encoded), "**/*"),
        "corpus": digest_of_files(Path(), str(corpus_file(trainer.corpus))),
    }
    noted = Notes(folder / "notes.json" if folder else None, question)
    print(f"{describe()}; {encoded}, {size}, {minutes:g} minutes each, {side_by_side} at a time, {threads} threads\n")
    end_at_sigterm()
    with tempfile.TemporaryDirectory() as name:
        place = folder or Path(name)

        def speed(recipe: str, number: int) -> float:
            what = (
                f"updates/s, {recipe}, round {number}, params {digest(trainer.changed(recipe, number, trial, trial))}"
            )
            return noted.measured(what, lambda: trainer.speed(recipe, number, trial))

        def result(recipe: str, seed: int) -> Result:
            updates = num_updates(minutes, speeds[recipe])
            params = trainer.changed(recipe, seed, updates, updates // CHECKPOINTS)
            what = f"{recipe}, seed {seed}, {updates} updates, params {digest(params)}"
            own = place / what.replace(", ", "-").replace(" ", "_")
            found = Result(*noted.measured(what, lambda: trainer.result(own, recipe, params)))
            shutil.rmtree(own, ignore_errors=True)
            print(f"{what}: loss {found.loss:.3f}, BLEU {found.bleu:.2f}, {found.minutes:.1f} minutes", flush=True)
            return found

        tried = in_rounds(speed, names, range(1, ROUNDS + 1), side_by_side, trainer.stop)
        speeds = {recipe: statistics.harmonic_mean(tried[recipe]) for recipe in names}
        found = in_rounds(result, names, numbers, side_by_side, trainer.stop)
    print("\n| recipe | updates/s | updates | minutes | loss | BLEU, averaged | each seed |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for recipe in names:
        losses, bleus, taken = zip(*found[recipe], strict=True)
        updates, each = num_updates(minutes, speeds[recipe]), ", ".join(f"{score:.1f}" for score in bleus)
        means = f"{statistics.mean(taken):.1f} | {shown(losses, 2)} | {shown(bleus, 1)}"
        print(f"| {recipe} | {speeds[recipe]:.2f} | {updates:,} | {means} | {each} |")


def num_updates(minutes: float, speed: float) -> int:
    """How many fit, a multiple of the checkpoints."""
    return max(1, int(minutes * 60 * speed / CHECKPOINTS)) * CHECKPOINTS


def in_rounds(
    measure: Callable[[str, int], Any],
    recipes: list[str],
    rounds: Iterable[int],
    side_by_side: int,
    stop: Callable[[], None],
) -> dict[str, list[Any]]:
    """What was measured of each recipe, in rounds in which each has its turn, so many at a time.

    Each round begins with another recipe, so that neighbours change. After a failure nothing more is started; it is
    reported once what runs has ended.
    """
    with ThreadPoolExecutor(side_by_side) as pool:
        started = [
            (recipe, pool.submit(measure, recipe, number))
            for turn, number in enumerate(rounds)
            for recipe in recipes[turn % len(recipes) :] + recipes[: turn % len(recipes)]
        ]
        try:
            done = wait([one for _, one in started], return_when=FIRST_EXCEPTION)[0]
        except BaseException:  # asked to stop
            pool.shutdown(wait=False, cancel_futures=True)
            stop()
            raise
        pool.shutdown(cancel_futures=True)
    if errors := [one.exception() for one in done if one.exception()]:
        sys.exit(str(errors[0]))
    found: dict[str, list[Any]] = {recipe: [] for recipe in recipes}
    for recipe, one in started:
        found[recipe].append(one.result())
    return found


def shown(values: Iterable[float], digits: int) -> str:
    """The mean, with the standard deviation if there are several."""
    given = list(values)
    mean = f"{statistics.mean(given):.{digits}f}"
    return f"{mean} ± {statistics.stdev(given):.{digits}f}" if len(given) > 1 else mean


if __name__ == "__main__":
    typer.run(main)
