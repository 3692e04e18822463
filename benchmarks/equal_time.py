"""What each toolkit makes of the same minutes on the same machine: trained from scratch, then translated and scored.

    python benchmarks/equal_time.py multi30k_de_en-bpe_8k --peers ../peers/bin/python --minutes 20

`dvc repro encode` must have encoded the corpus, with a joint vocabulary. All train a pre-norm Transformer of the size
`small` with as many positions an update, the same start N(0, 0.02), dropout, peak rate and warm-up; the rate falls to 0
at the end (linearly, eole: along a cosine). The rate is the one found for this project. How many updates fit into the
minutes is measured first for each; where they then take over 2 % more or less, as many as that says fit are trained
from scratch, once. What the last training took stands in the table. Then each translates the test part by its own beam
search, beam 5. This project averages as many states of the last tenth as section `average` says; the others have
their last one.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from contestants.machine import describe
from contestants.shapes import SIZES, training_job
from contestants.turn import HERE, OURS, PEERS, run

from pipeline import files
from pipeline.data import parts
from pipeline.data.vocabulary import Vocabulary
from pipeline.decoding.translate import Decoding
from pipeline.evaluation.bleu import bleu

DROPOUT, PEAK_RATE, WARM_UP = 0.15, 2e-3, 400
TOLERANCE = 0.02  # of the minutes
TRIAL, BEFORE = 400, 50  # updates whose speed says how many fit, and untimed ones: kernels are compiled on the way


def main(
    encoded: Annotated[
        str, typer.Argument(help="An encoded corpus, <corpus>-<vocabulary>.")
    ] = "phrasebook_fr_en-bpe_2k",
    part: Annotated[str, typer.Option(help="Part that is translated.")] = "test",
    peers: Annotated[Path | None, typer.Option(help="Python of the environment that has the peers.")] = None,
    minutes: Annotated[float, typer.Option(help="How long each trains, after a trial of 450 updates.")] = 1.0,
    positions: Annotated[int, typer.Option(help="Most positions of an update, padding included.")] = 1500,
    precision: Annotated[str, typer.Option(help="fp32 or bf16.")] = "bf16",
    only: Annotated[str, typer.Option(help="One contestant's name; empty: all.")] = "",
    seed: Annotated[int, typer.Option(help="Of weights, batches and dropout.")] = 1,
    threads: Annotated[int, typer.Option(help="Threads of each.")] = torch.get_num_threads(),
) -> None:
    """Print a table, a line as soon as it is known."""
    data = Path("data/encode", encoded)
    vocabulary, decoding = Vocabulary.load(Path("data/vocabulary", encoded)), Decoding.load("decode")
    source, target = parts.paths(Path("data/split", encoded.partition("-")[0]), part)
    references = list(files.read_lines(target))
    training = training_job(
        data,
        "small",
        positions=positions,
        precision=precision,
        norm="pre",
        peak_rate=PEAK_RATE,
        warm_up_rate=WARM_UP,
        warm_up=0,
        seed=seed,
    ) | {"dropout": DROPOUT}
    translating = {
        **SIZES["small"],
        "vocabulary": training["vocabulary"],
        "norm": "pre",
        "sources": vocabulary.encode_source(list(files.read_lines(source))),
        **decoding.model_dump(exclude={"engine", "patience"}),
        "beam_size": 5,
        "threads": threads,
    }
    print(f"{describe()}; {threads} threads, {precision}, {minutes:g} minutes each, updates of {positions} positions\n")
    print(f"| system | updates | million target tokens | minutes | BLEU, {encoded} {part} |")
    print("| :--- | ---: | ---: | ---: | ---: |", flush=True)
    for name, python in contestants(peers, only).items():
        with tempfile.TemporaryDirectory() as folder:
            learn, translate = ([python, str(HERE / f"{name}_{task}.py")] for task in ("training", "decoding"))
            done = train(learn, training | {"save": folder}, minutes, threads)
            lines = run(translate, translating | {"folder": folder}, threads)["translations"]
        score = bleu(vocabulary.decode_target(lines), references)
        cells = (
            name,
            f"{done['updates']:,}",
            f"{done['tokens'] / 1e6:.2f}",
            f"{done['seconds'] / 60:.1f}",
            f"{score:.1f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def contestants(peers: Path | None, only: str) -> dict[str, str]:
    """The Python of each."""
    found = {OURS: sys.executable} | (dict.fromkeys(PEERS, str(peers.absolute())) if peers else {})
    if only and only not in found:
        sys.exit(f"--only: got {only!r}; expected one of {', '.join(found)}")
    return {only: found[only]} if only else found


def train(command: list[str], given: dict[str, Any], minutes: float, threads: int) -> dict[str, Any]:
    """Train for as many updates as fit, as near as the machine's speed lets one say; the figures of that."""
    quick = {"save": "", "warm_up": BEFORE, "updates": TRIAL, "peak_rate": 0.0}
    updates = int(minutes * 60 * TRIAL / run(command, given | quick, threads)["seconds"])
    done = run(command, given | {"updates": updates}, threads)
    ratio = minutes * 60 / done["seconds"]
    if abs(ratio - 1) > TOLERANCE:
        updates = int(updates * ratio)
        shutil.rmtree(given["save"])
        Path(given["save"]).mkdir()
        done = run(command, given | {"updates": updates}, threads)
    return done | {"updates": updates}


if __name__ == "__main__":
    typer.run(main)
