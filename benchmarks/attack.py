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
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import psutil
import requests
import typer

from benchmarks.serving import running

SECONDS, SILENT_SECONDS, FILES = 90, 15, 256
CUT = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
PAIR = {"source": "fr", "target": "en"}
JSON = {"Content-Type": "application/json"}
FAULTS = json.dumps({"q": [1] * 600_000}, separators=(",", ":"))
ATTACKS: dict[str, tuple[Any, ...]] = {  # clients, path, body, headers
    "50,000 texts": (1, "translate", json.dumps({"q": ["a"] * 50_000, **PAIR}), JSON),
    "20,000 sentences": (1, "translate", json.dumps({"q": "Oui. " * 20_000, **PAIR}), JSON),
    "8 times 2,000 sentences": (8, "translate", json.dumps({"q": "Oui. " * 2_000, **PAIR}), JSON),
    "600,000 faults": (1, "translate", FAULTS, JSON),
    "600,000 faults from a page": (1, "translate", FAULTS, {"Content-Type": "text/plain", "Origin": "http://a.b"}),
    "100 times attention": (100, "attention", json.dumps({"q": "Bonjour. " * 50}), JSON),
    "300 silent connections": (300, b""),
    "300 requests cut short": (300, CUT),
}


def main(model: Annotated[Path, typer.Option(help="Folder of a packaged system, fr-en.")]) -> None:
    """Print a table, a row an attack."""
    print("| attack | answers | s | /health, most s | second client, most s | its refusals | memory MB | log kB |")
    print("| :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: |")
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, (hard := resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    for name, attack in ATTACKS.items():
        health, second, memory = [], [], 0
        with tempfile.TemporaryFile() as log, running(model, "torch", 2, log) as address:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            server, began = psutil.Process().children()[0], time.monotonic()
            with ThreadPoolExecutor(3) as pool:
                attacking = pool.submit(connect if attack[1:2] in [(b"",), (CUT,)] else ask, address, *attack)
                while not attacking.done():
                    asked = pool.submit(timed, f"{address}/translate", json.dumps({"q": "Bonjour.", **PAIR}), JSON)
                    health.append(timed(f"{address}/health"))
                    second.append(asked.result())
                    memory = max(memory, server.memory_info().rss >> 20)
                    time.sleep(0.1)
            took, refused = time.monotonic() - began, sum(status != 200 for _, status in second)
            waits = f"{max(health)[0]:.2f} | {max(second)[0]:.2f} | {refused} of {len(second)}"
            print(f"| {name} | {attacking.result()} | {took:.1f} | {waits} | {memory} | {log.seek(0, 2) >> 10} |")
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))


def timed(address: str, body: str | None = None, headers: dict[str, str] | None = None) -> tuple[float, int]:
    """Seconds until an answer, and its status; 0 is none."""
    began = time.monotonic()
    try:
        status = requests.request("POST" if body else "GET", address, data=body, headers=headers, timeout=SECONDS)
        return time.monotonic() - began, status.status_code
    except requests.RequestException:
        return time.monotonic() - began, 0


def ask(address: str, clients: int, path: str, body: str, headers: dict[str, str]) -> str:
    """The statuses of the answers to the same question of many clients."""
    with ThreadPoolExecutor(clients) as pool:
        answers = [pool.submit(timed, f"{address}/{path}", body, headers) for _ in range(clients)]
        return " ".join(sorted({str(answer.result()[1]) for answer in answers}))


def connect(address: str, clients: int, beginning: bytes) -> str:
    """Open connections, send the beginning of a request, and leave after a while."""
    url, opened = urlsplit(address), []
    for _ in range(clients):
        try:
            opened.append(socket.create_connection((url.hostname or "", url.port or 0), 2))
            opened[-1].sendall(beginning)
        except OSError:
            pass
    time.sleep(SILENT_SECONDS)
    for connection in opened:
        connection.close()
    return f"{len(opened)} opened"


if __name__ == "__main__":
    typer.run(main)
