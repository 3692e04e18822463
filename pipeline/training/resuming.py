"""The folder in work/ where a training keeps its states, and what must be the same for it to resume from them."""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pipeline.files import sha256

NO_RESULTS = ("cli", "events", "progress", "terminal", "tracking", "training_display")  # modules that shape none


def digest(values: Any, inputs: Iterable[Path]) -> str:
    """16 hexadecimal digits of a SHA-256 over values, which JSON can hold, and over files and all files of folders.

    Paths count relative to the working directory: a copy of the project elsewhere has the same digest.
    """
    total = hashlib.sha256(json.dumps(values).encode())
    for path in inputs:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                total.update(f"{file.as_posix()} {sha256(file)}\n".encode())
    return total.hexdigest()[:16]


def state_folder(system: str, params: dict[str, Any], inputs: Iterable[Path]) -> Path:
    """Where the training of a system with these parameters and inputs keeps its states, until it is averaged."""
    return Path("work/train", f"{system}-{digest(params, inputs)}")


def folders_of(training: Path, system: str) -> Iterator[Path]:
    """The state folders of the finished training that wrote the summary `training`: a copy of it lies there."""
    for copy in Path("work/train").glob(f"{system}-*/training.json"):
        if copy.read_bytes() == training.read_bytes():
            yield copy.parent


def made_by(device: str, precision: str) -> dict[str, str]:
    """All else that is in the weights: the code now loaded, the libraries that compute, the device and the precision.

    It stands beside a state in work/, never in an output.
    """
    versions: dict[str, str] = {
        name: sys.modules[name].__version__ for name in ("numpy", "torch") if name in sys.modules
    }
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
    return room in ("pipeline", "stages") and name.split(".")[0] not in NO_RESULTS
