"""Whether an exported Transformer is the same model in CTranslate2, and how often the two searches agree.

    python benchmarks/export_equality.py phrasebook_fr_en-bpe_2k-transformer_prenorm-tiny test

`dvc repro` must have built the system. This project translates every line of the part; CTranslate2's `score_batch` then
says how likely each piece of these translations is, the end of sentence included, in fp32. Exits with 1 if one of these
log-probabilities is not ours to 1e-4. The share of equal lines compares the searches, each with its own end and its own
length penalty (log P over |Y| ** alpha in CTranslate2, Wu et al.'s here): it is reported, and proves nothing.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import ctranslate2
import torch
import typer
from contestants.machine import describe

from pipeline import files, ids
from pipeline.commands import project
from pipeline.corpora import parts
from pipeline.decoding.search import forbidden
from pipeline.decoding.translate import translate
from pipeline.decoding.translator import Translator
from pipeline.models.interface import Model
from pipeline.packaging import ctranslate2_form
from pipeline.system import System

TOLERANCE = 1e-4  # of a piece's log-probability
SYSTEM = "phrasebook_fr_en-bpe_2k-transformer_prenorm-tiny"


def main(
    system: Annotated[str, typer.Argument(help="Id of a built system, a Transformer.")] = SYSTEM,
    part: Annotated[str, typer.Argument(help="Part of its corpus.")] = "test",
) -> None:
    """Print the largest difference of a log-probability, and the share of lines that both searches translate alike."""
    chosen = System.parse(system)
    translator = Translator.built(chosen)
    decoding = project.decoding(chosen)
    path, _ = parts.paths(chosen.split, part)
    sources = [line for line in translator.vocabulary.encode_source(list(files.read_lines(path))) if line]
    model, pieces = translator.model.cpu(), translator.vocabulary
    ours = translate(model, sources, decoding, torch.device("cpu"))
    longest = max(map(len, sources))
    positions = max(longest, decoding.max_length(longest)) + 1  # EOS, or BOS
    source_tokens = ctranslate2_form.tokens(pieces.source_pieces(range(pieces.source_size)))
    target_tokens = ctranslate2_form.tokens(pieces.target_pieces(range(pieces.target_size)))
    with tempfile.TemporaryDirectory() as name:
        ctranslate2_form.save(model, pieces, Path(name), quantization="float32", positions=positions)
        theirs = ctranslate2.Translator(name, compute_type="float32")
    given = [[source_tokens[piece] for piece in source] for source in sources]
    written = [[target_tokens[piece] for piece in target] for target in ours]
    scored = theirs.score_batch(given, written, max_batch_size=32, max_input_length=0)
    differences = [
        abs(a - b)
        for one, known in zip(scored, log_probabilities(model, sources, ours), strict=True)
        for a, b in zip(one.log_probs, known, strict=True)
    ]
    found = theirs.translate_batch(
        given,
        beam_size=decoding.beam_size,
        length_penalty=decoding.length_penalty,
        max_batch_size=32,
        max_input_length=0,
        max_decoding_length=decoding.max_length(longest),
        suppress_sequences=[[target_tokens[piece]] for piece in forbidden(unknown=False)],
    )
    equal = sum(one.hypotheses[0] == target for one, target in zip(found, written, strict=True))
    print(f"{describe()}, CTranslate2 {ctranslate2.__version__}; {system}, {part}, beam {decoding.beam_size}")
    print(f"{len(differences):,} log-probabilities of {len(sources):,} lines differ by at most {max(differences):.1e}")
    print(f"{equal:,} of {len(sources):,} lines ({equal / len(sources):.1%}) equal under each engine's own search")
    if max(differences) > TOLERANCE:
        raise SystemExit(1)


@torch.inference_mode()
def log_probabilities(
    model: Model, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> Iterator[list[float]]:
    """Of each target's pieces and of EOS after them, by a full forward pass over one sentence at a time."""
    for source, target in zip(sources, targets, strict=True):
        hidden = model.hidden(torch.tensor([[*source, ids.EOS]]), torch.tensor([[ids.BOS, *target]]))
        scores = model.logits(hidden)[0].log_softmax(dim=1)  # (T, V)
        yield scores[range(len(target) + 1), [*target, ids.EOS]].tolist()


if __name__ == "__main__":
    typer.run(main)
