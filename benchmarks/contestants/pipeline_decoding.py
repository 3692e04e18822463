"""This project's own search in fp32 or, with the word bf16 before the job, with products in bf16."""

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

from benchmarks.contestants.network import network
from benchmarks.contestants.translation import SEARCH, Job, race
from pipeline.compute import device
from pipeline.decoding.search import search
from pipeline.decoding.settings import Decoding
from pipeline.models import interface

job = Job.read()
torch.set_num_threads(job.threads)
model = network(job, dropout=0.0)
model.load_state_dict(load_file(Path(job.folder, "weights.safetensors")))
where = device.prepared()
model.eval().to(where)
if "bf16" in sys.argv:
    interface.prepack_in_bf16(model)
decoding = Decoding.model_validate({"patience": 0.0, **{name: getattr(job, name) for name in SEARCH}})
race(job, lambda sources: [best.ids for _, [best] in sorted(search(model, sources, decoding, where))])
