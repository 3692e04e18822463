"""This project's training loop, without validation and checkpoints; torchrun may start several of it."""

import time
from pathlib import Path

import torch

from benchmarks.contestants.job import LEARNING_RATE, MAX_LENGTH, POOL_PAIRS, Job, answer
from benchmarks.contestants.network import network
from pipeline.compute import device
from pipeline.encoding.shards import Encoded
from pipeline.training.batching import START, load_batches, prefetch
from pipeline.training.budget import Training
from pipeline.training.learning import Learning
from pipeline.training.loop import train
from pipeline.training.ranks import process_group
from pipeline.training.sampler import BatchSampler

job = Job.read()
updates = job.warm_up + job.updates
training = Training(
    updates=updates,
    tokens_per_update=1 if job.parts == 1 else job.positions,  # 1: every micro-batch is an update
    tokens_per_batch=job.positions // job.parts,
    pool_pairs=POOL_PAIRS,
    max_length=MAX_LENGTH,
    validation_interval=1,
    validation_sentences=0,
    patience=0,
    checkpoint_interval=1,
    last_checkpoints=1,
    best_checkpoints=0,
    exact=job.exact,
    cuda_graphs=False,
    threads=0,
)
learning = Learning.model_validate(
    {
        "batches": {"kind": "tokens"},
        "optimizer": {"kind": "adam", "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9, "weight_decay": 0.0},
        "schedule": {"kind": "linear", "peak_rate": LEARNING_RATE, "warmup": 1},
        "label_smoothing": 0.1,
        "smoothing_spread": "all",
        "r_drop": 0.0,
        "lsi_pairs": 0,
        "clip": 1.0,
        "precision": job.precision,
    }
)
device.bound_memory()
device.be_deterministic(job.seed)
where = device.prepared()
model = network(job, job.dropout).to(where)
encoded = Encoded.open_bitexts(Path(job.data).parent, [])
sampler = BatchSampler(encoded, training, learning.batches, {}, seed=job.seed)
with process_group() as ranks:
    ranks.be_exact(job.exact)
    batches = load_batches(sampler, encoded, START, updates, ranks.shard)
    steps = train(
        model,
        learning.optimizer.build(model),
        prefetch(batches, pinned=where.type == "cuda"),
        learning,
        width=job.width,
        updates=updates,
        seed=job.seed,
        ranks=ranks,
    )
    tokens = real = positions = 0
    began = time.perf_counter()
    for number, step in enumerate(steps, 1):
        tokens, real, positions = tokens + step.tokens, real + step.num_real_positions, positions + step.num_positions
        if number == job.warm_up:
            if where.type == "cuda":
                torch.cuda.synchronize()
            tokens, real, positions, began = 0, 0, 0, time.perf_counter()
    if where.type == "cuda":
        torch.cuda.synchronize()
    if ranks.is_main:
        answer(tokens, time.perf_counter() - began, 1 - real / positions)
