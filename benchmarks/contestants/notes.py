"""What was measured so far, in a file, so that hours of measuring may stop and go on."""

import hashlib
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import torch
from contestants.machine import processor

from pipeline import files

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
SCORES = "benchmarks/choose_on_validation.py"
CODE = "pipeline/**/*.py", "stages/*.py", "benchmarks/contestants/*.py", SCORES  # what trains, translates and scores


class Notes:
    """What was measured on this machine with this code for one question, in a JSON file if it has a path."""

    def __init__(self, path: Path | None, question: dict[str, object]) -> None:
        self.writing = threading.Lock()
        machine = {"processor": processor(), "torch": torch.__version__}
        self.path, about = path, machine | {"code": digest_of_files(ROOT, *CODE)} | question
        self.found = files.read_json(path) if path and path.exists() else {"about": about, "measured": {}}
        if self.found["about"] != about:
            there = self.found["about"]
            other = sorted(key for key in about.keys() | there.keys() if about.get(key) != there.get(key))[0]
            sys.exit(
                f"{path}: is about {there.get(other)!r} as {other!r}; expected {about.get(other)!r}, or another file"
            )

    def measured(self, what: str, measure: Callable[[], T]) -> T:
        """What an earlier run found, or else what `measure` gives now."""
        if what in self.found["measured"]:
            return cast(T, self.found["measured"][what])
        found = measure()
        with self.writing:
            self.found["measured"][what] = found
            if self.path:
                files.write_json(self.path, self.found)
        return found


def digest(value: object) -> str:
    """A name for a value that JSON can hold."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def digest_of_files(folder: Path, *patterns: str) -> str:
    """A name for the files of a folder that match: their paths and what is in them."""
    paths = sorted(path for pattern in patterns for path in folder.glob(pattern) if path.is_file())
    return digest([(path.relative_to(folder).as_posix(), files.sha256(path)) for path in paths])
