"""The stage `download` as dvc.yaml runs it, against files of one's own and a server on loopback."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.corpora.transfer import BLOCK_BYTES
from tests.server import Server, serving

SOURCE = "".join(f"Satz {number}.\n" for number in range(40))
TARGET = "".join(f"Sentence {number}.\n" for number in range(40))
COMMAND = [sys.executable, "-m", "stages.download", "toy"]
CORPUS = """
licence: mine
source_language: de
target_language: en
parts:
  train: {{kind: files, source: {{address: "{address}/train.de"}}, target: {{address: "{address}/train.en"}}}}
  test: {{kind: local, source: my/test.de, target: my/test.en}}
  news_2014: {{kind: local, table: my/news.tsv, source_column: 2, target_column: 1}}
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        running.files = {"/train.de": SOURCE.encode(), "/train.en": TARGET.encode()}
        yield running


@pytest.fixture
def project(tmp_path: Path, server: Server) -> Path:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora/toy.yaml").write_text(CORPUS.format(address=server.address))
    (tmp_path / "my").mkdir()
    (tmp_path / "my/test.de").write_text("Ja.\n")
    (tmp_path / "my/test.en").write_text("Yes.\n")
    (tmp_path / "my/news.tsv").write_text("News.\tNeues.\n")
    return tmp_path


def environment(project_root: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("CORPUS_MIRROR", "SACREBLEU")}
    return {**kept, "PYTHONPATH": str(project_root), **more}


def run(project: Path, project_root: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        COMMAND, cwd=project, env=environment(project_root, **more), capture_output=True, text=True, timeout=60
    )


def test_every_part_and_its_record_are_written(project: Path, project_root: Path, server: Server) -> None:
    done = run(project, project_root)
    assert (done.returncode, done.stderr) == (0, "")
    out = project / "data/download/toy"
    texts = {path.name: path.read_text() for path in out.glob("*.txt")}
    assert texts == {
        "train.source.txt": SOURCE,
        "train.target.txt": TARGET,
        "test.source.txt": "Ja.\n",
        "test.target.txt": "Yes.\n",
        "news_2014.source.txt": "Neues.\n",
        "news_2014.target.txt": "News.\n",
    }
    record = json.loads((out / "download.json").read_text())
    assert (record["source_language"], record["target_language"]) == ("de", "en")
    assert {name: part["pairs"] for name, part in record["parts"].items()} == {"train": 40, "test": 1, "news_2014": 1}
    sha256 = hashlib.sha256(SOURCE.encode()).hexdigest()
    expected = {"address": f"{server.address}/train.de", "sha256": sha256, "bytes": len(SOURCE)}
    assert record["parts"]["train"]["files"][0] == expected
    assert record["parts"]["test"]["files"][0]["address"] == "my/test.de"
    assert [path.name for path in (project / "data/download").iterdir()] == ["toy"]


def test_a_second_run_asks_for_nothing_and_writes_the_same(project: Path, project_root: Path, server: Server) -> None:
    outs = []
    for _ in range(2):
        assert run(project, project_root).returncode == 0
        outs.append({path.name: path.read_bytes() for path in (project / "data/download/toy").iterdir()})
    assert outs[0] == outs[1]
    assert len(server.asked) == 2


def test_the_mirror_of_the_environment_is_asked_first(project: Path, project_root: Path, server: Server) -> None:
    host = project / "mirror" / server.address.removeprefix("http://")
    host.mkdir(parents=True)
    (host / "train.de").write_text(SOURCE)
    (host / "train.en").write_text(TARGET)
    assert run(project, project_root, CORPUS_MIRROR="mirror").returncode == 0
    assert server.asked == []


def test_a_failing_source_leaves_nothing_behind(project: Path, project_root: Path, server: Server) -> None:
    del server.files["/train.en"]
    done = run(project, project_root)
    expected = f"error: {server.address}/train.en: the server answered 404 Not Found; expected a file at this address\n"
    assert (done.returncode, done.stderr) == (1, expected)
    assert not (project / "data").exists() or not any((project / "data/download").iterdir())


def test_an_old_result_survives_a_failing_run(project: Path, project_root: Path) -> None:
    assert run(project, project_root).returncode == 0
    (project / "my/test.de").write_text("Ja.\nNein.\n")
    done = run(project, project_root)
    expected = "error: my/test.de has 2 lines, my/test.en 1: the two files must be parallel\n"
    assert (done.returncode, done.stderr) == (1, expected)
    assert (project / "data/download/toy/test.source.txt").read_text() == "Ja.\n"


def test_faults_of_the_corpus_are_named_together(project: Path, project_root: Path) -> None:
    path = project / "corpora/toy.yaml"
    path.write_text(
        path.read_text().replace("target_column: 1", "target_column: 0").replace("kind: files", "kind: fils")
    )
    done = run(project, project_root)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: corpora/toy.yaml: parts.train.kind: unknown choice, got 'fils'; nearest is 'files'",
        "corpora/toy.yaml: parts.news_2014.target_column: should be greater than or equal to 1, got 0",
    ]


def test_a_killed_run_is_finished_by_the_next(project: Path, project_root: Path, server: Server) -> None:
    server.files = {path: content * 12_000 for path, content in server.files.items()}
    half = len(server.files["/train.de"]) // 2
    server.faults = ["stall"]
    running = subprocess.Popen(COMMAND, cwd=project, env=environment(project_root), stderr=subprocess.DEVNULL)
    try:
        # Not the files of `*.partial.json`, which come and go while it runs.
        partial = "*-train.de.partial"
        wait_for(lambda: any(path.stat().st_size > half - BLOCK_BYTES for path in (project / "work").rglob(partial)))
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert not (project / "data/download/toy").exists()
    assert run(project, project_root).returncode == 0
    assert (project / "data/download/toy/train.source.txt").read_text() == SOURCE * 12_000
    path, asked = server.asked[1]
    assert path == "/train.de"
    assert asked is not None
    assert half - BLOCK_BYTES < int(asked.removeprefix("bytes=").removesuffix("-")) <= half
    assert [path.name for path in (project / "data/download").iterdir()] == ["toy"]
    assert not list((project / "work").rglob("*.partial*"))


def wait_for(condition: object) -> None:
    """Return when `condition()` holds."""
    deadline = time.monotonic() + 30
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)
