"""This project's search through CTranslate2: its own score, exact end."""

from pathlib import Path

import torch
from translation import Job, race

from pipeline.decoding.ctranslate2_search import Engine, rounds
from pipeline.decoding.translate import Decoding

given = Job.read()
torch.set_num_threads(given.threads)
keys = ("beam_size", "length_penalty", "max_length_factor", "max_length_offset", "tokens_per_batch")
decoding = Decoding.model_validate(
    {"engine": "ctranslate2", "patience": None, **{key: getattr(given, key) for key in keys}}
)
engine = Engine(Path(given.folder, "float32"))


def translate(sources: list[list[int]]) -> list[list[int]]:
    """The best translation of each source."""
    longest = {index: decoding.max_length(len(source)) for index, source in enumerate(sources)}
    found = dict(rounds(engine, sources, longest, decoding))
    return [found[index].ids for index in range(len(sources))]


race(given, translate)
