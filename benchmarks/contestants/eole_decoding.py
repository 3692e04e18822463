"""The same weights in eole, which has pre-norm layers only, or what it trained: its own inference engine."""

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from contestants.pieces import BOS, EOS, PAD, UNK
from contestants.renaming import Names, renamed
from contestants.translation import EPSILON, Job, race
from safetensors.torch import load_file, save_file
from torch import Tensor

given = Job.read()
torch.set_num_threads(given.threads)
SPECIAL = {UNK: "<unk>", PAD: "<blank>", BOS: "<s>", EOS: "</s>"}  # in the order of eole's ids
TRAINED = Path(given.folder, "vocab.json").exists()
END = [] if TRAINED else [SPECIAL[EOS]]  # which eole does not put at a source's end, and our models read there
NAMES = Names(
    layer="{side}.transformer_layers.{number}.",
    last_norm="{side}.layer_norm",
    self_attention=("self_attn", "input_layernorm"),
    cross_attention=("context_attn", "precontext_layernorm"),
    projections=("linear_query", "linear_keys", "linear_values", "final_linear"),
    feed_forward=("mlp.gate_up_proj", "mlp.down_proj", "post_attention_layernorm"),
)
STACK = {
    "layers": given.layers,
    "hidden_size": given.width,
    "transformer_ff": given.feed_forward,
    "heads": given.heads,
    "add_qkvbias": True,
    "add_ffnbias": True,
    "add_final_linear_bias": True,
    "mlp_activation_fn": "relu",
    "norm_eps": EPSILON,
    "position_encoding_type": "SinusoidalInterleaved",
}


def state() -> dict[str, Tensor]:
    """Our weights by eole's names."""
    weights = load_file(f"{given.folder}/weights.safetensors")
    order = torch.tensor([*SPECIAL, *range(EOS + 1, given.vocabulary)])
    return renamed(weights, given.layers, NAMES) | {
        "src_emb.embeddings.weight": weights["embeddings.target"][order],
        "generator.bias": weights["embeddings.bias"][order],
        **{f"{side}_emb.pe.pe": weights["sinusoids"][:, None].clone() for side in ("src", "tgt")},
        **{f"decoder.transformer_layers.{number}.layer_scalar": torch.ones(1) for number in range(given.layers)},
    }


def write(folder: Path) -> None:
    """A model folder as eole saves one."""
    save_file(state(), folder / "model.00.safetensors")
    words = [*SPECIAL.values(), *map(str, range(EOS + 1, given.vocabulary))]
    names = dict(zip(("unk_token", "pad_token", "bos_token", "eos_token"), SPECIAL.values(), strict=True))
    vocabulary = {"src": words, "tgt": words, "decoder_start_token": SPECIAL[BOS], "specials": names}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    embeddings = dict.fromkeys(("src_word_vec_size", "word_vec_size", "tgt_word_vec_size"), given.width)
    model = {
        **STACK,
        "architecture": "transformer",
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "embeddings": {**embeddings, "position_encoding": True},
        "encoder": {**STACK, "encoder_type": "transformer", "src_word_vec_size": given.width},
        "decoder": {
            **STACK,
            "decoder_type": "transformer",
            "tgt_word_vec_size": given.width,
            "with_cross_attn": True,
        },
    }
    data = {"train": {"path_src": "none", "path_tgt": "none", "transforms": []}}
    config = {
        "share_vocab": True,
        "src_vocab": str(folder / "vocab.json"),
        "training": {"compute_dtype": "torch.float32"},
        "data": data,
        "model": model,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def engine(folder: str) -> Any:
    """eole's engine on that folder."""
    from eole.config.run import PredictConfig
    from eole.inference_engine import InferenceEnginePY

    longest = max(map(len, given.sources))
    return InferenceEnginePY(
        PredictConfig(
            model_path=[folder],
            src=os.devnull,
            gpu_ranks=[],
            world_size=1,
            beam_size=given.beam_size,
            batch_type="tokens",
            batch_size=given.tokens_per_batch,
            length_penalty="wu",
            alpha=given.length_penalty,
            max_length=int(given.max_length_factor * longest) + given.max_length_offset,
            max_length_ratio=0,
            compute_dtype="fp32",
        )
    )


def translate(sources: list[list[int]]) -> list[list[int]]:
    """The best translation of each source."""
    _, _, found = ready.infer_list([" ".join([*map(str, source), *END]) for source in sources])
    return [[int(word) for word in best.split() if word.isdigit()] for best, *_ in found]


with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(sys.stderr):
    if TRAINED:
        ready = engine(given.folder)
    else:
        write(Path(name))
        ready = engine(name)
race(given, translate)
