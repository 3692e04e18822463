"""Minutes of training until the BLEU of the validation part reaches a target: this project and its peers.

    python benchmarks/time_to_bleu.py multi30k_de_en-bpe_8k --peers ../peers/bin/python --target 39

`dvc repro encode` must have encoded the corpus, with a joint vocabulary. All train a pre-norm Transformer of the size
`small` with dropout 0.15; ours has rotary positions, gated feed-forward networks and embeddings that start by
cross-language LSI (5 s, which are not counted), unless `--model transformer_prenorm` asks for what the others have.
The rate falls to 0 at the end (linearly, eole: along a cosine). Each tries the same peak rates, so often and so long;
batch, dropout, initial weights and warm-up are those found for this project.
First the speed of each, for each size of an update, is measured in turns of about half a minute, so that a noisy
machine is equally noisy for all; minutes are updates divided by this speed, and validation is none of them. Then each
trains for `--tuning` minutes with every size and rate: as many tries for all, and the best one counts. They must be
long enough for the slowest to have left the start: after 4 minutes of two cores Hugging Face had less than 7 BLEU,
which chooses by chance. Last comes the shortest time of the ladder after which the BLEU of the validation part (own
beam search, beam 5) reaches the target, found by halving the ladder: each trains from scratch for the minutes in its
middle, then for more or fewer; longer is taken to be better. Nobody averages: all take their last weights.

With `--notes` a race that was stopped goes on where it was: what was measured is in the file and is not measured again,
unless code, data or settings have changed.
"""

import bisect
import itertools
import sys
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Annotated, NamedTuple

import torch
import typer
from contestants.machine import FASTER, describe
from contestants.notes import Notes, digest, digest_of_files
from contestants.shapes import training_job, translation_job
from contestants.turn import TRIAL, TRIALS, command, contestants, end_at_sigterm, run, try_out

from pipeline import files
from pipeline.corpora import parts
from pipeline.decoding.translate import Decoding
from pipeline.evaluation.bleu import bleu
from pipeline.system import corpus_file
from pipeline.vocabularies.vocabulary import Vocabulary

MODELS = "transformer_modern", "transformer_prenorm"  # of ours
DROPOUT, WARM_UP_SHARE = 0.15, 0.1  # of the updates, in which the rate rises
LSI_PAIRS = 100_000  # from which `transformer_modern` starts its embeddings


class Settings(NamedTuple):
    """What a contestant may choose."""

    positions: int  # at most, of an update
    peak_rate: float


class Race:
    """A corpus, and what every training on it shares."""

    def __init__(self, encoded: str, model: str, precision: str, threads: int, seed: int) -> None:
        self.data, self.precision, self.threads, self.seed = Path("data/encode", encoded), precision, threads, seed
        self.vocabulary, corpus = Vocabulary.load(Path("data/vocabulary", encoded)), encoded.partition("-")[0]
        source, target = parts.paths(Path("data/split", corpus), parts.VALIDATION)
        self.references = list(files.read_lines(target))
        sources = self.vocabulary.encode_source(list(files.read_lines(source)))
        decoding = Decoding.load_all("decode", f"{corpus_file(corpus)}:decode").model_dump()
        if model not in MODELS:
            sys.exit(f"--model: got {model!r}; expected {' or '.join(MODELS)}")
        is_modern = model == MODELS[0]
        self.ours = {"modern": is_modern, "lsi_pairs": LSI_PAIRS if is_modern else 0}
        self.translating = translation_job(self.vocabulary.source_size, sources, decoding, threads) | {
            "modern": is_modern
        }

    def job(self, positions: int, peak_rate: float = 0.0, updates: int = 0) -> dict[str, object]:
        """A training from scratch."""
        settings = {"positions": positions, "peak_rate": peak_rate, "updates": updates, "precision": self.precision}
        rising = max(1, int(updates * WARM_UP_SHARE))
        more = {"norm": "pre", "warm_up_rate": rising, "warm_up": 0, "seed": self.seed, "average": False, **self.ours}
        return training_job(self.data, "small", **settings, **more) | {"dropout": DROPOUT}

    def speeds(self, pythons: dict[str, str], positions: int, updates: int) -> dict[str, float]:
        """Updates a second of each contestant, measured in turns."""
        tried = try_out(pythons, self.job(positions), self.threads, updates=updates)
        return {name: TRIALS * updates / seconds for name, (_, seconds) in tried.items()}

    def tried(self, name: str, python: str, settings: Settings, updates: int) -> tuple[float, float]:
        """The BLEU of the validation part after a training from scratch, and the minutes that its updates took."""
        with tempfile.TemporaryDirectory() as folder:
            training = self.job(settings.positions, settings.peak_rate, updates) | {"save": folder}
            done = run(command(name, python, "training"), training, self.threads)
            found = run(command(name, python, "decoding"), self.translating | {"folder": folder}, self.threads)
        return bleu(self.vocabulary.decode_target(found["translations"]), self.references), done["seconds"] / 60

    def about(self) -> dict[str, object]:
        """What the race is about, for its notes."""
        settings = digest([self.job(0), self.translating, self.references])
        return {
            "encoded": self.data.name,
            "data": digest_of_files(self.data, "**/*"),
            "settings": settings,
            "threads": self.threads,
            "seed": self.seed,
        }


