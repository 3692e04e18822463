"""This project's search through CTranslate2: its own score, exact end."""

from pathlib import Path

import torch
from translation import Job, race

from pipeline.decoding.ctranslate2_search import translate
from pipeline.decoding.translate import Decoding

given = Job.read()
torch.set_num_threads(given.threads)
keys = ("beam_size", "length_penalty", "max_length_factor", "max_length_offset", "tokens_per_batch")
decoding = Decoding.model_validate(
    {"engine": "ctranslate2", "patience": None, **{key: getattr(given, key) for key in keys}}
)
race(given, lambda sources: translate(Path(given.folder, "float32"), sources, decoding))
