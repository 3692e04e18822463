"""Stage download: public files from a server on loopback, a user's own, and an old result that survives a fault."""

import re
import shutil

import pytest

from pipeline.common import files
from pipeline.common.files import DataError
from pipeline.corpora.sources import Download
from stages import download
from tests.server import serving

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
        running.files = {f"/{side}": TEXTS[f"train.{side}.txt"].encode() for side in ("source", "target")}
        yield running


@pytest.fixture
def written(project, server, monkeypatch):
    """Reads the texts of a corpus of public files, files of one's own and a table."""
    monkeypatch.delenv("CORPUS_MIRROR", raising=False)
    for name, text in {"test.de": "Ja.\n", "test.en": "Yes.\n", "news.tsv": "News.\tNeues.\n"}.items():
        (project.root / "my" / name).write_text(text)
    sides = {side: {"address": f"{server.address}/{side}"} for side in ("source", "target")}
    parts = {
        "train": {"kind": "files", **sides},
        "test": {"kind": "local", "source": "my/test.de", "target": "my/test.en"},
        "news_2014": {"kind": "local", "table": "my/news.tsv", "source_column": 2, "target_column": 1},
    }
    project.edit("corpora/toy.yaml:parts", parts)
    out = project.root / "data/download/toy"
    return lambda: {path.name: path.read_text() for path in out.glob("*.txt")}


def test_every_part_is_written_and_nothing_asked_for_again(written, server, project):
    for _ in range(2):
        download.main("toy")
        assert written() == TEXTS
    assert len(server.asked) == 2
    about = files.read_json(project.root / "data/download/toy/download.json")["parts"]
    assert {name: part["pairs"] for name, part in about.items()} == {"train": 2, "test": 1, "news_2014": 1}


def test_an_address_without_a_checksum_is_named_and_what_changed_there(written, server, project, capsys):
    download.main("toy")
    old = files.sha256(project.root / "data/download/toy/train.source.txt")
    assert f"toy  {server.address}/source: may change; `sha256: {old}` in the corpus's file pins it\n" in (
        capsys.readouterr().err
    )
    shutil.rmtree(project.root / "work/downloads")
    server.files["/source"] = b"Satz 1.\nSatz 3.\n"
    download.main("toy")
    assert re.search(rf"{server.address}/source: is not as it was read before, .*; was {old}", capsys.readouterr().err)
    project.edit("corpora/toy.yaml:parts.train.source.sha256", old)
    shutil.rmtree(project.root / "work/downloads")
    with pytest.raises(DataError, match=rf"/source: the checksum differs, got sha256 .*; expected {old}$"):
        download.main("toy")


def test_every_key_of_a_download_is_declared():
    assert {read.rpartition(":")[2] for read in download.READS} == set(Download.model_fields)
