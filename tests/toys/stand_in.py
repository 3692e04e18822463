"""A worker of `nmt serve` without a model, for tests of what stands around it: words reversed, some words do harm.

python -m tests.toys.stand_in            # a worker
python -m tests.toys.stand_in 5050       # a server on this port, with two pairs of languages and three systems
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from pipeline.serving.answers import Answer

from pipeline.files import DataError
from pipeline.serving import worker

SYSTEMS = {
    "toy_fr_en-bpe-rnnsearch-tiny": ("fr", "en"),
    "toy_fr_en-bpe-transformer_prenorm-tiny": ("fr", "en"),
    "toy_de_en-bpe-rnnsearch-tiny": ("de", "en"),
}
KNOWN = {"fr": {"le", "chat", "dort", "la", "est"}, "de": {"die", "der", "katze", "ist", "das"}}


class StandIn:
    """Translates `le chat dort` to `dort chat le`; the second best has `2` before it, and so on."""

    def __init__(self, system: str) -> None:
        self.system = system
        self.source_language, self.target_language = SYSTEMS[system]

    def translate(self, lines, number):
        time.sleep(0.002 + 0.0005 * len(lines))
        return [[self.answer(line, rank) for rank in range(number)] for line in lines]

    def answer(self, line, rank):
        words = line.split()
        if "KILL" in words:
            os.kill(os.getpid(), signal.SIGKILL)
        if "FAIL" in words:
            raise ValueError("cannot")
        for word in words:
            if word.startswith("SLEEP"):
                time.sleep(float(word[5:]))
        known = sum(word.lower().strip(".!?") in KNOWN[self.source_language] for word in words)
        confidence = -0.1 - (1 - known / max(1, len(words)))
        return Answer(" ".join([str(rank + 1)] * (rank > 0) + words[::-1]), confidence - rank, confidence - 0.1 * rank)

    def attention(self, line):
        source, target = [*line.split(), "</s>"], [*line.split()[::-1], "</s>"]
        rows = [[1.0 if t + s == len(source) - 2 else 0.0 for s in range(len(source))] for t in range(len(target))]
        return {"source": source, "target": target, "text": " ".join(target[:-1]), "weights": {"cross": [rows]}}


def load(given):
    """A stand-in for each folder: the system is the folder's name."""
    time.sleep(given.get("seconds", 0))
    if any(name.endswith("missing") for name in given["folders"]):
        raise DataError("models/missing: no such model; expected one")
    return [("torch", StandIn(Path(name).name)) for name in given["folders"]]


COMMAND = (sys.executable, "-m", "tests.toys.stand_in")


def options(limits=None, **changes):
    """A server's options with the stand-in in place of the worker."""
    from pipeline.serving import app
    from pipeline.serving import limits as limits_module

    folders = [Path(name) for name in changes.pop("folders", SYSTEMS)]
    allowed = limits_module.Limits(**(limits or {}))
    return app.Options(folders=folders, command=COMMAND, limits=allowed, **({"port": 0} | changes))


if __name__ == "__main__":
    if sys.argv[1:]:
        from pipeline import cli
        from pipeline.serving import server

        cli.call(lambda: server.run(options(**json.loads(sys.argv[1]))))
    else:
        worker.main(load)
