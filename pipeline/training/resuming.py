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

from ..common.files import DataError, read_json, sha256
from ..common.params import flatten
from ..compute import weights

STATE, OPEN = "state.safetensors", "open"  # the newest state; the folder of one from which a longer training goes on
SUMMARY = "training.json"  # lies in the folder once the training has finished
LATE = ("training.updates", "training.patience", "learning.schedule.decay")  # may leave the first updates as they are
FINISHED_SECONDS = 3600.0  # after which the states of a finished training are dropped
IN_MODEL = re.compile(r"^(arch|learning)\.")  # of keys that configs/<model>.yaml has without it
SHAPING = re.compile(r"(pipeline|stages)\b(?!\.(console|tracking)\b)")  # modules that may shape a result


def identity(params: dict[str, Any], inputs: Iterable[Path], device: str, precision: str) -> dict[str, Any]:
    """All that shapes a training: parameters, inputs by their checksums, code and libraries. States hold it.

    Paths count relative to the working directory: a copy of the project elsewhere has the same.
    """
    paths = [file for path in inputs for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    sums = {file.as_posix(): sha256(file) for file in paths if file.is_file()}
    return {"params": params, "inputs": sums, "made_by": made_by(device, precision)}


def state_folder(system: str, identity: dict[str, Any]) -> Path:
    """`work/train/<system>-<digest>` of parameters and inputs, where a training keeps its states; a longer one too."""
    early = {name: value for name, value in flatten(identity["params"]).items() if name not in LATE}
    return Path("work/train", f"{system}-{digest([early, identity['inputs']])}")


def changes(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Differences between two identities of a system, the first perhaps in part: keys, folders read, what computes."""
    old, new = (flatten(given.get("params", now["params"])) for given in (before, now))
    keys = [name for name in old | new if old.get(name) != new.get(name)]
    values = [f"{IN_MODEL.sub('', name)} {old.get(name, 'none')} -> {new.get(name, 'none')}" for name in keys]
    sums = before.get("inputs", now["inputs"]).items() ^ now["inputs"].items()
    folders = sorted({"/".join(path.split("/")[:2]) for path, _ in sums})
    names = [name for name, value in before.get("made_by", {}).items() if now["made_by"].get(name) != value]
    return values + [f"{what} has changed" for what in (*folders, *names) if what != "threads"]


def left_behind(own: Path) -> tuple[Path, dict[str, Any]] | None:
    """The newest state of a system that its training in the folder `own` does not go on from: where, and about what."""
    paths = [*own.glob(f"{OPEN}/{STATE}"), *own.parent.glob(f"{own.name.rpartition('-')[0]}-*/{STATE}")]
    for path in sorted(paths, key=lambda path: (own in path.parents, path.stat().st_mtime), reverse=True):
        with suppress(DataError):
            return path.parent, weights.read(path, "a state")[1]
    if not (own / SUMMARY).exists():
        return None
    finished = read_json(own / SUMMARY)
    return own, {"params": finished["params"], "state": {"next": [finished["updates"] + 1]}}


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
        with suppress(OSError):  # another training drops the same, or it is not ours
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
