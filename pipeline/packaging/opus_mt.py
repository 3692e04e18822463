"""A model of OPUS-MT, which Marian trained and the Hugging Face hub keeps, as a package.

It is `transformer_postnorm` with its width in another order: theirs has all sines of the positions before the cosines,
ours has them by turns. So the width is permuted in all that reads or writes it; heads and hidden units stay.
"""

import pickle
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jinja2 import Environment, StrictUndefined
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from ..common import files
from ..common.files import DataError
from ..common.params import nearest, stored_section
from ..compute import ids, weights
from ..decoding.settings import Decoding
from ..languages import codes
from ..models.transformer_postnorm import Arch, Model
from ..vocabularies import marian
from ..vocabularies.vocabulary import Vocabulary
from . import ctranslate2_form, package, sealed

NEEDED = "config.json", "vocab.json", "source.spm", "target.spm"
OPTIONAL = "generation_config.json", "tokenizer_config.json", "README.md"
WEIGHTS = "model.safetensors", "pytorch_model.bin"  # the first that is there
EXPECTED = "a model of OPUS-MT, as the Hugging Face hub has it"
TAG = re.compile(">>(.+)<<")
LICENCE = re.compile(r"---\n(?:.*\n)*?license: *[\"']?([\w.-]+)")
# Keys of config.json that have one value here, which is that of transformers where they are missing.
ONLY = dict.fromkeys(("normalize_before", "normalize_embedding", "add_final_layer_norm"), False)
ONLY |= dict.fromkeys(("static_position_embeddings", "share_encoder_decoder_embeddings", "tie_word_embeddings"), True)
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
USUAL: dict[str, Any] = {"activation_function": "gelu", "dropout": 0.1, "attention_dropout": 0.0}
USUAL |= {"activation_dropout": 0.0, "max_position_embeddings": 1024, "max_length": 512, "bad_words_ids": []}
USUAL |= {"num_beams": 1, "length_penalty": 1.0, "no_repeat_ngram_size": 0}
ARCH = {"width": "d_model", "heads": "encoder_attention_heads", "feed_forward": "encoder_ffn_dim"}
ARCH |= {name: name for name in ("encoder_layers", "decoder_layers", "dropout", "attention_dropout")}
ARCH |= {"feed_forward_dropout": "activation_dropout"}
LAYERS = {  # ours -> theirs, one above the other
    "self_attention.project_in": [f"self_attn.{part}_proj" for part in "qkv"],
    "self_attention.project_out": ["self_attn.out_proj"],
    "attention_residual.norm": ["self_attn_layer_norm"],
    "self_residual.norm": ["self_attn_layer_norm"],
    "cross_attention.project_in": [f"encoder_attn.{part}_proj" for part in "qkv"],
    "cross_attention.project_out": ["encoder_attn.out_proj"],
    "cross_residual.norm": ["encoder_attn_layer_norm"],
    "feed_forward.widen": ["fc1"],
    "feed_forward.narrow": ["fc2"],
    "feed_forward_residual.norm": ["final_layer_norm"],
}
COPIES = re.compile(r"model\.(shared|\w+\.embed_tokens)\.weight|lm_head\.weight")  # of one matrix
NO_SHARE = -30.0  # of the probability for PAD: their padding, with a share, is our BOS
COMPUTED = re.compile(r"model\.\w+\.embed_positions\.weight")


