"""This project's own search, exact or with a patience, in fp32 or in bf16."""

import sys
from pathlib import Path

import torch
from contestants.pipeline_network import BF16, network, section
from contestants.translation import Job, race
from safetensors.torch import load_file

from pipeline import device
from pipeline.decoding.translate import translate
from pipeline.models import interface

given = Job.read()
torch.set_num_threads(given.threads)
model = network(given, dropout=0.0)
weights = load_file(Path(given.folder, "weights.safetensors"))
del weights["sinusoids"]
model.load_state_dict(weights)
where = device.prepared()
model.eval().to(where)
if BF16 in sys.argv:
    interface.prepack_in_bf16(model)
decoding = section(given)
race(given, lambda sources: translate(model, sources, decoding, where))
