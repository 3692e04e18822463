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
    "train/train/00000.source.txt": "Satz 1.\nSatz 2.\n",
    "train/train/00000.target.txt": "Sentence 1.\nSentence 2.\n",
    "test.source.txt": "Ja.\n",
    "test.target.txt": "Yes.\n",
    "news_2014.source.txt": "Neues.\n",
    "news_2014.target.txt": "News.\n",
}


@pytest.fixture
def server():
    with serving() as running:
        running.files = {f"/{side}": TEXTS[f"train/train/00000.{side}.txt"].encode() for side in ("source", "target")}
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
    return lambda: {path.relative_to(out).as_posix(): path.read_text() for path in out.rglob("*.txt")}


def test_every_part_is_written_and_nothing_asked_for_again(written, server, project):
    for _ in range(2):
        download.main("toy")
        assert written() == TEXTS
    assert len(server.asked) == 2
    about = files.read_json(project.root / "data/download/toy/download.json")["parts"]
    assert {name: part["pairs"] for name, part in about.items()} == {"train": 2, "test": 1, "news_2014": 1}


def test_an_address_without_a_checksum_is_named_and_what_changed_there(written, server, project, capsys):
    download.main("toy")
    old = files.sha256(project.root / "data/download/toy/train/train/00000.source.txt")
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


def test_bitexts_are_written_in_order_of_trust_and_recorded(written, server, project):
    """Of the web's text the pairs with the smallest hashes, the same ones whatever else is there."""
    pairs = [(f"Zeile {number}.", f"Line {number}.") for number in range(20)]
    web = {"name": "web", "kind": "local", "table": "my/web.tsv", "source_column": 1, "target_column": 2}
    memory = web | {"name": "memory", "table": "my/news.tsv", "licence": "of the agency"}
    drawn = []
    for doubled in (pairs, [pair for pair in pairs[::-1] for _ in "ab"]):
        (project.root / "my/web.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in doubled))
        project.edit("corpora/toy.yaml:parts.train", [memory, web | {"at_most": 5 + len(drawn)}])
        download.main("toy")
        drawn.append(written()["train/web/00000.source.txt"].splitlines())
        assert [line for line in drawn[-1] if line in drawn[0]] == drawn[-1]
    assert [len(lines) for lines in drawn] == [5, 6]
    about = files.read_json(project.root / "data/download/toy/download.json")["parts"]["train"]
    records = {
        name: [record[key] for key in ("pairs", "before_at_most", "licence")]
        for name, record in about["bitexts"].items()
    }
    assert records == {"memory": [1, 1, "of the agency"], "web": [6, 40, None]}
    assert about["pairs"] == 7
