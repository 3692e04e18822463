"""How many sentences a second `nmt serve` translates for 1, 8 and 64 clients, beside a plain server of CTranslate2.

    python benchmarks/serving.py --model models/<system> --lines data/split/multi30k_de_en/test.source.txt

The clients of a round ask without a pause, each over a connection of its own, for single sentences or for documents of
100 lines. When the time is over, what is under way may take as long again; what is unanswered then, has failed. Every
answer of `nmt serve` is compared with the offline one, which the same engine gives without a server. The plain server
translates one line at a time, with one thread and with all; it is asked by the most clients only, since more make it no
quicker. Clients, servers and whatever else runs share the machine's cores.
"""

import asyncio
import itertools
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple
from urllib.request import urlopen

import psutil
import typer
from contestants.machine import describe
from contestants.turn import HERE

from pipeline import cores, files
from pipeline.packaging import package
from pipeline.serving import engines
from pipeline.serving import texts as sentences_of

TEXTS = ("sentence", "document")
DOCUMENT = 100  # lines
START_SECONDS = 120.0
GRACE_SECONDS = 10.0  # to end
NMT = "from pipeline.commands.nmt import app; app()"


class Server(NamedTuple):
    """A server to be asked."""

    name: str
    command: list[str]  # but for the port
    is_plain: bool


class Load(NamedTuple):
    """What one round of clients met."""

    sentences: int
    seconds: float
    latencies: list[float]  # seconds, of each answer
    wrong: int
    failed: int  # refused, or late


def main(
    clients: Annotated[
        list[int], typer.Option(help="Clients at once; repeatable.", default_factory=lambda: [1, 8, 64])
    ],
    engine: Annotated[
        list[str], typer.Option(help="Engine of nmt serve; repeatable.", default_factory=lambda: ["ctranslate2"])
    ],
    text: Annotated[
        list[str],
        typer.Option(help="What is asked for: sentence, document; repeatable.", default_factory=lambda: [*TEXTS]),
    ],
    model: Annotated[Path | None, typer.Option(help="Folder of a packaged Transformer; without: the first.")] = None,
    lines: Annotated[Path | None, typer.Option(help="Sentences; without: the test part of its corpus.")] = None,
    seconds: Annotated[float, typer.Option(help="Of each round.")] = 120.0,
    threads: Annotated[int, typer.Option(min=1, help="Of each server.")] = cores.count(),
    sentences: Annotated[int, typer.Option(min=1, help="How many lines of the file.")] = 1000,
) -> None:
    """Print a table; the ratio is to the quicker plain server with weights of the same type (fp32, int8)."""
    if unknown := sorted(set(text) - set(TEXTS)):
        raise typer.BadParameter(f"--text: unknown, got {unknown[0]!r}; expected {' or '.join(TEXTS)}")
    folder = model or first()
    config = package.read(folder)
    source = lines or Path("data/split", config.corpus, "test.source.txt")
    single = [line for line in files.read_lines(source) if line.strip()][:sentences]
    begins = range(0, 10 * DOCUMENT, 37)
    long = ["\n".join(itertools.islice(itertools.cycle(single), at, at + DOCUMENT)) for at in begins]
    asked = {what: texts for what, texts in zip(TEXTS, (single, long), strict=True) if what in text}
    print(f"{describe()}; {threads} threads; {config.system}; {seconds:g} s a round\n")
    print("| server | texts | clients | sentences/s | of plain | p50 ms | p99 ms | answers | wrong | failed | MiB |")
    print("| :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | :--- |")
    pair = {"source": config.source_language, "target": config.target_language}
    for kind in engine:
        expected = {what: offline(folder, kind, texts, threads) for what, texts in asked.items()}
        best = dict.fromkeys(asked, 0.0)
        for server in servers(folder, kind, threads):
            with running(server.command) as (process, port):
                for what, texts in asked.items():
                    for number in [max(clients)] if server.is_plain else clients:
                        before = resident(process)
                        answers = None if server.is_plain else expected[what]
                        load = asyncio.run(ask(port, texts, answers, pair, number, seconds))
                        speed = load.sentences / load.seconds
                        if server.is_plain:
                            best[what] = max(best[what], speed)
                        ratio = speed / best[what] if best[what] else math.nan
                        memory = f"{before:.0f} to {resident(process):.0f}"
                        print(row(server.name, what, number, load, ratio, memory), flush=True)


