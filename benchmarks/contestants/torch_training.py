"""torch's own nn.Transformer, pre-norm, tied embeddings, sinusoids: a plain loop over batches of like length."""

import math

import torch
from contestants.job import POSITIONS, Job, race_plainly
from contestants.pieces import PAD
from torch import Tensor, nn
from torch.nn import functional as F


class Network(nn.Module):
    """Embeddings, nn.Transformer, and the embedding matrix as the projection."""

    positions: Tensor  # (POSITIONS, D)

    def __init__(self, given: Job) -> None:
        super().__init__()
        self.width = given.width
        self.embedding = nn.Embedding(given.vocabulary, given.width)
        nn.init.normal_(self.embedding.weight, std=given.width**-0.5)
        self.dropout = nn.Dropout(given.dropout)
        self.transformer = nn.Transformer(
            given.width,
            given.heads,
            given.layers,
            given.layers,
            given.feed_forward,
            given.dropout,
            batch_first=True,
            norm_first=True,
        )
        angles = torch.arange(POSITIONS)[:, None] * torch.exp(
            torch.arange(0, self.width, 2) * (-math.log(1e4) / self.width)
        )
        self.register_buffer("positions", torch.stack((angles.sin(), angles.cos()), dim=2).flatten(1))

    def embed(self, ids: Tensor) -> Tensor:
        """Scaled embeddings with positions: (B, T) -> (B, T, D)."""
        return self.dropout(self.embedding(ids) * math.sqrt(self.width) + self.positions[: ids.shape[1]])

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Scores of every target piece: (B, T, V)."""
        hidden = source == PAD
        future = nn.Transformer.generate_square_subsequent_mask(
            target_input.shape[1], device=source.device, dtype=torch.bool
        )
        out = self.transformer(
            self.embed(source),
            self.embed(target_input),
            tgt_mask=future,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )
        return F.linear(out, self.embedding.weight)


given = Job.read()
torch.manual_seed(given.seed)
model = Network(given).train()
race_plainly(given, model, lambda batch: model(batch.source, batch.target_input))
