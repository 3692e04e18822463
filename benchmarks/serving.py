"""How many sentences a second `nmt serve` translates for many clients, and whether it answers while one asks for much.

    python -m benchmarks.serving --model models/<system> --lines data/split/multi30k_de_en/test.source.txt

The clients are LibreTranslate's own (libretranslatepy), each of which asks for a sentence after the other without a
pause. Every answer is compared with the offline one, which the same engine gives without a server. Then one client
sends as many characters as a request may have, while another asks for `/health`. Clients and server share the machine.
"""

import itertools
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Annotated, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import typer
from libretranslatepy import LibreTranslateAPI

from benchmarks.contestants.machine import describe
from benchmarks.contestants.turn import HERE
from pipeline.common import cores, files
from pipeline.serving.engines import Engine, EngineKind
from pipeline.serving.requests import MOST_SENTENCES
from pipeline.serving.sentences import sentences
from pipeline.serving.service import Options

START_SECONDS, END_SECONDS = 120.0, 60.0
HEALTH_SECONDS = 0.05  # between two questions
NMT = "from pipeline.commands.nmt import app; app()"


class Asked(NamedTuple):
    """Answers and waits of one client."""

    latencies: list[float]  # seconds, of each answer
    wrong: int


def main(
    model: Annotated[Path, typer.Option(help="Folder of a packaged system.")],
    lines: Annotated[Path, typer.Option(help="Sentences to ask for, one a line.")],
    engine: Annotated[EngineKind, typer.Option(help="What runs the network.")] = "ctranslate2-int8",
    clients: Annotated[int, typer.Option(min=1, help="Clients at once.")] = 64,
    seconds: Annotated[float, typer.Option(help="For which they ask.")] = 60.0,
    threads: Annotated[int, typer.Option(min=1, help="Of the server.")] = cores.count(),
    sentences: Annotated[int, typer.Option(min=1, help="How many lines of the file.")] = 1000,
) -> None:
    """Print a table of one row."""
    asked = [line for line in files.read_lines(lines) if line.strip()][:sentences]
    offline = Engine(model, engine, threads)
    pair = offline.config.source_language, offline.config.target_language
    expected = {line: translated(offline, line) for line in asked}
    turns = [itertools.islice(itertools.cycle(asked), number, None, clients) for number in range(clients)]
    with running(model, engine, threads) as address, ThreadPoolExecutor(clients) as pool:
        until = time.monotonic() + seconds
        clients_met = list(pool.map(partial(ask, address, pair, expected, until), turns))
        took, health = ask_for_most(address, pair, asked)
    latencies = [1000 * latency for client in clients_met for latency in client.latencies]
    cuts = statistics.quantiles(latencies, n=100)
    print(f"{describe()}; {threads} threads; {model.name}; {clients} clients, {seconds:g} s\n")
    print("| engine | sentences/s | p50 ms | p99 ms | answers | wrong | longest request s | its /health, most ms |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    print(
        f"| {engine} | {len(latencies) / seconds:,.1f} | {cuts[49]:,.0f} | {cuts[98]:,.0f} | {len(latencies):,} "
        f"| {sum(client.wrong for client in clients_met)} | {took:,.1f} | {1000 * max(health):,.0f} |"
    )


def translated(engine: Engine, line: str) -> str:
    """The translation of a line without a server."""
    text = engine.split(sentences(line, engine.config.source_language))
    return text.join([best for (best, _), *_ in engine.translate(text.parts, 1)])


@contextmanager
def running(model: Path, kind: str, threads: int, log: IO[bytes] | None = None) -> Iterator[str]:
    """The address of a server that answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--model", str(model), "--engine", kind, "--threads", str(threads), "--port", str(port)]
    environment = os.environ | {"PYTHONPATH": str(HERE.parents[1])}
    process = subprocess.Popen([sys.executable, "-c", NMT, "serve", *options], env=environment, stderr=log)
    address, until = f"http://127.0.0.1:{port}", time.monotonic() + START_SECONDS
    try:
        while not is_healthy(address):
            if process.poll() is not None or time.monotonic() > until:
                sys.exit("nmt serve: did not start")
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(END_SECONDS)


def is_healthy(address: str) -> bool:
    """Whether a server answers."""
    try:
        with urlopen(f"{address}/health", timeout=10) as answer:
            return bool(answer.status == 200)
    except URLError:
        return False


def ask(address: str, pair: tuple[str, str], expected: dict[str, str], until: float, turn: Iterator[str]) -> Asked:
    """Answers to a client that asks for one sentence after the other until a time."""
    client, latencies, wrong = LibreTranslateAPI(address), [], 0
    for line in turn:
        if (sent := time.monotonic()) >= until:
            break
        wrong += client.translate(line, *pair) != expected[line]
        latencies.append(time.monotonic() - sent)
    return Asked(latencies, wrong)


def ask_for_most(address: str, pair: tuple[str, str], lines: Sequence[str]) -> tuple[float, list[float]]:
    """Seconds of the longest request that a server takes, and those of each answer of /health meanwhile."""
    most = Options().characters
    text = " ".join(itertools.islice(itertools.cycle(lines), MOST_SENTENCES // 2))[:most]
    health, began = [], time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        longest = pool.submit(LibreTranslateAPI(address).translate, text, *pair)
        while not longest.done():
            sent = time.monotonic()
            assert is_healthy(address), "/health: no answer"
            health.append(time.monotonic() - sent)
            time.sleep(HEALTH_SECONDS)
        longest.result()
    return time.monotonic() - began, health


if __name__ == "__main__":
    typer.run(main)
