"""The folder in work/ where a training keeps its states, and what must be the same for it to resume from them."""

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..common.files import sha256

NEUTRAL = ("cli", "progress", "terminal", "tracking")  # modules that shape no result


def state_folder(system: str, params: dict[str, Any], inputs: Iterable[Path]) -> Path:
    """`work/train/<system>-<digest>`, where a training with these parameters and inputs keeps its states.

    Paths count relative to the working directory: a copy of the project elsewhere has the same digest.
    """
    digest = hashlib.sha256(json.dumps(params).encode())
    for path in inputs:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(f"{file.as_posix()} {sha256(file)}\n".encode())
    return Path("work/train", f"{system}-{digest.hexdigest()[:16]}")


def finished_folders(system: str, summary: Path) -> list[Path]:
    """The state folders of the training that wrote the file `summary`: a copy of it lies there."""
    copies = Path("work/train").glob(f"{system}-*/{summary.name}")
    return [copy.parent for copy in copies if copy.read_bytes() == summary.read_bytes()]


def made_by(device: str, precision: str) -> dict[str, str]:
    """The code now loaded, the libraries that compute, the device and the precision, all of which shape the weights.

    It stands in the states in work/, never in an output.
    """
    versions: dict[str, str] = {name: sys.modules[name].__version__ for name in ("numpy", "torch")}
    return {"code": code_digest(), **versions, "device": device, "precision": precision}


def code_digest() -> str:
    """Hexadecimal SHA-256 over every module of ours that has been imported, but for those that shape no result."""
    # By spec: `python -m stages.train` is called __main__.
    specs = [spec for module in list(sys.modules.values()) if (spec := getattr(module, "__spec__", None))]
    ours = {spec.name: spec.origin for spec in specs if spec.origin and is_ours(spec.name)}
    return hashlib.sha256("".join(f"{name} {sha256(Path(ours[name]))}\n" for name in sorted(ours)).encode()).hexdigest()


def is_ours(module: str) -> bool:
    """Whether a module is one of this project and may shape a result."""
    room, _, name = module.partition(".")
    return room in ("pipeline", "stages") and name.split(".")[0] not in NEUTRAL
