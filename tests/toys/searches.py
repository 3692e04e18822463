"""Settings of a search with a small model, of which each test changes what it is about."""

from typing import Any

from pipeline.decoding.settings import Decoding

SETTINGS: dict[str, Any] = {
    "beam_size": 3,
    "length_penalty": 0.6,
    "patience": 0.0,
    "no_repeat_ngram_size": 0,
    "max_length_factor": 1.0,
    "max_length_offset": 4,
    "tokens_per_batch": 60,
}
DECODING = Decoding.model_validate(SETTINGS)
