"""The uniform average of checkpoints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from ..common.params import Section
from ..compute import weights


class Averaging(Section):
    """Section `average`: how many of the last checkpoints."""

    checkpoints: Annotated[int, Field(gt=0, le=1000)]


def names_to_average(kept: Mapping[str, list[str]], stopped: str, number: int) -> list[str]:
    """The last checkpoints of those `kept`; of a training `stopped` by patience, the last up to its best update."""
    if stopped != "patience" or not kept["best"]:
        return kept["last"][-number:]
    best = kept["best"][0]
    return sorted(name for name in {*kept["last"], *kept["best"]} if name <= best)[-number:]


def average_checkpoints(paths: list[Path]) -> dict[str, np.ndarray]:
    """The mean of every weight over the files, summed in fp64 in the order given.

    Source: Vaswani et al. 2017, section 6.1.
    Raises: DataError if one is missing or was changed.
    """
    checkpoints = (weights.read(path, "a checkpoint of stage train", framework="np")[0] for path in paths)
    total = {name: weight.astype(np.float64) for name, weight in next(checkpoints).items()}
    for arrays in checkpoints:
        for name, weight in arrays.items():
            total[name] += weight
    return {name: (weight / len(paths)).astype(np.float32) for name, weight in total.items()}
