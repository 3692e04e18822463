"""One hash of all that shapes a training: if it changes, the checkpoints so far belong to another training."""

import hashlib
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path

from pipeline.files import sha256
from pipeline.params import Section

# These change no result.
TRACKED = ("database", "deadline", "location", "notes", "recorded", "registry", "runs", "server", "store", "views")
TRACKING = tuple(f"tracking.{name}" for name in TRACKED)
SHOWING = ("cli", "events", "progress", "terminal", "training_display")
NEUTRAL = tuple(f"pipeline.{name}" for name in (*SHOWING, *TRACKING))


def fingerprint(folders: Iterable[Path], sections: Iterable[Section], *names: str) -> str:
    """Hexadecimal SHA-256 over the code now loaded, the versions of torch and numpy, files, sections and names.

    Paths count relative to the working directory, so that a copy of the project elsewhere has the same fingerprint.
    """
    digest = hashlib.sha256()
    for text in (*names, *versions(), *(section.model_dump_json() for section in sections)):
        digest.update(f"{text}\n".encode())
    for module, path in sorted(code()):
        digest.update(f"{module} {sha256(path)}\n".encode())
    for folder in folders:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            if path.is_file():
                digest.update(f"{path.as_posix()} {sha256(path)}\n".encode())
    return digest.hexdigest()


def states_folder(system: str, fingerprint: str) -> Path:
    """Where the training of a system with this fingerprint keeps its states, until what came of it is averaged."""
    return Path("work/train", f"{system}-{fingerprint[:16]}")


def training_log(system: str, fingerprint: str) -> Path:
    """The local log of the training of a system with this fingerprint: of each update and validation, a line."""
    return Path("work/logs", system, f"train-{fingerprint[:16]}.jsonl")


def code() -> list[tuple[str, Path]]:
    """Name and file of every module of ours that has been imported."""
    found = []
    for module in list(sys.modules.values()):  # by spec: `python -m stages.train` is called __main__
        spec: ModuleSpec | None = getattr(module, "__spec__", None)
        if spec and spec.origin and spec.name.split(".")[0] in ("pipeline", "stages") and spec.name not in NEUTRAL:
            found.append((spec.name, Path(spec.origin)))
    return found


def versions() -> list[str]:
    """The libraries whose arithmetic is in the weights."""
    return [f"{name} {sys.modules[name].__version__}" for name in ("numpy", "torch") if name in sys.modules]
