"""The same weights in Hugging Face transformers: M2M100 where layers are pre-norm, Marian where they are post-norm."""

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import M2M100Config, M2M100ForConditionalGeneration, MarianConfig, MarianMTModel
from translation import BOS, EOS, PAD, Job, cut, race_in_batches

given = Job.read()
torch.set_num_threads(given.threads)
SHAPE = {
    "vocab_size": given.vocabulary,
    "d_model": given.width,
    "activation_function": "relu",
    "scale_embedding": True,
    "max_position_embeddings": 5000,
    "pad_token_id": PAD,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
    "decoder_start_token_id": BOS,
    "encoder_layers": given.layers,
    "decoder_layers": given.layers,
    "encoder_attention_heads": given.heads,
    "decoder_attention_heads": given.heads,
    "encoder_ffn_dim": given.feed_forward,
    "decoder_ffn_dim": given.feed_forward,
}


def load() -> nn.Module:
    """The model with our weights."""
    weights = load_file(f"{given.folder}/weights.safetensors")
    matrix, bias, sinusoids = weights["embeddings.target"], weights["embeddings.bias"], weights["sinusoids"]
    if given.norm == "pre":
        model = M2M100ForConditionalGeneration(M2M100Config(**SHAPE, forced_eos_token_id=None))
        model.lm_head.bias = nn.Parameter(bias)
        for stack in (model.model.encoder, model.model.decoder):
            stack.embed_positions.weights[PAD + 1 : PAD + 1 + len(sinusoids)] = sinusoids
    else:
        model = MarianMTModel(MarianConfig(**SHAPE, forced_eos_token_id=None))
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
