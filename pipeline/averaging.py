"""The uniform average of checkpoints."""

from pathlib import Path
from typing import Annotated

from pydantic import Field
from torch import Tensor

from pipeline.files import DataError
from pipeline.params import Section
from pipeline.training import checkpoint_file

Number = Annotated[int, Field(gt=0, le=1000)]


class Averaging(Section):
    """Section `average.<size>`: how many of the last checkpoints."""

    checkpoints: Number


def average_checkpoints(paths: list[Path]) -> dict[str, Tensor]:
    """The mean of every weight over the files, summed in fp64 in the order given.

    Source: Vaswani et al. 2017, section 6.1.
    Raises: DataError if a file is broken, its checksum does not match, a weight is not finite, or the files do not hold
        the same weights.
    """
    total: dict[str, Tensor] = {}
    for path in paths:
        weights, _ = checkpoint_file.load(path)
        if fault := next((name for name, weight in weights.items() if not weight.isfinite().all()), None):
            raise DataError(f"{path}: {fault} holds a number that is not finite; expected weights that training wrote")
        if total and {k: v.shape for k, v in weights.items()} != {k: v.shape for k, v in total.items()}:
            raise DataError(f"{path}: weights differ in name or shape from {paths[0]}; expected the same model")
        for name, weight in weights.items():
            total[name] = total[name].add_(weight) if name in total else weight.double()
    return {name: (weight / len(paths)).float() for name, weight in total.items()}
