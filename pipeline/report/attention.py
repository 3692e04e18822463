"""Attention of a model while it translated a sentence, as the page's script draws it."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

KINDS = {  # the first word of an attention's name -> what it is, what its rows are, what its columns are
    "cross": ("cross-attention", "target", "source"),
    "attention": ("attention", "target", "source"),
    "encoder": ("encoder self-attention", "source", "source"),
    "decoder": ("decoder self-attention", "target", "read"),
}


def sentence(record: Mapping[str, Any], title: str) -> dict[str, Any]:
    """A sentence of the stage `attend`: its pieces and a map for each attention, the last layer first."""
    source, target = record["source"], record["target"]
    last_first = [*record["weights"]][::-1]
    names = sorted(last_first, key=lambda name: [*KINDS].index(name.split()[0]))
    return {
        "title": title,
        "text": record["text"],
        "source": source,
        "target": target,
        "read": ["<s>", *target[:-1]],
        "maps": [heat_map(name, np.array(record["weights"][name])) for name in names],
    }


def heat_map(name: str, weights: Any) -> dict[str, Any]:
    """One attention; its heads in bytes, after their mean if there are several.

    Shapes: weights (H, rows, columns).
    """
    kind, _, layer = name.partition(" ")
    title, rows, columns = KINDS[kind]
    heads = {f"head {number}": head for number, head in enumerate(weights, 1)}
    heads = {"mean of heads": weights.mean(axis=0)} | (heads if len(heads) > 1 else {})
    return {
        "title": f"{title}, layer {layer}" if layer else title,
        "rows": rows,
        "columns": columns,
        "heads": {head: encoded(weights) for head, weights in heads.items()},
    }


def encoded(weights: Any) -> str:
    """Weights from 0 to 1 as bytes in base64: a third of their JSON."""
    return base64.b64encode((weights * 255).round().astype(np.uint8).tobytes()).decode()
