"""The folder in work/ where a training keeps its states, and what must be the same for it to resume from them."""

import hashlib
import json
import re
import shutil
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..common.files import sha256
from ..common.params import flatten

OPEN = "open"  # folder of a state from which a longer training goes on
SUMMARY = "training.json"  # lies in the folder once the training has finished
LATE = ("training.updates", "training.patience", "learning.schedule.decay")  # may leave the first updates as they are
FINISHED_SECONDS = 3600.0  # after which the states of a finished training are dropped
SHAPING = re.compile(r"(pipeline|stages)\b(?!\.(console|tracking)\b)")  # modules that may shape a result


def state_folder(system: str, params: dict[str, Any], inputs: Iterable[Path]) -> Path:
    """`work/train/<system>-<digest>`, where a training with these parameters and inputs keeps its states.

    A longer one has the same. Paths count relative to the working directory: a copy of the project elsewhere has the
    same digest.
    """
    early = {name: value for name, value in flatten(params).items() if name not in LATE}
    paths = [file for path in inputs for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    sums = [f"{file.as_posix()} {sha256(file)}" for file in paths if file.is_file()]
    return Path("work/train", f"{system}-{digest([early, sums])}")


def digest(value: Any) -> str:
    """16 digits that tell a value, of what JSON knows, from others."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def drop_finished(own: Path) -> None:
    """Drop the states of trainings that finished more than an hour ago, since DVC has recorded their outputs.

    What a longer training needs stays, unless runs/ has the outputs of another one. That in the folder `own` goes on:
    until it ends it is no finished one.
    """
    for summary in Path("work/train").glob(f"*/{SUMMARY}"):
        folder, trained = summary.parent, Path("runs", summary.parent.name.rpartition("-")[0], "train", SUMMARY)
        with suppress(FileNotFoundError):  # another training drops the same
            if folder == own:
                summary.unlink()
            elif time.time() - summary.stat().st_mtime < FINISHED_SECONDS:
                continue
            elif not trained.exists() or trained.read_bytes() != summary.read_bytes():
                shutil.rmtree(folder)
            else:
                for path in {*folder.iterdir()} - {summary, folder / OPEN}:
                    path.unlink()


def made_by(device: str, precision: str) -> dict[str, str]:
    """The code now loaded, the libraries that compute, the device and the precision, all of which shape the weights.

    It stands in the states in work/, never in an output.
    """
    versions: dict[str, str] = {name: sys.modules[name].__version__ for name in ("numpy", "torch")}
    # By spec: `python -m stages.train` is called __main__.
    specs = [spec for module in list(sys.modules.values()) if (spec := getattr(module, "__spec__", None))]
    ours = {spec.name: spec.origin for spec in specs if spec.origin and SHAPING.match(spec.name)}
    sums = "".join(f"{name} {sha256(Path(ours[name]))}\n" for name in sorted(ours))
    code = hashlib.sha256(sums.encode()).hexdigest()
    return {"code": code, **versions, "device": device, "precision": precision}
