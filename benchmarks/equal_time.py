"""What each toolkit makes of the same minutes on the same machine: trained from scratch, then translated and scored.

    python benchmarks/equal_time.py multi30k_de_en-bpe_8k --peers ../peers/bin/python --minutes 20

`dvc repro encode` must have encoded the corpus, with a joint vocabulary. All train a pre-norm Transformer of the size
`small` with as many positions an update, the same start N(0, 0.02), dropout, peak rate and warm-up; the rate falls to 0
at the end (linearly, eole: along a cosine). The rate is the one found for this project. How many updates fit into the
minutes is measured first, of all in turn: so each has the same machine, however much other tenants leave of it at
which hour. Then each trains for as many from scratch; how long that took stands in the table too. Last each translates
the test part by its own beam search, beam 5. This project averages as many states of the last tenth as
`average.small` says; the others have their last one.
"""

import tempfile
from pathlib import Path
from typing import Annotated

import torch
import typer
from contestants.machine import FASTER, describe
from contestants.shapes import training_job, translation_job
from contestants.turn import TRIAL, TRIALS, command, contestants, end_at_sigterm, run, try_out

from pipeline import files
from pipeline.corpora import parts
from pipeline.decoding.translate import Decoding
from pipeline.evaluation.bleu import bleu
from pipeline.system import corpus_file
from pipeline.vocabularies.vocabulary import Vocabulary

DROPOUT, PEAK_RATE, WARM_UP = 0.15, 2e-3, 400


def main(
    encoded: Annotated[
        str, typer.Argument(help="An encoded corpus, <corpus>-<vocabulary>.")
    ] = "phrasebook_fr_en-bpe_2k",
    part: Annotated[str, typer.Option(help="Part that is translated.")] = parts.VALIDATION,
    peers: Annotated[Path | None, typer.Option(help="Python of the environment that has the peers.")] = None,
    minutes: Annotated[float, typer.Option(help="How long each trains, after its trials.")] = 1.0,
    positions: Annotated[int, typer.Option(help="Most positions of an update, padding included.")] = 1500,
    precision: Annotated[str, typer.Option(help="fp32 or bf16.")] = FASTER,
    only: Annotated[str, typer.Option(help="One contestant's name; empty: all.")] = "",
    seed: Annotated[int, typer.Option(help="Of weights, batches and dropout.")] = 1,
    threads: Annotated[int, typer.Option(help="Threads of each.")] = torch.get_num_threads(),
) -> None:
    """Print a table, a line as soon as it is known."""
    data, corpus = Path("data/encode", encoded), encoded.partition("-")[0]
    vocabulary = Vocabulary.load(Path("data/vocabulary", encoded))
    decoding = Decoding.load_all("decode", f"{corpus_file(corpus)}:decode")
    source, target = parts.paths(Path("data/split", corpus), part)
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
    sources = vocabulary.encode_source(list(files.read_lines(source)))
    translating = translation_job(training["vocabulary"], sources, decoding.model_dump(), threads)
    print(f"{describe()}; {threads} threads, {precision}, {minutes:g} minutes each, updates of {positions} positions\n")
    print(f"| system | tokens/s, in turn | updates | million tokens | minutes | BLEU, {encoded} {part} |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    pythons = contestants(peers, only)
    end_at_sigterm()
    for name, (tokens, seconds) in try_out(pythons, training, threads).items():
        python, updates = pythons[name], int(minutes * 60 * TRIALS * TRIAL / seconds)
        with tempfile.TemporaryDirectory() as folder:
            done = run(command(name, python, "training"), training | {"updates": updates, "save": folder}, threads)
            found = run(command(name, python, "decoding"), translating | {"folder": folder}, threads)
        score = bleu(vocabulary.decode_target(found["translations"]), references)
        cells = (
            name,
            f"{tokens / seconds:,.0f}",
            f"{updates:,}",
            f"{done['tokens'] / 1e6:.2f}",
            f"{done['seconds'] / 60:.1f}",
            f"{score:.1f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    typer.run(main)
