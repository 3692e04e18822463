"""torch's own nn.Transformer, pre-norm, tied embeddings, sinusoids, and the loop that anyone would write."""

import math
import time

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from benchmarks.contestants.job import LEARNING_RATE, MAX_LENGTH, Job, answer, batches, sentences
from pipeline.compute.ids import BOS, EOS, PAD

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Network(nn.Module):
    """Embeddings, nn.Transformer, and the embedding matrix as the projection."""

    positions: Tensor  # (MAX_LENGTH, D)

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.width = job.width
        self.embedding = nn.Embedding(job.vocabulary, job.width)
        nn.init.normal_(self.embedding.weight, std=job.width**-0.5)
        self.dropout = nn.Dropout(job.dropout)
        shape = (job.width, job.heads, job.layers, job.layers, job.feed_forward, job.dropout)
        self.transformer = nn.Transformer(*shape, batch_first=True, norm_first=True)
        frequency = torch.exp(torch.arange(0, job.width, 2) * (-math.log(1e4) / job.width))
        angles = torch.arange(MAX_LENGTH)[:, None] * frequency
        self.register_buffer("positions", torch.stack((angles.sin(), angles.cos()), dim=2).flatten(1))

    def embed(self, ids: Tensor) -> Tensor:
        """Scaled embeddings with positions: (B, T) -> (B, T, D)."""
        return self.dropout(self.embedding(ids) * math.sqrt(self.width) + self.positions[: ids.shape[1]])

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Scores of every target piece: (B, T, V)."""
        padding = source == PAD
        causal = nn.Transformer.generate_square_subsequent_mask
        hidden = self.transformer(
            self.embed(source),
            self.embed(target_input),
            tgt_mask=causal(target_input.shape[1], device=source.device, dtype=torch.bool),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return F.linear(hidden, self.embedding.weight)


def padded(rows: list[list[int]]) -> Tensor:
    """(B, longest)."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD).to(DEVICE)


job = Job.read()
torch.manual_seed(job.seed)
model = Network(job).train().to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), eps=1e-9, fused=True)
source, target = sentences(job.data, "source"), sentences(job.data, "target")
feed = batches([(len(a), len(b)) for a, b in zip(source, target, strict=True)], job.positions, job.seed)
tokens = real = positions = 0
began = 0.0
for number in range(job.warm_up + job.updates):
    if number == job.warm_up:
        tokens, real, positions, began = 0, 0, 0, time.perf_counter()
    rows = next(feed)
    inputs, outputs = padded([[*source[row], EOS] for row in rows]), padded([[*target[row], EOS] for row in rows])
    with torch.autocast(DEVICE.type, dtype=torch.bfloat16, enabled=job.precision == "bf16"):
        scores = model(inputs, padded([[BOS, *target[row]] for row in rows]))
    loss = F.cross_entropy(scores.float().flatten(0, 1), outputs.flatten(), ignore_index=PAD, label_smoothing=0.1)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    tokens += int((outputs != PAD).sum())  # waits for a GPU
    real += int((inputs != PAD).sum() + (outputs != PAD).sum())
    positions += inputs.numel() + outputs.numel()
answer(tokens, time.perf_counter() - began, 1 - real / positions)
