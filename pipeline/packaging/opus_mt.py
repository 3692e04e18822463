"""A model of OPUS-MT, which Marian trained and the Hugging Face hub keeps, as a package.

It is `transformer_postnorm` with its width in another order: theirs has all sines of the positions before the cosines,
ours has them by turns. So the width is permuted in all that reads or writes it; heads and hidden units stay.
"""

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from jinja2 import Environment, StrictUndefined
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from ..common import files
from ..common.files import DataError
from ..common.params import nearest
from ..compute import ids, weights
from ..decoding.settings import Decoding
from ..languages import codes
from ..models.transformer_postnorm import Arch, Model
from ..vocabularies import marian
from ..vocabularies.subwords import Pieces
from ..vocabularies.vocabulary import Vocabulary
from . import ctranslate2_form, package, sealed
from .opus_mt_config import EXPECTED, Id, MarianConfig, Tokenizer

NEEDED = "config.json", "vocab.json", "source.spm", "target.spm"
OPTIONAL = "generation_config.json", "tokenizer_config.json", "README.md"
WEIGHTS = "model.safetensors", "pytorch_model.bin"  # the first that is there
LFS = b"version https://git-lfs"
TAG = re.compile(">>(.+)<<")
LICENCE = re.compile(r"---\n(?:.*\n)*?license: *[\"']?([\w.-]+)")
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
SHARED = "model.shared.weight"
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
        with needed.open("rb") as file:
            if file.read(len(LFS)) == LFS:
                raise DataError(f"{needed}: is a pointer that `git lfs pull` replaces; expected {EXPECTED}")
    config = MarianConfig.read(folder)
    order, pieces = read_pieces(folder / "vocab.json", config)
    source, target = languages(folder, address, pieces, tag, pair)
    (vocabulary := out / sealed.VOCABULARY).mkdir()
    for side in ("source", "target"):
        Pieces.load(folder / f"{side}.spm")
        shutil.copyfile(folder / f"{side}.spm", vocabulary / f"{side}.model")
    before = f">>{tag}<<" if tag else ""
    files.write_json(vocabulary / marian.FILE, {"pieces": pieces, "tag": before})
    arch, decoding = sections(config)
    net = Model(arch, source_size=len(order), target_size=len(order))
    load(net, path, order, config.vocab_size)
    weights.save(out / sealed.WEIGHTS, net.state_dict())
    (out / sealed.CTRANSLATE2).mkdir()
    ctranslate2_form.save(net, Vocabulary.load(vocabulary), out / sealed.CTRANSLATE2)
    card = (folder / "README.md").read_text("utf-8", errors="replace") if (folder / "README.md").exists() else ""
    licence = match[1] if (match := LICENCE.match(card.partition("\n---\n")[0])) else "unknown"
    size = "base" if arch.width <= 512 else "big"  # of configs/, for a training that goes on from it
    about: dict[str, Any] = {"format": sealed.FORMAT, "system": name, "corpus": name, "vocabulary": "marian"}
    about |= {"model": "transformer_postnorm", "size": size, "arch": arch.model_dump(), "precision": "fp32"}
    about |= {"source_language": source, "target_language": target, "licence": licence, "validation": {}, "scores": {}}
    about["max_source_pieces"] = min(config.max_length, config.max_position_embeddings) - 1
    about |= {"decoding": decoding.model_dump(), "num_parameters": sum(map(torch.numel, net.parameters()))}
    files.write_json(out / sealed.CONFIG, sealed.Config.model_validate(about).model_dump())
    template = Path(__file__).with_name("imported.md.jinja").read_text(encoding="utf-8")
    facts = about | {"origin": address, "tag": before, "sha256": files.sha256(path)}
    text = Environment(undefined=StrictUndefined, trim_blocks=True).from_string(template).render(facts)
    files.write_lines(out / sealed.CARD, text.split("\n"))
    package.seal(out)


def read_pieces(path: Path, config: MarianConfig) -> tuple[list[int], list[str]]:
    """Their ids in our order, the four special pieces first, and the names of the other pieces.

    Raises: DataError if an id has no piece or several, or is beyond those of the model.
    """
    places = sealed.parse(path, dict[str, Id], EXPECTED)
    special = pad, start, end = config.pad_token_id, config.decoder_start_token_id, config.eos_token_id
    got, wanted = Counter(places.values()), Counter({*range(config.vocab_size), *special})
    if odd := (got - wanted) + (wanted - got):
        what = f"must have one piece for each id below {config.vocab_size}, got {got[min(odd)]} for {min(odd)}"
        raise DataError(f"{path}: {what}; expected {EXPECTED}")
    if "<unk>" not in places:
        raise DataError(f"{path}: <unk>: is missing; expected {EXPECTED}")
    names = {number: piece for piece, number in places.items()}
    first = [pad, places["<unk>"], start, end]
    others = sorted(names.keys() - set(first))
    return [*first, *others], [names[number] for number in others]


