"""How many source words a second do packages translate in CTranslate2, in int8 on one core, and how well?

    python -m benchmarks.package_speed models/<teacher> models/<student> --source test.de --target test.en

In turn, three times, 64 lines a batch, at most 100 pieces a translation; the medians, in seconds of the processor.
"""

import statistics
import time
from pathlib import Path
from typing import Annotated

import ctranslate2
import typer

from benchmarks.contestants.machine import describe
from pipeline.common import files
from pipeline.evaluation.bleu import bleu
from pipeline.packaging import loading, sealed

BATCH, LONGEST, ROUNDS = 64, 100, 3


def main(
    folders: Annotated[list[Path], typer.Argument(help="Packages of Transformers.")],
    source: Annotated[Path, typer.Option(help="Sentences, one a line.")],
    target: Annotated[Path, typer.Option(help="Their translations.")],
    beams: Annotated[list[int], typer.Option("--beam", default_factory=lambda: [1, 2, 5], help="May be repeated.")],
) -> None:
    """Print a table."""
    sources, references = list(files.read_lines(source)), list(files.read_lines(target))
    words = sum(len(line.split()) for line in sources)
    systems = {folder.name: Contestant(folder, sources) for folder in folders}
    print(f"{describe()}\n\n| beam | package | source words/s | BLEU |\n| ---: | :--- | ---: | ---: |")
    for beam in beams:
        seconds: dict[str, list[float]] = {name: [] for name in systems}
        for _ in range(ROUNDS):
            for name, system in systems.items():
                begin = time.process_time()
                system.translate(beam)
                seconds[name].append(time.process_time() - begin)
        for name, system in systems.items():
            speed = words / statistics.median(seconds[name])
            print(f"| {beam} | {name} | {speed:,.0f} | {bleu(system.lines, references, '13a'):.1f} |", flush=True)


class Contestant:
    """A package, and its last translations."""

    def __init__(self, folder: Path, sources: list[str]) -> None:
        self.vocabulary = loading.load(folder).vocabulary
        self.network = ctranslate2.Translator(str(folder / sealed.CTRANSLATE2), compute_type="int8", intra_threads=1)
        self.tokens = files.read_json(folder / sealed.CTRANSLATE2 / "shared_vocabulary.json")
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        self.sources, self.lines = sources, list[str]()

    def translate(self, beam: int) -> None:
        """Translate all lines, the longest together."""
        pieces = [[self.tokens[piece] for piece in ids] for ids in self.vocabulary.encode_source(self.sources)]
        search = {"beam_size": beam, "max_batch_size": BATCH, "max_decoding_length": LONGEST}
        results = self.network.translate_batch(pieces, **search)
        best = [[self.ids[token] for token in result.hypotheses[0]] for result in results]
        self.lines = self.vocabulary.decode_target(best)


if __name__ == "__main__":
    typer.run(main)
