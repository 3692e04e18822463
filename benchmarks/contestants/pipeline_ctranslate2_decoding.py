"""This project's search through CTranslate2, with its own score, exact or with a patience."""

from pathlib import Path

import torch
from pipeline_network import section
from translation import Job, race

from pipeline.decoding.ctranslate2_search import Engine, rounds

given = Job.read()
torch.set_num_threads(given.threads)
decoding = section(given, "ctranslate2")
engine = Engine(Path(given.folder, "float32"))


def translate(sources: list[list[int]]) -> list[list[int]]:
    """The best translation of each source."""
    longest = {index: decoding.max_length(len(source)) for index, source in enumerate(sources)}
    found = dict(rounds(engine, sources, longest, decoding))
    return [found[index].ids for index in range(len(sources))]


race(given, translate)
