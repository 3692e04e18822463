"""Marian from scratch by Hugging Face transformers: a plain loop over the same batches of like length."""

import torch
from job import BOS, EOS, PAD, POSITIONS, Batch, Job, race_plainly
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

given = Job.read()
torch.manual_seed(given.seed)
model = MarianMTModel(
    MarianConfig(
        vocab_size=given.vocabulary,
        d_model=given.width,
        dropout=given.dropout,
        attention_dropout=given.dropout,
        activation_dropout=given.dropout,
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=POSITIONS,
        pad_token_id=PAD,
        eos_token_id=EOS,
        bos_token_id=BOS,
        decoder_start_token_id=BOS,
        encoder_layers=given.layers,
        decoder_layers=given.layers,
        encoder_attention_heads=given.heads,
        decoder_attention_heads=given.heads,
        encoder_ffn_dim=given.feed_forward,
        decoder_ffn_dim=given.feed_forward,
    )
).train()


def logits(batch: Batch) -> Tensor:
    """Scores of every target piece: (B, T, V)."""
    return model(
        input_ids=batch.source,
        attention_mask=(batch.source != PAD).long(),
        decoder_input_ids=batch.target_input,
        use_cache=False,
    ).logits


race_plainly(given, model, logits)
