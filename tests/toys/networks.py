"""A small network of every model, for what must hold of all of them."""

from importlib import import_module
from typing import Any

import pytest
import torch
from torch import nn

from pipeline.compute import ids
from pipeline.models import interface

SOURCE_SIZE, TARGET_SIZE = 13, 11
TRANSFORMER: dict[str, Any] = {
    "encoder_layers": 2,
    "decoder_layers": 3,
    "width": 16,
    "heads": 4,
    "feed_forward": 32,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "feed_forward_dropout": 0.0,
    "tied_embeddings": "none",
    "initialisation": {"kind": "xavier", "sublayer_gain": 1.0},
}
RECURRENT = {"embedding": 6, "width": 8, "dropout": 0.0, "output_dropout": 0.0, "teacher_forcing": 1.0}
NAMES = interface.names()
ARCHS: dict[str, dict[str, Any]] = {  # a model that is not here has its own in its test, as `TOY`
    "rnn_encdec": RECURRENT
    | {"context_layer": False, "start_layer": True, "maxout": 5, "reset_gate": "before", "reverse_source": True},
    "gru_attention": RECURRENT
    | {"encoder_width": 7, "bidirectional": False, "scope": {"kind": "global"}}
    | {"attention": {"kind": "additive", "size": 5}},
    "bilstm_attention": RECURRENT | {"encoder_width": 4, "initialisation": "torch"},
    "rnnsearch": RECURRENT | {"alignment": 9, "maxout": 5, "reset_gate": "before"},
    "transformer_postnorm": TRANSFORMER,
    "transformer_prenorm": TRANSFORMER,
}
needs_bf16_products = pytest.mark.skipif(
    not (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()),
    reason="oneDNN has no products in bf16 for this processor",
)
# Sentences of 4, 2 and no pieces, with their EOS.
SOURCE = torch.tensor([[5, 6, 7, 12, ids.EOS], [8, 4, ids.EOS, ids.PAD, ids.PAD], [ids.EOS] + [ids.PAD] * 4])
TARGET = torch.tensor([[ids.BOS, 4, 5, 6, 7, 8], [ids.BOS, 9, 4, ids.PAD, ids.PAD, ids.PAD], [ids.BOS, 10, 9, 8, 7, 6]])


def arch(name: str) -> dict[str, Any]:
    """The toy architecture of a model."""
    return ARCHS[name] if name in ARCHS else dict(import_module(f"tests.pipeline.models.test_{name}").TOY)


def build(name: str, *, source_size: int = SOURCE_SIZE, target_size: int = TARGET_SIZE, **changed: Any) -> Any:
    """The model called `name`, with weights large enough that each of them matters, in `eval()`."""
    module = interface.find(name)
    torch.manual_seed(1)
    model = module.Model(
        module.Arch.model_validate(arch(name) | changed), source_size=source_size, target_size=target_size
    )
    for weight_name, weight in model.named_parameters():
        nn.init.normal_(weight, mean=float("norm.weight" in weight_name), std=0.4)
    return model.eval()
