"""How long `/health` and a second client of `nmt serve` wait while another client asks for too much, or for nothing.

    python -m benchmarks.attack --model models/<system>

Each attack meets a server of its own that may open 256 files. The second client asks for one sentence after the other.
"""

import json
import resource
import socket
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import psutil
import requests
import typer

from benchmarks.serving import running

SECONDS, SILENT_SECONDS, FILES = 90, 15, 256
PAIR = {"source": "fr", "target": "en"}
CUT = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
JSON, PAGE = {"Content-Type": "application/json"}, {"Content-Type": "text/plain", "Origin": "http://a.b"}
ATTACKS: dict[str, tuple[Any, ...]] = {  # clients, path, q, headers; or connections, and what they send
    "50,000 texts": (1, "translate", ["a"] * 50_000, JSON),
    "20,000 sentences": (1, "translate", "Oui. " * 20_000, JSON),
    "100 times 20,000 sentences": (100, "translate", "Oui. " * 20_000, JSON),
    "8 times 5,000 sentences": (8, "translate", "Oui. " * 5_000, JSON),
    "600,000 faults": (1, "translate", [1] * 600_000, JSON),
    "600,000 faults from a page": (1, "translate", [1] * 600_000, PAGE),
    "100 times attention": (100, "attention", "Bonjour. " * 50, JSON),
    "300 silent connections": (300, b""),
    "300 requests cut short": (300, CUT),
}


def main(model: Annotated[Path, typer.Option(help="Folder of a packaged system, fr-en.")]) -> None:
    """Print a table, a row an attack."""
    print("| attack | answers | /health, most s | second client, most s | its refusals | memory MB | log kB |")
    print("| :--- | :--- | ---: | ---: | ---: | ---: | ---: |")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    for name, attack in ATTACKS.items():
        health, second, memory = [], [], 0
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))
        with tempfile.TemporaryFile() as log, running(model, "torch", 2, log) as address, ThreadPoolExecutor(3) as pool:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            attacking = pool.submit(ask if attack[2:] else connect, address, *attack)
            while not attacking.done():
                asked = pool.submit(timed, f"{address}/translate", {"q": "Bonjour.", **PAIR}, JSON)
                health.append(timed(f"{address}/health")[0])
                second.append(asked.result())
                memory = max(memory, psutil.Process().children()[0].memory_info().rss >> 20)
                time.sleep(0.1)
            waits = f"{max(health):.2f} | {max(second)[0]:.2f} | {sum(status != 200 for _, status in second)}"
            print(f"| {name} | {attacking.result()} | {waits} of {len(second)} | {memory} | {log.seek(0, 2) >> 10} |")


def timed(address: str, body: dict[str, Any] | None = None, headers: dict[str, str] | None = None) -> tuple[float, int]:
    """Seconds until an answer, and its status; 0 is none."""
    send = partial(requests.post, data=json.dumps(body, separators=(",", ":"))) if body else requests.get
    began, status = time.monotonic(), 0
    with suppress(requests.RequestException):
        status = send(address, headers=headers, timeout=SECONDS).status_code
    return time.monotonic() - began, status


def ask(address: str, clients: int, path: str, question: Any, headers: dict[str, str]) -> str:
    """The statuses of the answers to the same question of many clients."""
    with ThreadPoolExecutor(clients) as pool:
        answers = [pool.submit(timed, f"{address}/{path}", {"q": question, **PAIR}, headers) for _ in range(clients)]
        return " ".join(sorted({str(answer.result()[1]) for answer in answers}))


def connect(address: str, clients: int, beginning: bytes) -> str:
    """Open connections, send the beginning of a request, and leave after a while."""
    with ExitStack() as opened:
        for _ in range(clients):
            connection = socket.create_connection(("127.0.0.1", int(address.split(":")[-1])))
            opened.enter_context(connection).sendall(beginning)
        time.sleep(SILENT_SECONDS)
    return f"{clients} opened"


if __name__ == "__main__":
    typer.run(main)
