"""A small corpus with systems, as the report reads them."""

import pytest

from pipeline.evaluation.results import Corpus, System

SIGNATURES = {"bleu": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0", "chrf": "nrefs:1|version:2.6.0"}
CLEANING = {"source_language": "fr", "target_language": "en", "read": 1000, "kept": 950}
CLEANING |= {"dropped": {"empty": 0, "length_ratio": 20, "duplicate": 30}}
TOKENS = {"pairs": 900, "source_tokens": 9000, "target_tokens": 8000, "source_unknown": 9, "target_unknown": 0}
LEAKAGE = {"train/test": {"source": 1, "target": 12, "dropped": 12}}
TEXTS = [("Le chat | dort.", "The cat sleeps."), ("Il *a* <b>", "He has"), ("Bonjour", "Hello")]


@pytest.fixture
def make_system():
    def make(model, bleu, **changes):
        rows = [("1-10", 3, bleu), ("11-20", 1, bleu - 10)]
        training = {"updates": 600, "stopped": "patience", "padding_share": 0.0523, "num_parameters": 1234567}
        training |= {"best": {"update": 400, "validation_loss": 1.2344, "validation_bleu": 61.5}}
        values = {
            "corpus": "toy",
            "vocabulary": "bpe_2k",
            "model": model,
            "size": "tiny",
            "scores": {"test": {"bleu": bleu, "chrf": 90.0 - bleu, "signatures": SIGNATURES}},
            "by_length": [
                {"part": "test", "bucket": bucket, "sentences": str(sentences), "bleu": str(score), "chrf": "50"}
                for bucket, sentences, score in rows
            ],
            "curves": [
                {"update": str(n), "validation_loss": str(bleu / n), "validation_bleu": str(n / 10)}
                for n in (200, 400, 600)
            ],
            "training": training | {"params": {"training.updates": 600, "arch.width": int(bleu)}},
            "average": {"checkpoints": ["400.safetensors", "600.safetensors"]},
            "translations": {"test": [f"{model} one", f"{model} | two", ""]},
        }
        return System(**values | changes)

    return make


@pytest.fixture
def make_corpus(make_system):
    def make(**changes):
        values = {
            "name": "toy",
            "cleaning": CLEANING,
            "splitting": {"pairs": {"train": 900, "test": 3}, "leakage": LEAKAGE},
            "tokens": {"bpe_2k": {"train": TOKENS}},
            "texts": {"test": TEXTS},
            "systems": [make_system("first_model", 50.0), make_system("second_model", 70.0)],
        }
        return Corpus(**values | changes)

    return make