def build(out: Path, folder: Path, address: str, *, name: str, tag: str | None, pair: str | None) -> None:
    """Fill `out` with the package called `name` of a model whose files are in `folder`, and come from `address`.

    Raises: DataError naming a file that is missing or damaged, or every key that asks for what we cannot do.
    """
    path = next((folder / file for file in WEIGHTS if (folder / file).exists()), folder / WEIGHTS[0])
    for needed in (*(folder / file for file in NEEDED), path):
        if not needed.exists():
            raise DataError(f"{needed}: no such file; expected {EXPECTED}")
    config = read_config(folder)
    order, pieces = read_pieces(folder / "vocab.json", config)
    source, target = languages(folder, address, pieces, tag, pair)
    (vocabulary := out / sealed.VOCABULARY).mkdir()
    for side in ("source", "target"):
        shutil.copyfile(folder / f"{side}.spm", vocabulary / f"{side}.model")
    before = f">>{tag}<<" if tag else ""
    files.write_json(vocabulary / marian.FILE, {"pieces": pieces, "tag": before})
    arch, decoding = sections(config, folder / "config.json")
    net = Model(arch, source_size=len(order), target_size=len(order))
    load(net, path, order, config["vocab_size"])
    weights.save(out / sealed.WEIGHTS, net.state_dict())
    (out / sealed.CTRANSLATE2).mkdir()
    ctranslate2_form.save(net, Vocabulary.load(vocabulary), out / sealed.CTRANSLATE2)
    card = (folder / "README.md").read_text(encoding="utf-8") if (folder / "README.md").exists() else ""
    licence = match[1] if (match := LICENCE.match(card.partition("\n---\n")[0])) else "unknown"
    size = "base" if arch.width <= 512 else "big"  # of configs/, for a training that goes on from it
    about: dict[str, Any] = {"format": sealed.FORMAT, "system": name, "corpus": name, "vocabulary": "marian"}
    about |= {"model": "transformer_postnorm", "size": size, "arch": arch.model_dump(), "precision": "fp32"}
    about |= {"source_language": source, "target_language": target, "licence": licence, "validation": {}, "scores": {}}
    about["max_source_pieces"] = min(config["max_length"], config["max_position_embeddings"]) - 1
    about |= {"decoding": decoding.model_dump(), "num_parameters": sum(map(torch.numel, net.parameters()))}
    files.write_json(out / sealed.CONFIG, sealed.Config.model_validate(about).model_dump())
    template = Path(__file__).with_name("imported.md.jinja").read_text(encoding="utf-8")
    facts = about | {"origin": address, "tag": before, "sha256": files.sha256(path)}
    text = Environment(undefined=StrictUndefined, trim_blocks=True).from_string(template).render(facts)
    files.write_lines(out / sealed.CARD, text.split("\n"))
    package.seal(out)


def read_config(folder: Path) -> dict[str, Any]:
    """The keys of config.json and, in place of some, of generation_config.json.

    Raises: DataError naming each key that asks for what we cannot do.
    """
    path, config = folder / "config.json", ONLY | USUAL
    for file in filter(Path.exists, (path, folder / "generation_config.json")):
        config |= {key: value for key, value in files.read_json(file).items() if value is not None}
    wanted = ONLY | {"model_type": "marian", "scale_embedding": True}
    wanted |= {f"decoder_{key}": config.get(f"encoder_{key}") for key in ("attention_heads", "ffn_dim")}
    wanted |= {"decoder_vocab_size": config.get("vocab_size")} if "decoder_vocab_size" in config else {}
    wanted |= {"bad_words_ids": [[config.get("pad_token_id")]]} if config["bad_words_ids"] else {}
    got = {key: config.get(key) for key in wanted}
    faults = [f"{key}: must be {wanted[key]!r}, got {got[key]!r:.60}" for key in wanted if got[key] != wanted[key]]
    if (kind := config["activation_function"]) not in ACTIVATIONS:
        faults.append(f"activation_function: is unknown, got {kind!r}{nearest(str(kind), ACTIVATIONS)}")
    if faults:
        raise DataError(f"{path}: {'; '.join(faults)}; expected {EXPECTED}")
    return config


def read_pieces(path: Path, config: dict[str, Any]) -> tuple[list[int], list[str]]:
    """Their ids in our order, the four special pieces first, and the names of the other pieces."""
    places = files.read_json(path)
    names = {number: piece for piece, number in places.items()}
    pad, start, end = (config.get(f"{key}_token_id") for key in ("pad", "decoder_start", "eos"))
    special = [pad, places.get("<unk>"), start, end]
    others = sorted(names.keys() - set(special))
    for number in (*special, *others):
        if number not in names or not 0 <= number < config["vocab_size"]:
            what = "<unk>, the special pieces of config.json and all others must have ids below its vocab_size"
            raise DataError(f"{path}: {what}, got {number}; expected {EXPECTED}")
    return [*special, *others], [names[number] for number in others]


