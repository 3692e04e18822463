"""CTranslate2 by itself on our export, with its own score and its own end of a search, in fp32 or int8."""

import json
import sys
from pathlib import Path

import ctranslate2

from benchmarks.contestants.translation import Job, race

job = Job.read()
quantization = sys.argv[1]
folder = Path(job.folder, quantization)
tokens = json.loads((folder / "shared_vocabulary.json").read_text(encoding="utf-8"))
ids = {token: number for number, token in enumerate(tokens)}
translator = ctranslate2.Translator(
    str(folder),
    compute_type="float32" if quantization == "float32" else "int8",
    inter_threads=job.threads,  # a batch each, as this project has it: quicker than one batch for all threads
    intra_threads=1,
)


def translate(sources: list[list[int]]) -> list[list[int]]:
    """The best translation of each source."""
    results = translator.translate_batch(
        [[tokens[piece] for piece in source] for source in sources],
        beam_size=job.beam_size,
        length_penalty=job.length_penalty,
        max_batch_size=job.tokens_per_batch,
        batch_type="tokens",
        max_decoding_length=int(job.max_length_factor * max(map(len, sources))) + job.max_length_offset,
    )
    return [[ids[token] for token in result.hypotheses[0]] for result in results]


race(job, translate)
