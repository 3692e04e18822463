"""Our weights by the names that a peer has for them."""

from typing import NamedTuple

from torch import Tensor


class Names(NamedTuple):
    """What a peer calls the parts of a Transformer; `{side}` is encoder or decoder, `{number}` a layer's."""

    layer: str
    last_norm: str
    self_attention: tuple[str, str]  # and the norm before or after it
    cross_attention: tuple[str, str]
    projections: tuple[str, str, str, str]  # query, key, value, output
    feed_forward: tuple[str, str, str]  # widening, narrowing, norm


def renamed(weights: dict[str, Tensor], layers: int, names: Names) -> dict[str, Tensor]:
    """Both stacks of our `weights`."""
    found: dict[str, Tensor] = {}
    for side in ("encoder", "decoder"):
        if f"{side}_norm.weight" in weights:
            found |= pair(weights, f"{side}_norm", names.last_norm.format(side=side))
        for number in range(layers):
            found |= layer(weights, f"{side}.{number}.", names.layer.format(side=side, number=number), names)
    return {name: weight.clone() for name, weight in found.items()}


def layer(weights: dict[str, Tensor], ours: str, theirs: str, names: Names) -> dict[str, Tensor]:
    """One layer, whose names begin with `ours` here and with `theirs` there."""
    is_encoder = ours.startswith("encoder")
    uses = {"self_attention": (names.self_attention, "attention_residual" if is_encoder else "self_residual")}
    if not is_encoder:
        uses["cross_attention"] = (names.cross_attention, "cross_residual")
    found: dict[str, Tensor] = {}
    *inward, outward = names.projections
    for name, ((other, norm), residual) in uses.items():
        for kind in ("weight", "bias"):
            parts = weights[f"{ours}{name}.project_in.{kind}"].chunk(3)
            found |= {f"{theirs}{other}.{role}.{kind}": part for role, part in zip(inward, parts, strict=True)}
        found |= pair(weights, f"{ours}{name}.project_out", f"{theirs}{other}.{outward}")
        found |= pair(weights, f"{ours}{residual}.norm", f"{theirs}{norm}")
    here = ("feed_forward.widen", "feed_forward.narrow", "feed_forward_residual.norm")
    for own, other in zip(here, names.feed_forward, strict=True):
        found |= pair(weights, f"{ours}{own}", f"{theirs}{other}")
    return found


def pair(weights: dict[str, Tensor], ours: str, theirs: str) -> dict[str, Tensor]:
    """A matrix (or gain) and its bias."""
    return {f"{theirs}.{kind}": weights[f"{ours}.{kind}"] for kind in ("weight", "bias")}