def languages(folder: Path, address: str, pieces: Sequence[str], tag: str | None, pair: str | None) -> tuple[str, str]:
    """The codes of both, of `pair` (de-en) or else of tag, tokenizer and name (opus-mt-de-en).

    Raises: DataError if they are none, for a tag that the model lacks, or without one, not even "", if it has some.
    """
    known = [match[1] for match in map(TAG.fullmatch, pieces) if match]
    if tag not in (known or [None]) and tag != "":
        what = f"is not among the model's tags, got {tag!r}" if tag else "is missing, as the model has several"
        raise DataError(f"--tag: {what}{nearest(tag or '', known)}")
    path = folder / "tokenizer_config.json"
    stated = sealed.parse(path, Tokenizer, EXPECTED) if path.exists() else Tokenizer()
    source, target = f"-{pair or address.partition('@')[0]}".split("-")[-2:]
    if not pair:
        source, target = stated.source_lang or source, tag or stated.target_lang or target
    if not ((left := codes.tag(source)) and (right := codes.tag(target))):
        raise DataError(f"--languages: must be two codes, got '{source}-{target}'; expected such as de-en")
    return left, right


def sections(config: MarianConfig) -> tuple[Arch, Decoding]:
    """The architecture, and the search with their beam and bound, which ends with as many translations as the beam."""
    arch = {ours: getattr(config, theirs) for ours, theirs in ARCH.items()} | {"norm_epsilon": 1e-5}  # torch's default
    arch |= {"activation": "silu" if config.activation_function == "swish" else config.activation_function}
    arch |= {"tied_embeddings": "all", "initialisation": {"kind": "xavier", "sublayer_gain": 1.0}}
    decoding = Decoding(
        beam_size=config.num_beams,
        length_penalty=config.length_penalty,
        patience=1.0,
        no_repeat_ngram_size=config.no_repeat_ngram_size,
        max_length_factor=0.0,
        max_length_offset=config.max_length - 1,  # they count the piece to start with
        tokens_per_batch=2000,
    )
    return Arch.model_validate(arch), decoding


def read_weights(path: Path) -> dict[str, Tensor]:
    """The weights in a file by their names, in fp32.

    Raises: DataError if the file is damaged, or holds something else.
    """
    try:
        is_safe = path.suffix == ".safetensors"
        theirs = load_file(path) if is_safe else torch.load(path, map_location="cpu", weights_only=True)
        return {name: weight.float() for name, weight in theirs.items() if not COMPUTED.fullmatch(name)}
    except (SafetensorError, UnpicklingError, RuntimeError, EOFError, AttributeError, TypeError) as error:
        what = f"not a whole file of weights ({type(error).__name__})"
        raise DataError(f"{path}: {what}; expected {EXPECTED}") from None


def load(net: nn.Module, path: Path, order: Sequence[int], vocab_size: int) -> None:
    """Give a network the weights in a file; `order` is that of the pieces.

    Raises: DataError if the file is damaged, or has other weights than its config.json says.
    """
    theirs, stated = read_weights(path), net.state_dict()

    def take(name: str, *shape: int) -> Tensor:
        weight = theirs.pop(name, torch.empty(0))
        if weight.shape != shape:
            what = f"must be {shape} by config.json, got {tuple(weight.shape) if len(weight) else 'none'}"
            raise DataError(f"{path}: {name}: {what}; expected {EXPECTED}")
        return weight

    width = stated["embeddings.target"].shape[1]
    matrix, *_ = [take(name, vocab_size, width) for name in filter(COPIES.fullmatch, [*theirs])] or [
        take(SHARED, vocab_size, width)
    ]
    ours = {"embeddings.target": matrix[order], "embeddings.bias": take("final_logits_bias", 1, vocab_size)[0, order]}
    ours["embeddings.bias"][ids.PAD] = NO_SHARE
    for name in stated.keys() - ours.keys():
        side, number, *layer, kind = name.split(".")
        parts = LAYERS[".".join(layer)]
        rows, *columns = stated[name].shape
        shape = rows // len(parts), *columns
        ours[name] = torch.cat([take(f"model.{side}.layers.{number}.{part}.{kind}", *shape) for part in parts])
    if theirs:
        raise DataError(f"{path}: {min(theirs)}: must not be there by config.json; expected {EXPECTED}")
    lanes = torch.arange(width).view(2, -1).T.flatten()  # the place in theirs of each number of ours
    for name, weight in ours.items():
        if name == "embeddings.target" or name.endswith(("project_in.weight", "widen.weight")):
            ours[name] = weight[:, lanes]
        elif not name.endswith(("project_in.bias", "widen.bias", "embeddings.bias")):
            ours[name] = weight[lanes]
    net.load_state_dict(ours)
