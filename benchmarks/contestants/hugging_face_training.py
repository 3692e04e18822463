"""Marian from scratch by Hugging Face transformers: a plain loop over the same batches of like length."""

import torch
from job import BOS, EOS, PAD, POSITIONS, Batch, Job, race
from torch.nn import functional as F
from transformers import MarianConfig, MarianMTModel

given = Job.read()
torch.manual_seed(given.seed)
sizes = {f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in (
    ("layers", given.layers), ("attention_heads", given.heads), ("ffn_dim", given.feed_forward))}  # fmt: skip
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
        **sizes,
    )
).train()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)


def update(batch: Batch) -> None:
    """Forward, backward, clip, step."""
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=given.precision == "bf16"):
        logits = model(
            input_ids=batch.source,
            attention_mask=(batch.source != PAD).long(),
            decoder_input_ids=batch.target_input,
            use_cache=False,
        ).logits
    loss = F.cross_entropy(
        logits.float().flatten(0, 1),
        batch.target_output.flatten(),
        ignore_index=PAD,
        label_smoothing=given.label_smoothing,
    )
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


race(given, update)
