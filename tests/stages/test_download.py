"""The stage `download`: public files from a server on loopback and a user's own."""

import json
import os
import subprocess
import sys

import pytest

from pipeline.files import DataError
from pipeline.params import ParamsError
from stages import download
from tests.server import serving

CORPUS = """
licence: mine
source_language: de
target_language: en
parts:
  train: {{kind: files, source: {{address: "{0}/train.de"}}, target: {{address: "{0}/train.en"}}}}
  test: {{kind: local, source: my/test.de, target: my/test.en}}
  news_2014: {{kind: local, table: my/news.tsv, source_column: 2, target_column: 1}}
"""
TEXTS = {
    "train.source.txt": "Satz 1.\nSatz 2.\n",
    "train.target.txt": "Sentence 1.\nSentence 2.\n",
    "test.source.txt": "Ja.\n",
    "test.target.txt": "Yes.\n",
    "news_2014.source.txt": "Neues.\n",
    "news_2014.target.txt": "News.\n",
}


@pytest.fixture
def server():
    with serving() as running:
        running.files = {f"/train.{code}": TEXTS[f"train.{side}.txt"].encode() for code, side in
                         (("de", "source"), ("en", "target"))}  # fmt: skip
        yield running


@pytest.fixture
def project(tmp_path, server, monkeypatch):
    for name, text in (
        ("corpora/toy.yaml", CORPUS.format(server.address)),
        *(("my/test.de", "Ja.\n"), ("my/test.en", "Yes.\n"), ("my/news.tsv", "News.\tNeues.\n")),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORPUS_MIRROR", raising=False)
    return tmp_path


def written(project):
    return {path.name: path.read_text() for path in (project / "data/download/toy").glob("*.txt")}


def test_the_command_writes_every_part_and_asks_for_nothing_again(project, project_root, server):
    command, environment = (
        [sys.executable, "-m", "stages.download", "toy"],
        os.environ | {"PYTHONPATH": f"{project_root}"},
    )
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert written(project) == TEXTS
    assert len(server.asked) == 2
    record = json.loads((project / "data/download/toy/download.json").read_text())
    assert (record["source_language"], record["target_language"]) == ("de", "en")
    assert {name: part["pairs"] for name, part in record["parts"].items()} == {"train": 2, "test": 1, "news_2014": 1}


def test_the_mirror_of_the_environment_is_asked_first(project, server, monkeypatch):
    (folder := project / "mirror" / server.address.removeprefix("http://")).mkdir(parents=True)
    for path, content in server.files.items():
        (folder / path[1:]).write_bytes(content)
    monkeypatch.setenv("CORPUS_MIRROR", "mirror")
    download.main("toy")
    assert server.asked == []


def test_an_old_result_survives_a_failing_run(project):
    download.main("toy")
    (project / "my/test.de").write_text("Ja.\nNein.\n")
    with pytest.raises(DataError, match=r"^my/test\.de has 2 lines, my/test\.en 1: the two files must be parallel$"):
        download.main("toy")
    assert written(project) == TEXTS


def test_faults_of_the_corpus_are_named_together(project):
    path = project / "corpora/toy.yaml"
    path.write_text(path.read_text().replace("target_column: 1", "target_column: 0").replace("files", "fils"))
    with pytest.raises(ParamsError) as error:
        download.main("toy")
    assert str(error.value).splitlines() == [
        "corpora/toy.yaml: parts.train.kind: unknown choice, got 'fils'; nearest is 'files'",
        "corpora/toy.yaml: parts.news_2014.target_column: should be greater than or equal to 1, got 0",
    ]
