"""A server in a process of its own, as a user starts one."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import requests

ROOT = Path(__file__).parents[2]
START_SECONDS = 60


class Server(NamedTuple):
    """A server that runs."""

    address: str
    process: subprocess.Popen
    log_file: Path

    @property
    def log(self) -> str:
        """What it has said so far."""
        return self.log_file.read_text(encoding="utf-8")

    @property
    def worker(self) -> int:
        """The process of its one worker."""
        [worker] = psutil.Process(self.process.pid).children()
        return worker.pid

    def get(self, path: str, **options: Any) -> requests.Response:
        return requests.get(self.address + path, timeout=30, **options)

    def post(self, path: str, fields: Any = None, **options: Any) -> requests.Response:
        """A POST of JSON."""
        return requests.post(self.address + path, json=fields, timeout=30, **options)

    def metric(self, name: str) -> float:
        """A metric without labels, or the sum over all labels."""
        text = self.get("/metrics").text
        assert f"# HELP {re.sub('_(count|sum)$', '', name)} " in text, f"no metric {name}"
        return sum(map(float, re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)))


@contextmanager
def running(command: Sequence[str | Path], log: Path, cwd: Path = ROOT) -> Iterator[Server]:
    """A server, once it is ready; it is killed at the end, if it still runs."""
    with log.open("wb") as file:
        process = subprocess.Popen(command, cwd=cwd, stderr=file)
    try:
        until = time.monotonic() + START_SECONDS
        while not (found := re.search(r"(http://\S+): ready", log.read_text(encoding="utf-8"))):
            assert process.poll() is None, log.read_text(encoding="utf-8")
            assert time.monotonic() < until, log.read_text(encoding="utf-8")
            time.sleep(0.02)
        yield Server(found[1], process, log)
    finally:
        process.kill()
        process.wait()


@contextmanager
def stand_in(log: Path, **options: Any) -> Iterator[Server]:
    """A server without models, with these options of `tests.toys.stand_in`."""
    with running([sys.executable, "-m", "tests.toys.stand_in", json.dumps(options)], log) as server:
        yield server


def wait_for(true: Callable[[], bool], seconds: float = 20) -> None:
    """Wait until a condition holds."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)
