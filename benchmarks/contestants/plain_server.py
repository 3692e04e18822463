"""The plainest server of CTranslate2: FastAPI, and a loop that translates one line at a time.

python benchmarks/contestants/plain_server.py models/<system> float32 2 8000
"""

import sys
from pathlib import Path
from typing import Any

import ctranslate2
import uvicorn
from fastapi import FastAPI

from pipeline.packaging import package
from pipeline.vocabularies.vocabulary import Vocabulary

folder, compute_type, threads, port = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
config, vocabulary = package.read(folder), Vocabulary.load(folder / package.VOCABULARY)
decoding = config.decoding
translator = ctranslate2.Translator(
    str(folder / package.CTRANSLATE2), compute_type=compute_type, intra_threads=threads, inter_threads=1
)
target = {vocabulary.target_pieces([piece])[0]: piece for piece in range(vocabulary.target_size)}
app = FastAPI()


@app.post("/translate")
def translate(asked: dict[str, Any]) -> dict[str, str]:
    """The translation of each line of a text."""
    return {"translatedText": "\n".join(map(one, str(asked["q"]).split("\n")))}


def one(line: str) -> str:
    """The translation of a line."""
    [source] = vocabulary.encode_source([line])
    if not source:
        return ""
    [found] = translator.translate_batch(
        [vocabulary.source_pieces(source)],
        beam_size=decoding["beam_size"],
        length_penalty=decoding["length_penalty"],
        max_decoding_length=int(decoding["max_length_factor"] * len(source)) + decoding["max_length_offset"],
    )
    [text] = vocabulary.decode_target([[target[piece] for piece in found.hypotheses[0] if piece in target]])
    return text


@app.get("/health")
def ready() -> None:
    """The model is loaded."""


uvicorn.run(app, port=port, log_level="warning")
