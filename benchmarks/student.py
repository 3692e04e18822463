"""A student in int8 beside its teacher in torch: sentences a second and BLEU, in turn on one machine.

    python benchmarks/student.py multi30k_taught_de_en-bpe_8k-transformer_modern-student \\
        multi30k_de_en-bpe_8k-transformer_modern-small

`dvc repro` must have built both. The teacher translates as the stage `decode` does, with the beam of params.yaml, but
without memory and minimum Bayes risk. Both are exported to CTranslate2, which translates greedily, with a beam of 2,
and with the same beam; it ends a search earlier (its `patience` is 1). All translate the same part, that of the
student's corpus, and use as many threads. Choose on the part `validation`; a test part is read once, for the table of
results.
"""

import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import ctranslate2
import torch
import typer
from contestants.machine import describe

from pipeline import files
from pipeline.commands import project
from pipeline.corpora import parts
from pipeline.decoding.translate import Decoding
from pipeline.decoding.translator import Translator
from pipeline.evaluation.bleu import bleu
from pipeline.packaging import ctranslate2_form
from pipeline.system import System

Translate = Callable[[list[str]], list[str]]
SYSTEM = "phrasebook_fr_en-bpe_2k-transformer_prenorm-tiny"


def main(
    student: Annotated[str, typer.Argument(help="Id of a built system, a Transformer.")] = SYSTEM,
    teacher: Annotated[str, typer.Argument(help="Id of another one.")] = SYSTEM,
    part: Annotated[str, typer.Argument(help="Part of the student's corpus.")] = parts.VALIDATION,
    quantization: Annotated[str, typer.Option(help="For CTranslate2, by its names.")] = "int8",
    rounds: Annotated[int, typer.Option(min=1, help="How often each has its turn.")] = 3,
    threads: Annotated[int, typer.Option(help="Threads of each.")] = torch.get_num_threads(),
) -> None:
    """Print a row for each way to translate: medians over the rounds."""
    small, large = System.parse(student), System.parse(teacher)
    decoding = project.decoding(small).changed(memory_pairs=0, mbr_temperature=None)
    source, target = parts.paths(small.split, part)
    lines, references = list(files.read_lines(source)), list(files.read_lines(target))
    torch.set_num_threads(threads)
    print(f"{describe()}; {threads} threads; {len(lines):,} sentences of {small.corpus}, {part}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        both = {"teacher": Translator.built(large), "student": Translator.built(small)}
        ways = {f"teacher, torch, beam {decoding.beam_size}": by_torch(both["teacher"], decoding)}
        for name, beam_size in itertools.product(both, sorted({1, 2, decoding.beam_size})):
            search = decoding.changed(beam_size=beam_size)
            ways[f"{name}, {quantization}, beam {beam_size}"] = by_ctranslate2(
                both[name], search, Path(folder, name), quantization, threads
            )
        seconds, scores = race(ways, lines, references, rounds)
    first = statistics.median(seconds[next(iter(ways))])
    print("| system | sentences/s | of the teacher's | BLEU |\n| :--- | ---: | ---: | ---: |")
    for way in ways:
        middle = statistics.median(seconds[way])
        print(f"| {way} | {len(lines) / middle:,.0f} | {first / middle:.2f} | {scores[way]:.2f} |")


def by_torch(translator: Translator, decoding: Decoding) -> Translate:
    """The search of the stage `decode`."""
    return lambda lines: translator.translate(lines, decoding, "teacher", unknown=False)


def by_ctranslate2(
    translator: Translator, decoding: Decoding, folder: Path, quantization: str, threads: int
) -> Translate:
    """CTranslate2 on what `nmt export` writes, so many sentences at a time, each by one thread."""
    if not (folder / "model.bin").exists():
        if not ctranslate2_form.is_supported(translator.model):
            sys.exit("expected a Transformer, which CTranslate2 can run")
        folder.mkdir()
        ctranslate2_form.save(translator.model, translator.vocabulary, folder, quantization=quantization)
    pieces = translator.vocabulary
    tokens = [json.loads((folder / name).read_text(encoding="utf-8")) for name in vocabularies(folder)]
    numbers = {token: number for number, token in enumerate(tokens[1])}
    engine = ctranslate2.Translator(str(folder), compute_type=quantization, inter_threads=threads, intra_threads=1)

    def translate(lines: list[str]) -> list[str]:
        sources = pieces.encode_source(lines)
        found = engine.translate_batch(
            [[tokens[0][piece] for piece in source] for source in sources],
            beam_size=decoding.beam_size,
            length_penalty=decoding.length_penalty,
            max_batch_size=decoding.tokens_per_batch,
            batch_type="tokens",
            max_decoding_length=decoding.max_length(max(map(len, sources))),
        )
        return pieces.decode_target([[numbers[token] for token in one.hypotheses[0]] for one in found])

    return translate


def vocabularies(folder: Path) -> tuple[str, str]:
    """The files with the source's and the target's tokens."""
    names = "shared_vocabulary.json", "source_vocabulary.json", "target_vocabulary.json"
    return (names[0], names[0]) if (folder / names[0]).exists() else (names[1], names[2])


def race(
    ways: dict[str, Translate], lines: list[str], references: list[str], rounds: int
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """The seconds of each way in each round, after a short one that is not timed, and its BLEU."""
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    scores = {}
    for translate in ways.values():
        translate(lines[:50])
    for _ in range(rounds):
        for way, translate in ways.items():
            began = time.perf_counter()
            found = translate(lines)
            seconds[way].append(time.perf_counter() - began)
            scores[way] = bleu(found, references)
    return seconds, scores


if __name__ == "__main__":
    typer.run(main)