def languages(folder: Path, address: str, pieces: Sequence[str], tag: str | None, pair: str | None) -> tuple[str, str]:
    """The codes of both, of `pair` (de-en) or else of tag, tokenizer and name (opus-mt-de-en).

    Raises: DataError if they are none, for a tag that the model lacks, or without one, not even "", if it has some.
    """
    known = [match[1] for match in map(TAG.fullmatch, pieces) if match]
    if tag not in (known or [None]) and tag != "":
        what = f"is not among the model's tags, got {tag!r}" if tag else "is missing, as the model has several"
        raise DataError(f"--tag: {what}{nearest(tag or '', known)}")
    path = folder / "tokenizer_config.json"
    stated = files.read_json(path) if path.exists() else {}
    source, target = f"-{pair or address.partition('@')[0]}".split("-")[-2:]
    if not pair:
        source, target = stated.get("source_lang") or source, tag or stated.get("target_lang") or target
    if not ((left := codes.tag(source)) and (right := codes.tag(target))):
        raise DataError(f"--languages: must be two codes, got '{source}-{target}'; expected such as de-en")
    return left, right


def sections(config: dict[str, Any], origin: Path) -> tuple[Arch, Decoding]:
    """The architecture, and the search with their beam and bound, which ends with as many translations as the beam."""
    arch = {ours: config.get(theirs) for ours, theirs in ARCH.items()}
    arch |= {"tied_embeddings": "all", "initialisation": {"kind": "xavier", "sublayer_gain": 1.0}}
    arch |= {"activation": ACTIVATIONS[config["activation_function"]], "norm_epsilon": 1e-5}  # torch's default
    decode = {"beam_size": config["num_beams"], "patience": 1.0, "max_length_factor": 0.0, "tokens_per_batch": 2000}
    decode |= {key: config[key] for key in ("length_penalty", "no_repeat_ngram_size")}
    decode["max_length_offset"] = config["max_length"] - 1  # they count the piece to start with
    return stored_section(Arch, arch, "", origin, EXPECTED), stored_section(Decoding, decode, "", origin, EXPECTED)


def load(net: nn.Module, path: Path, order: Sequence[int], vocab_size: int) -> None:
    """Give a network the weights in a file; `order` is that of the pieces.

    Raises: DataError if the file is damaged, or has other weights than its config.json says.
    """
    try:
        is_safe = path.suffix == ".safetensors"
        theirs = load_file(path) if is_safe else torch.load(path, map_location="cpu", weights_only=True)
    except (SafetensorError, pickle.UnpicklingError, RuntimeError, EOFError) as error:
        what = str(error).splitlines()[0]
        raise DataError(f"{path}: not a whole file of weights ({what:.100}); expected {EXPECTED}") from None
    theirs = {name: weight.float() for name, weight in theirs.items() if not COMPUTED.fullmatch(name)}
    stated = net.state_dict()
    width = stated["embeddings.target"].shape[1]
    matrices = [theirs.pop(name) for name in filter(COPIES.fullmatch, list(theirs))]
    bias = theirs.pop("final_logits_bias", torch.empty(0))
    if {matrix.shape for matrix in matrices} != {(vocab_size, width)} or bias.shape != (1, vocab_size):
        what = f"must have embeddings ({vocab_size}, {width}) and final_logits_bias (1, {vocab_size}) by config.json"
        raise DataError(f"{path}: {what}; expected {EXPECTED}")
    ours = {"embeddings.target": matrices[0][order], "embeddings.bias": bias[0, order]}
    ours["embeddings.bias"][ids.PAD] = NO_SHARE
    for name in stated.keys() - ours.keys():
        side, number, *layer, kind = name.split(".")
        names = [f"model.{side}.layers.{number}.{part}.{kind}" for part in LAYERS[".".join(layer)]]
        if theirs.keys() >= {*names}:
            ours[name] = torch.cat([theirs.pop(part) for part in names])
    if fault := weights.misfit(ours | theirs, stated):
        raise DataError(f"{path}: {fault}; expected what config.json says")
    lanes = torch.arange(width).view(2, -1).T.flatten()  # the place in theirs of each number of ours
    for name, weight in ours.items():
        if name == "embeddings.target" or name.endswith(("project_in.weight", "widen.weight")):
            ours[name] = weight[:, lanes]
        elif not name.endswith(("project_in.bias", "widen.bias", "embeddings.bias")):
            ours[name] = weight[lanes]
    net.load_state_dict(ours)