def main(
    encoded: Annotated[
        str, typer.Argument(help="An encoded corpus, <corpus>-<vocabulary>.")
    ] = "phrasebook_fr_en-bpe_2k",
    target: Annotated[float, typer.Option(help="BLEU of the validation part to reach.")] = 39.0,
    peers: Annotated[Path | None, typer.Option(help="Python of the environment that has the peers.")] = None,
    positions: Annotated[str, typer.Option(help="Most positions of an update, each tried.")] = "800",
    peak_rates: Annotated[str, typer.Option(help="Peak rates, each tried.")] = "7e-4,1e-3,1.5e-3",
    tuning: Annotated[float, typer.Option(help="Minutes of each try.")] = 8.0,
    ladder: Annotated[str, typer.Option(help="Minutes of training to choose from.")] = "3,4,5,6,7,8,10,12,14,17,20",
    model: Annotated[str, typer.Option(help="Ours: transformer_modern or transformer_prenorm.")] = "transformer_modern",
    precision: Annotated[str, typer.Option(help="fp32 or bf16.")] = FASTER,
    trial: Annotated[int, typer.Option(help="Timed updates of a turn.")] = TRIAL,
    only: Annotated[str, typer.Option(help="One contestant's name; empty: all.")] = "",
    notes: Annotated[Path | None, typer.Option(help="A file for what was measured, so that the race may stop.")] = None,
    seed: Annotated[int, typer.Option(help="Of weights, batches and dropout.")] = 1,
    threads: Annotated[int, typer.Option(help="Threads of each.")] = torch.get_num_threads(),
) -> None:
    """Print every try as soon as it is known, then a table."""
    sizes = [int(size) for size in numbers("--positions", positions)]
    rates, rungs = numbers("--peak-rates", peak_rates), numbers("--ladder", ladder)
    race = Race(encoded, model, precision, threads, seed)
    everyone, chosen = contestants(peers, ""), contestants(peers, only)
    end_at_sigterm()
    noted = Notes(notes, race.about() | {"trial": trial, "contestants": sorted(everyone)})
    print(f"{describe()}; {threads} threads, {precision}, target {target:g} BLEU of {encoded} validation\n", flush=True)
    speeds = {}
    for size in sizes:
        in_turn = partial(race.speeds, everyone, size, trial)
        speeds[size] = noted.measured(f"updates/s, {size} positions", in_turn)
    rows = []
    for name, python in chosen.items():

        def after(minutes: float, settings: Settings, name: str = name, python: str = python) -> float:
            updates = max(1, int(minutes * 60 * speeds[settings.positions][name]))
            about = f"{name}, {settings.positions} positions, peak rate {settings.peak_rate:g}, {updates:,} updates"
            score, taken = noted.measured(about, partial(race.tried, name, python, settings, updates))
            print(f"{about} in {minutes:g} minutes: {score:.2f} (they took {taken:.1f})", flush=True)
            return score

        choices = itertools.starmap(Settings, itertools.product(sizes, rates))
        tries = {one: after(tuning, one) for one in choices}
        best = max(tries, key=tries.__getitem__)
        reach, missed = cache(partial(after, settings=best)), (f"> {rungs[-1]:g}", "-")
        at = bisect.bisect_left(rungs, target, key=reach)
        minutes, score = (f"{rungs[at]:g}", f"{reach(rungs[at]):.1f}") if at < len(rungs) else missed
        speed = f"{speeds[best.positions][name]:.2f}"
        rows.append((name, str(len(tries)), str(best.positions), f"{best.peak_rate:g}", speed, minutes, score))
    print(f"\n| system | tries | positions | peak rate | updates/s, in turn | minutes to {target:g} | BLEU |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: | ---: |")
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))


def numbers(option: str, given: str) -> list[float]:
    """The numbers of a list, ascending."""
    try:
        found = sorted(float(number) for number in given.split(","))
    except ValueError:
        sys.exit(f"{option}: got {given!r}; expected numbers with commas between them")
    if found[0] <= 0:
        sys.exit(f"{option}: got {found[0]:g}; expected numbers above 0")
    return found


if __name__ == "__main__":
    typer.run(main)
