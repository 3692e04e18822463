"""Hugging Face transformers from scratch: a plain loop over batches of like length."""

import torch
from contestants.hugging_face import network
from contestants.job import Batch, Job, race_plainly
from contestants.pieces import PAD
from torch import Tensor

given = Job.read()
torch.manual_seed(given.seed)
model = network(given, given.dropout).train()


def logits(batch: Batch) -> Tensor:
    """Scores of every target piece: (B, T, V)."""
    return model(
        input_ids=batch.source,
        attention_mask=(batch.source != PAD).long(),
        decoder_input_ids=batch.target_input,
        use_cache=False,
    ).logits


race_plainly(given, model, logits)
