"""A model of OPUS-MT as the hub has it, tiny and with random weights; and its equations, read anew."""

import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

SIDES = ("encoder", "decoder")
SENTENCES = {
    "source": "le chat noir dort dans la maison blanche et mange une pomme rouge avec un ami",
    "target": "the black cat sleeps in a white house and eats one red apple with his friend",
}
CONFIG: dict[str, Any] = {
    "model_type": "marian",
    "activation_function": "swish",
    "scale_embedding": True,
    "d_model": 16,
}
CONFIG |= {"encoder_layers": 2, "decoder_layers": 3, "dropout": 0.1, "max_position_embeddings": 64, "eos_token_id": 0}
CONFIG |= {f"{side}_{key}": size for side in SIDES for key, size in (("attention_heads", 4), ("ffn_dim", 24))}
PARTS = ("q_proj", "k_proj", "v_proj", "out_proj")


def lay_out(folder: Path, tags: Sequence[str] = (), **changed: Any) -> dict[str, Any]:
    """Write the files of a model into a new folder; returns its config, of which some keys are changed."""
    folder.mkdir(parents=True)
    config = CONFIG | write_pieces(folder, tags) | changed
    (folder / "config.json").write_text(json.dumps(config))
    generation = {key: config[key] for key in ("pad_token_id", "decoder_start_token_id", "eos_token_id")}
    generation |= {"num_beams": 3, "max_length": 64, "bad_words_ids": [[config["pad_token_id"]]]}
    (folder / "generation_config.json").write_text(json.dumps(generation))
    (folder / "tokenizer_config.json").write_text('{"source_lang": "fra", "target_lang": "en"}')
    (folder / "README.md").write_text("---\nlanguage: fr\nlicense: cc-by-4.0\n---\nA toy.\n")
    save_file(draw(config), folder / "model.safetensors")
    return config


def write_pieces(folder: Path, tags: Sequence[str] = ()) -> dict[str, int]:
    """Write vocab.json and a SentencePiece model a side; the keys of config.json that they decide."""
    pieces = set[str]()
    for side, sentence in SENTENCES.items():
        model, words = io.BytesIO(), sentence.split()
        lines = [" ".join(words[at : at + 5]) for at in range(len(words))]
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, vocab_size=48, hard_vocab_limit=False, minloglevel=2
        )
        (folder / f"{side}.spm").write_bytes(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        pieces |= {processor.id_to_piece(number) for number in range(3, processor.get_piece_size())}
    listed = ["</s>", "<unk>", *sorted(pieces), *(f">>{tag}<<" for tag in tags), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: number for number, piece in enumerate(listed)}))
    size = len(listed)
    return {"vocab_size": size, "pad_token_id": size - 1, "decoder_start_token_id": size - 1}


def draw(config: dict[str, Any]) -> dict[str, Tensor]:
    """Random weights by their names; the padding's embedding is 0."""
    torch.manual_seed(1)
    width, hidden, weights = config["d_model"], config["encoder_ffn_dim"], dict[str, Tensor]()
    for side, names in {"encoder": ["self_attn"], "decoder": ["self_attn", "encoder_attn"]}.items():
        for number in range(config[f"{side}_layers"]):
            shapes = {f"{name}.{part}": (width, width) for name in names for part in PARTS}
            shapes |= {f"{name}_layer_norm": (width,) for name in (*names, "final")}
            for name, shape in (shapes | {"fc1": (hidden, width), "fc2": (width, hidden)}).items():
                at = f"model.{side}.layers.{number}.{name}"
                weights[f"{at}.weight"] = torch.randn(shape) / shape[-1] ** 0.5 + (len(shape) == 1)
                weights[f"{at}.bias"] = 0.4 * torch.randn(shape[0])
    weights["model.shared.weight"] = 0.5 * torch.randn(config["vocab_size"], width)
    weights["model.shared.weight"][config["pad_token_id"]] = 0
    weights["final_logits_bias"] = torch.randn(1, config["vocab_size"])
    return weights


def logits(w: dict[str, Tensor], config: dict[str, Any], source: Sequence[int], target: Sequence[int]) -> Tensor:
    """The scores of each next piece, of one sentence with its last piece </s> and its target with the first <pad>."""
    width, heads, activation = config["d_model"], config["encoder_attention_heads"], config["activation_function"]

    def embed(pieces: Sequence[int]) -> Tensor:
        angles = torch.arange(len(pieces))[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        return w["model.shared.weight"][list(pieces)] * width**0.5 + torch.cat((angles.sin(), angles.cos()), dim=1)

    def linear(name: str, x: Tensor) -> Tensor:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def attend(name: str, x: Tensor, memory: Tensor, future: float = 0.0) -> Tensor:
        parts = zip(PARTS, (x, memory, memory), strict=False)
        query, key, value = (linear(f"{name}.{part}", y).view(len(y), heads, -1).transpose(0, 1) for part, y in parts)
        scores = query @ key.transpose(1, 2) / math.sqrt(width / heads)
        scores += torch.full(scores.shape[1:], future).triu(1) if future else 0
        return normed(name, x + linear(f"{name}.out_proj", (scores.softmax(2) @ value).transpose(0, 1).flatten(1)))

    def normed(name: str, x: Tensor) -> Tensor:
        centred = x - x.mean(1, keepdim=True)
        unit = centred / (centred.pow(2).mean(1, keepdim=True) + 1e-5).sqrt()
        return unit * w[f"{name}_layer_norm.weight"] + w[f"{name}_layer_norm.bias"]

    def feed_forward(at: str, x: Tensor) -> Tensor:
        inner = linear(f"{at}.fc1", x)
        inner = inner * inner.sigmoid() if activation == "swish" else getattr(F, activation)(inner)
        return normed(f"{at}.final", x + linear(f"{at}.fc2", inner))

    x, y = embed(source), embed(target)
    for at in (f"model.encoder.layers.{number}" for number in range(config["encoder_layers"])):
        x = feed_forward(at, attend(f"{at}.self_attn", x, x))
    for at in (f"model.decoder.layers.{number}" for number in range(config["decoder_layers"])):
        y = attend(f"{at}.self_attn", y, y, -math.inf)
        y = feed_forward(at, attend(f"{at}.encoder_attn", y, x))
    return y @ w["model.shared.weight"].T + w["final_logits_bias"][0]
