"""A process that holds the models: a line of JSON in, a line of JSON out. Nothing is pickled.

Given, first: {"folders": [...], "engine": ..., "threads": ..., "glossary": ..., "beam_size": ...}. Said: {"systems":
[...]}, or {"error": ...} and the end. Then, for each batch: {"id", "kind", "system", "number", "lines"} -> {"id",
"results"} or {"id", "error"}. It ends with its standard input.
"""

import json
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

from pipeline import cli
from pipeline.options import check_different

Loader = Callable[[dict[str, Any]], "list[tuple[str, Any]]"]  # the kind of each engine, and the engine


def load(given: dict[str, Any]) -> list[tuple[str, Any]]:
    """The engines of all folders; torch's where CTranslate2 has no form of the model."""
    from pipeline.packaging.package import CTRANSLATE2
    from pipeline.serving import engines

    logging.basicConfig(stream=sys.stderr, format="%(message)s")
    glossary = Path(given["glossary"]) if given["glossary"] else None
    found: list[tuple[str, Any]] = []
    for folder in map(Path, given["folders"]):
        kind: engines.Kind = given["engine"] if (folder / CTRANSLATE2).is_dir() else "torch"
        if kind != given["engine"]:
            print(f"{folder}: torch, since CTranslate2 runs Transformers only", file=sys.stderr)
        found.append((kind, engines.load(folder, kind, given["threads"], glossary, given["beam_size"])))
    check_different("--model", [engine.system for _, engine in found])
    return found


def main(loader: Loader = load) -> None:
    """Load the models, then answer until standard input ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a terminal and systemd send them to the whole group
        signal.signal(number, signal.SIG_IGN)
    given, said = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints goes to standard error
    try:
        loaded = loader(json.loads(given.readline()))
    except Exception as error:
        message = cli.mistake(error)
        if message is None:
            traceback.print_exc()
        write(said, {"error": message or f"worker: {type(error).__name__}: {error}"})
        sys.exit(1)
    write(said, {"systems": [about(kind, engine) for kind, engine in loaded]})
    answer_all({engine.system: engine for _, engine in loaded}, given, said)


def about(kind: str, engine: Any) -> dict[str, Any]:
    """What the server must know of an engine."""
    names = ("system", "source_language", "target_language")
    return {name: getattr(engine, name) for name in names} | {"engine": kind}


def answer_all(engines: dict[str, Any], given: Iterable[bytes], said: IO[bytes]) -> None:
    """Answer each line."""
    for line in given:
        asked = json.loads(line)
        try:
            found: dict[str, Any] = {"results": results(engines[asked["system"]], asked)}
        except Exception as error:  # of one batch: the next may be fine
            traceback.print_exc()
            found = {"error": f"{type(error).__name__}: {error}"}
        write(said, {"id": asked["id"], **found})


def results(engine: Any, asked: dict[str, Any]) -> list[Any]:
    """What was asked of each line. Attention, which may be millions of numbers, is JSON that the server sends on."""
    if asked["kind"] == "attention":
        records = [engine.attention(line) | {"system": asked["system"]} for line in asked["lines"]]
        return [{"text": one["text"], "record": json.dumps(one, allow_nan=False)} for one in records]
    return [[list(answer) for answer in found] for found in engine.translate(asked["lines"], asked["number"])]


def write(said: IO[bytes], value: dict[str, Any]) -> None:
    """One line of JSON."""
    said.write(json.dumps(value, ensure_ascii=True, allow_nan=False).encode() + b"\n")
    said.flush()


if __name__ == "__main__":
    main()
