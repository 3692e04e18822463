"""How many sentences a second are translated, beside CTranslate2 with the very same weights, in turn on one machine.

    python -m benchmarks.decode_speed multi30k_de_en-bpe_8k-transformer_prenorm-small-1

`dvc repro` must have built the system, a Transformer whose matrices are all tied. Each contestant is tried once with
each batch size; its best one then counts. All search in fp32, this project also in bf16 where the processor has
instructions for it, and CTranslate2 also in int8. Each scores and stops as it does by itself, so translations may
differ: BLEU says how much.
"""

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from safetensors.torch import save_file

from benchmarks.contestants.machine import describe
from benchmarks.contestants.turn import OURS, run, script
from pipeline.commands import project
from pipeline.common import files, parts
from pipeline.common.system import System
from pipeline.compute import device
from pipeline.decoding.settings import Decoding
from pipeline.decoding.translator import Translator
from pipeline.evaluation.bleu import bleu
from pipeline.layers.residual import PreNorm
from pipeline.packaging import ctranslate2_form

SYSTEM = "phrasebook_fr_en-bpe_2k-transformer_prenorm-tiny-1"


def main(
    beam: Annotated[list[int], typer.Option(help="Beam size; may be repeated.", default_factory=lambda: [1, 5])],
    batch: Annotated[
        list[int],
        typer.Option(help="Batch size in source pieces; may be repeated.", default_factory=lambda: [1000, 2000, 4000]),
    ],
    system: Annotated[str, typer.Argument(help="Id of a built system.")] = SYSTEM,
    part: Annotated[str, typer.Argument(help="Part of its corpus.")] = "test",
    sentences: Annotated[int, typer.Option(help="How many lines of the part.")] = 1000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each has its turn with its best batch size.")] = 3,
    threads: Annotated[int, typer.Option(help="Threads of each.")] = torch.get_num_threads(),
) -> None:
    """Print a table: medians over the rounds, and the ratio to this project round by round."""
    chosen = System.parse(system)
    translator = project.load(chosen)
    decoding = translator.decoding
    source, target = parts.paths(chosen.split, part)
    sources = translator.vocabulary.encode_source(list(files.read_lines(source))[:sentences])
    references = list(files.read_lines(target))[:sentences]
    print(f"{describe()}; {threads} threads; {len(sources):,} sentences of {system}, {part}\n")
    print("| beam | system | sentences/s | of ours | output pieces/s | batch | peak GiB | BLEU | lines as ours |")
    print("| ---: | :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        given = write(translator, Path(folder), sources, decoding) | {"threads": threads}
        for beam_size in beam:
            commands = contestants()
            asked = given | {"beam_size": beam_size}
            best = {name: quickest(command, asked, batch) for name, command in commands.items()}
            results: dict[str, list[dict[str, Any]]] = {name: [] for name in commands}
            for _ in range(rounds):
                for name, command in commands.items():
                    results[name].append(run(command, asked | {"tokens_per_batch": best[name]}, threads))
            for name, runs in results.items():
                print(row(beam_size, name, runs, results[OURS], best[name], translator, references), flush=True)


def write(translator: Translator, folder: Path, sources: list[list[int]], decoding: Decoding) -> dict[str, Any]:
    """The weights for all contestants, and the job but for beam and batch size."""
    model = translator.model
    layer = model.encoder[0]
    if model.embeddings.tied != "all" or len(model.encoder) != len(model.decoder) or not model.positions:
        sys.exit("expected sinusoids, tied_embeddings: all and stacks of one height")
    weights = {name: value.contiguous() for name, value in model.state_dict().items()}
    save_file(weights, folder / "weights.safetensors")
    for quantization in ("float32", "int8"):
        path = folder / quantization
        path.mkdir()
        ctranslate2_form.save(model, translator.vocabulary, path, quantization=quantization)
    return {
        "folder": str(folder),
        "sources": sources,
        "norm": "pre" if isinstance(layer.attention_residual, PreNorm) else "post",
        "layers": len(model.encoder),
        "width": model.width,
        "heads": layer.self_attention.heads,
        "feed_forward": layer.feed_forward.widen.out_features,
        "vocabulary": len(model.embeddings.target),
        **decoding.model_dump(include={"length_penalty", "max_length_factor", "max_length_offset"}),
    }


def contestants() -> dict[str, list[str]]:
    """The command of each, but for the job."""
    commands = {OURS: script("pipeline_decoding")}
    if device.has_bf16(torch.device("cpu")):
        commands[f"{OURS}, bf16"] = script("pipeline_decoding", "bf16")
    for quantization in ("float32", "int8"):
        commands[f"ctranslate2 {quantization}"] = script("ctranslate2_decoding", quantization)
    return commands


def quickest(command: list[str], given: dict[str, Any], batch: list[int]) -> int:
    """The batch size with which a contestant is quickest."""
    seconds = {size: run(command, given | {"tokens_per_batch": size}, given["threads"])["seconds"] for size in batch}
    return min(seconds, key=lambda size: seconds[size])


def row(
    beam_size: int,
    name: str,
    runs: list[dict[str, Any]],
    ours: list[dict[str, Any]],
    batch: int,
    translator: Translator,
    references: list[str],
) -> str:
    """A line of the table."""
    lines, expected = runs[0]["translations"], ours[0]["translations"]
    seconds = statistics.median(result["seconds"] for result in runs)
    ratio = statistics.median(b["seconds"] / a["seconds"] for a, b in zip(runs, ours, strict=True))
    score = bleu(translator.vocabulary.decode_target(lines), references, "13a")
    equal = sum(a == b for a, b in zip(lines, expected, strict=True)) / len(lines)
    cells = (
        str(beam_size),
        name,
        f"{len(lines) / seconds:,.0f}",
        f"{ratio:.2f}",
        f"{sum(len(line) + 1 for line in lines) / seconds:,.0f}",
        f"{batch:,}",
        f"{max(result['peak_gib'] for result in runs):.2f}",
        f"{score:.1f}",
        f"{equal:.1%}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    typer.run(main)
