"""The folder in work/ where a training keeps its states, and what must be the same for it to resume from them."""

import hashlib
import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..common.files import sha256

OPEN = "open"  # folder of a state from which a longer training goes on
LATE = ("training.updates", "training.patience", "learning.schedule.decay")  # may leave the first updates as they are
NEUTRAL = ("console", "tracking")  # modules that shape no result


def state_folder(system: str, params: dict[str, Any], inputs: Iterable[Path]) -> Path:
    """`work/train/<system>-<digest>`, where a training with these parameters and inputs keeps its states.

    A longer one has the same. Paths count relative to the working directory: a copy of the project elsewhere has the
    same digest.
    """
    early = {name: value for name, value in params.items() if name not in LATE}
    paths = [file for path in inputs for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    sums = [f"{file.as_posix()} {sha256(file)}" for file in paths if file.is_file()]
    return Path("work/train", f"{system}-{digest([early, sums])}")


def digest(value: Any) -> str:
    """16 digits that tell a value, of what JSON knows, from others."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def drop_states(system: str, summary: Path) -> None:
    """Drop the states of the training that wrote the file `summary`, a copy of which lies in their folder.

    What a longer training needs stays, and `summary`; but only of this training, not of others that have finished.
    """
    for copy in Path("work/train").glob(f"{system}-*/{summary.name}"):
        is_this = copy.read_bytes() == summary.read_bytes()
        for path in copy.parent.iterdir():
            if path.is_dir() and not is_this:
                shutil.rmtree(path)
            elif path.is_file() and path != copy:
                path.unlink()


def made_by(device: str, precision: str) -> dict[str, str]:
    """The code now loaded, the libraries that compute, the device and the precision, all of which shape the weights.

    It stands in the states in work/, never in an output.
    """
    versions: dict[str, str] = {name: sys.modules[name].__version__ for name in ("numpy", "torch")}
    # By spec: `python -m stages.train` is called __main__.
    specs = [spec for module in list(sys.modules.values()) if (spec := getattr(module, "__spec__", None))]
    ours = {spec.name: spec.origin for spec in specs if spec.origin and is_ours(*spec.name.split("."))}
    sums = "".join(f"{name} {sha256(Path(ours[name]))}\n" for name in sorted(ours))
    code = hashlib.sha256(sums.encode()).hexdigest()
    return {"code": code, **versions, "device": device, "precision": precision}


def is_ours(room: str, name: str = "", *_: str) -> bool:
    """Whether a module is one of this project and may shape a result, by the parts of its name."""
    return room in ("pipeline", "stages") and name not in NEUTRAL
