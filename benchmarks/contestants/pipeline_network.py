"""What this project's contestants share: the Transformer of a job, and its section `decode`."""

import sys
from typing import Any

from contestants.shapes import SEARCH
from contestants.translation import Job

from pipeline.decoding.settings import WITHOUT_MEMORY, Decoding
from pipeline.models import interface

BF16 = "bf16"  # on the command line before the job file: the products of the layers are in bf16


def network(given: Any, dropout: float) -> Any:
    """The network of a job."""
    arch = {
        "encoder_layers": given.layers,
        "decoder_layers": given.layers,
        "tied_embeddings": "all",
        "initialisation": {"kind": "normal", "std": 0.02},
        **dict.fromkeys(("dropout", "attention_dropout", "feed_forward_dropout"), dropout),
        **{name: getattr(given, name) for name in ("width", "heads", "feed_forward")},
    }
    if given.modern:
        arch["feed_forward"] = given.feed_forward * 11 // 16  # gated: three matrices, with about as many weights as two
    found = interface.find("transformer_modern" if given.modern else f"transformer_{given.norm}norm")
    return found.Model(found.Arch.model_validate(arch), source_size=given.vocabulary, target_size=given.vocabulary)


def section(given: Job) -> Decoding:
    """How a job searches: with the patience named before the job file on the command line, exactly where none is."""
    patience = next((float(one) for one in sys.argv[1:-1] if one != BF16), None)
    plain = {"patience": patience, "mbr_temperature": None, **WITHOUT_MEMORY}
    return Decoding.model_validate({**plain, **{name: getattr(given, name) for name in SEARCH}})
