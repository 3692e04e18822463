"""BLEU of one trained system on its validation part, by how it is averaged and decoded.

    python benchmarks/choose_on_validation.py phrasebook_fr_en-bpe_2k-rnnsearch-tiny --checkpoints 1,2,4,8

Settings are chosen by this table. A test part is read once, for the table of results, and chooses nothing. `dvc repro`
must have trained the system; as many checkpoints as `last_checkpoints` says are there to average. A memory of training
pairs is left out.
"""

import itertools
import sys
from typing import Annotated

import typer

from pipeline import device, files
from pipeline.averaging import Averaging, average_checkpoints
from pipeline.commands import project
from pipeline.corpora import parts
from pipeline.decoding.translate import translate
from pipeline.decoding.translator import read_training
from pipeline.evaluation.bleu import bleu
from pipeline.models import interface
from pipeline.system import System
from pipeline.vocabularies.vocabulary import Vocabulary


def main(
    system: Annotated[
        str, typer.Argument(help="Id of a trained system.")
    ] = "phrasebook_fr_en-bpe_2k-transformer_prenorm-tiny",
    checkpoints: Annotated[str, typer.Option(help="Numbers of last checkpoints to average, commas between.")] = "",
    length_penalties: Annotated[str, typer.Option(help="Length penalties, commas between.")] = "",
    max_lengths: Annotated[str, typer.Option(help="Longest translations, factor+offset, commas between.")] = "",
) -> None:
    """Print a row for each combination; without options the one row that params.yaml asks for."""
    chosen = System.parse(system)
    usual = project.decoding(chosen)
    averaged = Averaging.load(f"average.{chosen.size}").checkpoints
    pieces = Vocabulary.load(chosen.vocabulary_folder)
    source, target = parts.paths(chosen.split, parts.VALIDATION)
    sources, references = pieces.encode_source(list(files.read_lines(source))), list(files.read_lines(target))
    found, where = interface.find(chosen.model), device.prepared()
    arch = found.Arch.load_own(f"models.{chosen.model}.default", f"models.{chosen.model}.{chosen.size}")
    net = found.Model(arch, source_size=pieces.source_size, target_size=pieces.target_size).to(where).eval()
    if read_training(chosen)["precision"] == "bf16" and device.has_bf16(where):
        interface.prepack_in_bf16(net)  # as `Translator` does
    folder = chosen.trained / "checkpoints"
    names = files.read_json(folder / "checkpoints.json")["last"]
    for number in listed(checkpoints):
        if not (number.isdecimal() and 1 <= int(number) <= len(names)):
            sys.exit(f"--checkpoints: got {number!r}; expected 1 to {len(names)}, which {folder} has")
    print("| checkpoints | length penalty | longest translation | BLEU, validation |\n| ---: | ---: | ---: | ---: |")
    for number, penalty, longest in itertools.product(
        listed(checkpoints) or [str(averaged)],
        listed(length_penalties) or [f"{usual.length_penalty:g}"],
        listed(max_lengths) or [f"{usual.max_length_factor:g}+{usual.max_length_offset}"],
    ):
        net.load_state_dict(average_checkpoints([folder / name for name in names[-int(number) :]]))
        factor, offset = longest.split("+")
        changed = {
            "length_penalty": float(penalty),
            "max_length_factor": float(factor),
            "max_length_offset": int(offset),
        }
        decoding = usual.changed(**changed)
        found_pieces = translate(net, sources, decoding, where, unknown=pieces.whole_words)
        score = bleu(pieces.decode_target(found_pieces), references)
        print(f"| {number} | {penalty} | {longest} | {score:.2f} |", flush=True)


def listed(text: str) -> list[str]:
    """The values of an option."""
    return [value for value in text.split(",") if value]


if __name__ == "__main__":
    typer.run(main)
