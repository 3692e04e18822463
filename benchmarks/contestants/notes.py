"""What was measured so far, in a file, so that hours of measuring may stop and go on."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import torch
from contestants.machine import processor

from pipeline import files

T = TypeVar("T")


class Notes:
    """What was measured on this machine for one question, in a JSON file if it has a path."""

    def __init__(self, path: Path | None, question: dict[str, object]) -> None:
        self.writing = threading.Lock()
        self.path, about = path, {"processor": processor(), "torch": torch.__version__} | question
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
