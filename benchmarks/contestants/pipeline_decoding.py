"""This project's own search, exact or with a patience."""

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from translation import Job, race

from pipeline.decoding.translate import Decoding, translate
from pipeline.models import interface

given = Job.read()
torch.set_num_threads(given.threads)
found = interface.find(f"transformer_{given.norm}norm")
arch = {
    "encoder_layers": given.layers,
    "decoder_layers": given.layers,
    "tied_embeddings": "all",
    "sublayer_gain": 1.0,
    "dropout": 0.0,
    **{name: getattr(given, name) for name in ("width", "heads", "feed_forward")},
}
model = found.Model(found.Arch.model_validate(arch), source_size=given.vocabulary, target_size=given.vocabulary)
weights = load_file(Path(given.folder, "weights.safetensors"))
del weights["sinusoids"]
model.load_state_dict(weights)
model.eval()
keys = ("beam_size", "length_penalty", "max_length_factor", "max_length_offset", "tokens_per_batch")
patience = float(sys.argv[2]) if len(sys.argv) > 2 else None
decoding = Decoding.model_validate(
    {"engine": "torch", "patience": patience, **{key: getattr(given, key) for key in keys}}
)
race(given, lambda sources: translate(model, sources, decoding, torch.device("cpu")))