def servers(folder: Path, kind: str, threads: int) -> Iterator[Server]:
    """The plain servers with the weights of an engine, then `nmt serve` with it."""
    compute_type = "int8" if kind.endswith("int8") else "float32"
    for number in sorted({1, threads}):
        name = f"one line at a time, {compute_type}, {number} thread{'s' if number > 1 else ''}"
        command = [sys.executable, str(HERE / "plain_server.py"), str(folder), compute_type, str(number)]
        yield Server(name, command, is_plain=True)
    given = ["--model", str(folder), "--engine", kind, "--threads", str(threads), "--port"]
    yield Server(f"nmt serve, {kind}", [sys.executable, "-c", NMT, "serve", *given], is_plain=False)


def first() -> Path:
    """The first packaged Transformer of the project."""
    found = sorted(path.parent for path in Path("models").glob(f"*/{package.CTRANSLATE2}"))
    if not found:
        sys.exit("models/: no packaged Transformer; expected what `dvc repro package` writes, or --model")
    return found[0]


def offline(folder: Path, kind: str, texts: Sequence[str], threads: int) -> list[str]:
    """The translation of each text without a server."""
    engine = engines.load(folder, kind, threads)  # type: ignore[arg-type]  # it says so itself if it is none
    language = engine.config.source_language
    split = [sentences_of.split(text, language, engine.fits, by_sentence=True) for text in texts]
    every = list(dict.fromkeys(sentence for document in split for sentence in document.sentences))
    known = dict(zip(every, (found[0].text for found in engine.translate(every, 1)), strict=True))
    return [document.join([known[sentence] for sentence in document.sentences]) for document in split]


@contextmanager
def running(command: list[str]) -> Iterator[tuple[psutil.Process, int]]:
    """A server on a free port, which is the last word of its command."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    paths = {"PYTHONPATH": f"{HERE.parents[1]}{os.pathsep}{HERE.parent}"}
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen([*command, str(port)], env=os.environ | paths, stderr=nowhere)
    try:
        until = time.monotonic() + START_SECONDS
        while not is_ready(port):
            if process.poll() is not None or time.monotonic() > until:
                sys.exit(f"{' '.join(command)}: did not start")
            time.sleep(0.1)
        yield psutil.Process(process.pid), port
    finally:
        process.terminate()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:  # a plain server first answers all that wait
            process.kill()
            process.wait()


def is_ready(port: int) -> bool:
    """Whether a server has loaded its model."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def resident(process: psutil.Process) -> float:
    """MiB of a process and its children."""
    every = [process, *process.children(recursive=True)]
    return float(sum(one.memory_info().rss for one in every)) / (1 << 20)


async def ask(
    port: int, texts: Sequence[str], expected: Sequence[str] | None, pair: dict[str, str], clients: int, seconds: float
) -> Load:
    """The load of so many clients, each of which takes every so-manyth text; the last answers count, too."""
    bodies = [json.dumps({"q": text, **pair}).encode() for text in texts]
    sizes = [text.count("\n") + 1 for text in texts]
    latencies: list[float] = []
    sentences = wrong = failed = 0
    began = time.monotonic()

    async def client(number: int) -> None:
        nonlocal sentences, wrong, failed
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        for index in itertools.count(number, clients):
            if time.monotonic() >= began + seconds:
                break
            index %= len(texts)
            sent = time.monotonic()
            status, body = await post(reader, writer, bodies[index])
            latencies.append(time.monotonic() - sent)
            if status != 200:
                failed += 1
                continue
            sentences += sizes[index]
            wrong += expected is not None and json.loads(body)["translatedText"] != expected[index]
        writer.close()

    asking = [asyncio.ensure_future(client(number)) for number in range(clients)]
    _, late = await asyncio.wait(asking, timeout=2 * seconds)
    took = time.monotonic() - began
    for one in late:
        one.cancel()
    for done in await asyncio.gather(*asking, return_exceptions=True):
        if isinstance(done, Exception):
            raise done
    return Load(sentences, took, latencies, wrong, failed + len(late))


async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> tuple[int, bytes]:
    """The status and the body of an answer, over a connection that is kept."""
    head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    first_line, *headers = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    [length] = [int(line.partition(":")[2]) for line in headers if line.lower().startswith("content-length:")]
    return int(first_line.split()[1]), await reader.readexactly(length)


def row(name: str, what: str, clients: int, load: Load, ratio: float, memory: str) -> str:
    """A line of the table."""
    known = load.latencies or [math.nan]
    cuts = statistics.quantiles(known, n=100) if len(known) > 1 else known * 99
    cells = (
        *(name, what, str(clients), f"{load.sentences / load.seconds:,.1f}", f"{ratio:.2f}"),
        *(f"{1000 * cuts[49]:,.0f}", f"{1000 * cuts[98]:,.0f}", f"{len(load.latencies):,}"),
        *(f"{load.wrong:,}", f"{load.failed:,}", memory),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    typer.run(main)
