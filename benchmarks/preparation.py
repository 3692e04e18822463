"""How many pairs a second does each stage of the preparation get through, and how much memory does it hold?

    python -m benchmarks.preparation --pairs 100000 --pairs 1000000

The text is generated: words by Zipf's law, 5 to 40 a sentence, every tenth pair a repetition. Stages run as DVC runs
them, in a folder of their own with this project's params. Beside them `wc -l` and, where duckdb is installed, its
GROUP BY of the same pairs. Memory is that of all processes of a stage, shared pages counted once. Linux only.
"""

import importlib.util
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import psutil
import typer
from ruamel.yaml import YAML

from benchmarks.contestants.machine import describe

ROOT = Path(__file__).parents[1]
STAGES = {"download": "big", "clean": "big", "split": "big", "vocabulary": "big-bpe_8k", "encode": "big-bpe_8k"}
SYLLABLES = [consonant + vowel for consonant in "bcdfghjklmnprstvz" for vowel in "aeiou"] + ["né", "ßt", "wö"]
CHUNK = 100_000  # pairs that are generated together
COLUMNS = "delim='\\t', quote='', header=false, columns={'source': 'VARCHAR', 'target': 'VARCHAR'}"
QUERY = f"SELECT count(*) FROM (SELECT 1 FROM read_csv('my/big.tsv', {COLUMNS}) GROUP BY source, target)"


class Used(NamedTuple):
    """What a command took."""

    seconds: float
    cpu: float  # seconds of all its processes
    mebibytes: float  # at its peak


def lines(num_pairs: int) -> Iterator[str]:
    """Sentences of two languages with a tab between, a chunk at a time."""
    draw = np.random.default_rng(1)
    words = [["".join(draw.choice(SYLLABLES, draw.integers(1, 5))) for _ in range(50_000)] for _ in "ab"]
    for first in range(0, num_pairs, CHUNK):
        rows = []
        for length in draw.integers(5, 41, min(CHUNK, num_pairs - first)):
            ids = (draw.zipf(1.1, length) % 50_000).tolist()
            rows.append("\t".join(" ".join(side[index] for index in ids) for side in words))
        rows[::10] = rows[1::10]
        yield "\n".join(rows) + "\n"


def lay_out(folder: Path, num_pairs: int) -> None:
    """Write text, corpus and params."""
    for name in ("my", "corpora"):
        (folder / name).mkdir()
    with (folder / "my/big.tsv").open("w") as file:
        file.writelines(lines(num_pairs))
    table = {"kind": "local", "table": "my/big.tsv", "source_column": 1, "target_column": 2}
    shares = {"validation_share": 3000 / num_pairs, "test_share": 3000 / num_pairs}
    corpus = {"licence": "none", "source_language": "de", "target_language": "en", "parts": {"train": table}}
    YAML().dump(corpus | {"clean": {}, "split": shares, "tags": {}, "start": {}}, folder / "corpora/big.yaml")
    (folder / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())


def measure(folder: Path, *command: str) -> Used:
    """Run a command in the folder."""
    peak, began, before = 0.0, time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    reader = threading.Thread(target=lambda: said.append(process.communicate()[1]))
    said: list[str] = []
    reader.start()
    while reader.is_alive():
        peak = max(peak, held(process.pid))
        reader.join(0.2)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: {said[0]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Used(time.monotonic() - began, cpu, peak / 2**20)


def held(pid: int) -> float:
    """Bytes of a process and of those that it has started."""
    total = 0.0
    try:
        main = psutil.Process(pid)
        for process in (main, *main.children(recursive=True)):
            total += process.memory_full_info().pss
    except psutil.Error:
        pass  # it has ended meanwhile
    return total


def main(pairs: Annotated[list[int], typer.Option(help="Amounts of text.")] = [100_000, 1_000_000]) -> None:  # noqa: B006
    """Print a table."""
    print(f"{describe()}\n\n| pairs | stage | seconds | of CPU | pairs/s | peak MiB |")
    print("| ---: | :--- |" + " ---: |" * 4)
    commands = {stage: [sys.executable, "-m", f"stages.{stage}", key] for stage, key in STAGES.items()}
    commands["wc -l"] = ["wc", "-l", "my/big.tsv"]
    if importlib.util.find_spec("duckdb"):
        commands["duckdb"] = [sys.executable, "-c", f'import duckdb; print(duckdb.sql("""{QUERY}""").fetchall())']
    for num_pairs in pairs:
        with tempfile.TemporaryDirectory() as folder:
            lay_out(Path(folder), num_pairs)
            for stage, command in commands.items():
                used = measure(Path(folder), *command)
                numbers = (
                    f"{used.seconds:.1f} | {used.cpu:.1f} | {num_pairs / used.seconds:,.0f} | {used.mebibytes:,.0f}"
                )
                print(f"| {num_pairs:,} | {stage} | {numbers} |", flush=True)


if __name__ == "__main__":
    typer.run(main)
