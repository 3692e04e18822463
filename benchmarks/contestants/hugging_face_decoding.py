"""The same weights in Hugging Face transformers, or what it trained by itself."""

from pathlib import Path
from typing import Any

import torch
from contestants.hugging_face import network
from contestants.job import DEVICE
from contestants.pieces import EOS, PAD
from contestants.renaming import Names, renamed
from contestants.translation import EPSILON, Job, cut, race_in_batches
from safetensors.torch import load_file
from torch import nn

given = Job.read()
torch.set_num_threads(given.threads)
TRAINED = Path(given.folder, "model.safetensors")
NAMES = Names(
    layer="model.{side}.layers.{number}.",
    last_norm="model.{side}.layer_norm",
    self_attention=("self_attn", "self_attn_layer_norm"),
    cross_attention=("encoder_attn", "encoder_attn_layer_norm"),
    projections=("q_proj", "k_proj", "v_proj", "out_proj"),
    feed_forward=("fc1", "fc2", "final_layer_norm"),
)


def load() -> Any:
    """The model with our weights, or its own."""
    model = network(given, dropout=0.0)
    if TRAINED.exists():
        model.load_state_dict(load_file(TRAINED))
        return model.eval()
    weights = load_file(f"{given.folder}/weights.safetensors")
    matrix, bias, sinusoids = weights["embeddings.target"], weights["embeddings.bias"], weights["sinusoids"]
    if given.norm == "pre":
        model.lm_head.bias = nn.Parameter(bias)
        for stack in (model.model.encoder, model.model.decoder):
            stack.embed_positions.weights[PAD + 1 : PAD + 1 + len(sinusoids)] = sinusoids
    else:
        model.final_logits_bias = bias[None]
        for stack in (model.model.encoder, model.model.decoder):
            stack.embed_positions.weight.data = sinusoids
    state = renamed(weights, given.layers, NAMES) | {"model.shared.weight": matrix}
    missing, unexpected = model.load_state_dict(state, strict=False)
    left = [name for name in missing if not any(part in name for part in ("embed", "lm_head", "final_logits_bias"))]
    assert not left, left
    assert not unexpected, unexpected
    model.tie_weights()
    for norm in model.modules():
        if isinstance(norm, nn.LayerNorm):
            norm.eps = EPSILON
    return model.eval()


model = load().to(DEVICE)


@torch.inference_mode()
def translate(sources: list[list[int]]) -> list[list[int]]:
    """The best translation of each source of a batch."""
    longest = max(map(len, sources)) + 1
    ids = torch.tensor([[*one, EOS] + [PAD] * (longest - 1 - len(one)) for one in sources]).to(DEVICE)
    out = model.generate(
        input_ids=ids,
        attention_mask=(ids != PAD).long(),
        num_beams=given.beam_size,
        do_sample=False,
        length_penalty=1.0,
        max_length=int(given.max_length_factor * (longest - 1)) + given.max_length_offset + 1,
    )
    return [cut(line) for line in out.tolist()]


race_in_batches(given, translate)
