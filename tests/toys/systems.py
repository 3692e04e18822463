"""A system as `dvc repro` leaves it, small and with random weights, for what translates with one."""

import contextlib
from pathlib import Path
from typing import Any

import torch
from torch import nn

from pipeline.common import files, parts
from pipeline.compute import weights
from pipeline.models import interface
from pipeline.vocabularies import subwords
from pipeline.vocabularies.vocabulary import digest
from stages import encode
from tests.toys import networks, samples
from tests.toys.samples import TRAINING

SYSTEM = "toy-bpe_toy-transformer_prenorm-tiny-1"
MAX_LENGTH = 16  # of a source in training, EOS counted
WORDS = "le chat noir dort dans la maison blanche et mange une pomme rouge avec un ami"
TRAIN = [WORDS[4 * i :] for i in range(12)]
PARTS = {
    "validation": ["le chat dort"],
    "test": ["le chat noir", "", "une pomme rouge avec un ami", "   ", "dort", "le chat noir dort", "ξένος", WORDS],
    "other": ["la maison blanche", "dort"],
}
SUBWORDS: dict[str, Any] = {
    "kind": "bpe",
    "size": 60,
    "joint": True,
    "byte_fallback": False,
    "split_digits": True,
    "character_coverage": 1.0,
    "sentences": 1000,
    "seed": 1,
}
PARAMS = """\
build: {corpora: [toy], vocabularies: [bpe_toy], models: [transformer_prenorm], sizes: [tiny], seeds: [1]}
vocabularies: {bpe_toy: {}}
decode:
  {beam_size: 3, length_penalty: 0.6, patience: 0.0, no_repeat_ngram_size: 0, max_length_factor: 1.5,
  max_length_offset: 5, tokens_per_batch: 60}
attend: {sentences: 3, min_words: 2, max_words: 6, max_length_offset: 7, seed: 1}
"""


def lay_out(root: Path, model: str = "transformer_prenorm") -> str:
    """Write params.yaml, the parts, a vocabulary and a random model of a name below `root`; the system's id."""
    (root / "params.yaml").write_text(PARAMS)
    for corpus in ("toy", "novel"):
        files.write_lines(root / f"corpora/{corpus}.yaml", ["{decode: {}, tags: {}, start: {}}"])
    split, pieces, system = root / "data/split/toy", root / "data/vocabulary/toy-bpe_toy", f"toy-bpe_toy-{model}-tiny-1"
    if not split.exists():
        samples.write_bitexts(split, train=[(line, line) for line in TRAIN])
        for part, lines in PARTS.items():
            parts.write(split, part, zip(lines, lines, strict=True))
        pieces.mkdir(parents=True)
        subwords.train(subwords.Subwords.model_validate(SUBWORDS), split, {}, pieces, "vocabularies.bpe_toy")
        with contextlib.chdir(root):
            encode.main("toy-bpe_toy")
    module = interface.find(model)
    arch = module.Arch.model_validate(networks.arch(model))
    torch.manual_seed(1)
    net = module.Model(arch, source_size=60, target_size=60)
    for name, weight in net.named_parameters():  # strong enough that sources differ in their translations
        if weight.dim() > 1:
            nn.init.normal_(weight, std=0.8 if "embed" in name else 0.4)
    average = root / "runs" / system / "average"
    average.mkdir(parents=True)
    weights.save(average / "model.safetensors", net.state_dict())
    sections = {"training": TRAINING | {"max_length": MAX_LENGTH}, "arch": arch.model_dump()}
    training = {"vocabulary": digest(pieces), "precision": "fp32", "params": sections}
    files.write_json(root / "runs" / system / "train/training.json", training)
    return system
