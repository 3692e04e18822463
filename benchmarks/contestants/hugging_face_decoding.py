"""The same weights in Hugging Face transformers, or what it trained by itself."""

from pathlib import Path

import torch
from hugging_face import network
from safetensors.torch import load_file
from torch import Tensor, nn
from translation import EOS, EPSILON, PAD, Job, cut, race_in_batches

given = Job.read()
torch.set_num_threads(given.threads)
TRAINED = Path(given.folder, "model.safetensors")


def load() -> nn.Module:
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
    state = {"model.shared.weight": matrix}
    for side in ("encoder", "decoder"):
        for number in range(given.layers):
            state |= layer(weights, f"{side}.{number}.", f"model.{side}.layers.{number}.", side)
        if given.norm == "pre":
            state |= pair(weights, f"{side}_norm", f"model.{side}.layer_norm")
    missing, unexpected = model.load_state_dict(state, strict=False)
    left = [name for name in missing if not any(part in name for part in ("embed", "lm_head", "final_logits_bias"))]
    assert not left, left
    assert not unexpected, unexpected
    model.tie_weights()
    for norm in model.modules():
        if isinstance(norm, nn.LayerNorm):
            norm.eps = EPSILON
    return model.eval()


def layer(weights: dict[str, Tensor], ours: str, theirs: str, side: str) -> dict[str, Tensor]:
    """The weights of one layer by their names there."""
    uses = {"self_attention": ("self_attn", "attention_residual" if side == "encoder" else "self_residual")}
    if side == "decoder":
        uses["cross_attention"] = ("encoder_attn", "cross_residual")
    state = {}
    for name, (other, residual) in uses.items():
        for kind in ("weight", "bias"):
            parts = weights[f"{ours}{name}.project_in.{kind}"].chunk(3)
            for part, letter in zip(parts, "qkv", strict=True):
                state[f"{theirs}{other}.{letter}_proj.{kind}"] = part.clone()
        state |= pair(weights, f"{ours}{name}.project_out", f"{theirs}{other}.out_proj")
        state |= pair(weights, f"{ours}{residual}.norm", f"{theirs}{other}_layer_norm")
    state |= pair(weights, f"{ours}feed_forward.widen", f"{theirs}fc1")
    state |= pair(weights, f"{ours}feed_forward.narrow", f"{theirs}fc2")
    return state | pair(weights, f"{ours}feed_forward_residual.norm", f"{theirs}final_layer_norm")


def pair(weights: dict[str, Tensor], ours: str, theirs: str) -> dict[str, Tensor]:
    """A matrix (or gain) and its bias."""
    return {f"{theirs}.{kind}": weights[f"{ours}.{kind}"] for kind in ("weight", "bias")}


model = load()


@torch.inference_mode()
def translate(sources: list[list[int]]) -> list[list[int]]:
    """The best translation of each source of a batch."""
    longest = max(map(len, sources)) + 1
    ids = torch.tensor([[*one, EOS] + [PAD] * (longest - 1 - len(one)) for one in sources])
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
