"""This project's own search, exact or with a patience."""

from pathlib import Path

import torch
from contestants.pipeline_network import network, section
from contestants.translation import Job, race
from safetensors.torch import load_file

from pipeline.decoding.translate import translate

given = Job.read()
torch.set_num_threads(given.threads)
model = network(given, dropout=0.0)
weights = load_file(Path(given.folder, "weights.safetensors"))
del weights["sinusoids"]
model.load_state_dict(weights)
model.eval()
decoding = section(given)
race(given, lambda sources: translate(model, sources, decoding, torch.device("cpu")))
