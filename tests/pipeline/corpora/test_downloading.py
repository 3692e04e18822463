"""Every kind of source, from a corpus's file to the two files of a part."""

import gzip
import hashlib
import os
from pathlib import Path

import pytest

from pipeline.common.files import DataError
from pipeline.corpora import downloading
from pipeline.corpora.fetching import Downloads
from pipeline.corpora.importers import sacrebleu
from pipeline.corpora.sources import Download

FRENCH, ENGLISH = b"un\ndeux\n", b"one\ntwo\n"
ROOT = Path(__file__).parents[3]
CORPUS_MIRROR, SACREBLEU = os.environ.get("CORPUS_MIRROR"), os.environ.get("SACREBLEU")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The working directory."""
    (tmp_path / "my").mkdir()
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(source, name="train", mirror=None):
    """Write one part of a corpus; its record, and the bytes of both sides."""
    about = {"source_language": "fr", "target_language": "en", "parts": {"train": source, "test": source, name: source}}
    given = Download.model_validate(about), Downloads(Path("downloads"), mirror), Path("out")
    record = downloading.write_train(*given) if name == "train" else downloading.write_part(name, *given)
    record.pop("bitexts", None)
    base = "train/train/00000" if name == "train" else name
    return record, *(Path(f"out/{base}.{side}.txt").read_bytes() for side in ("source", "target"))


def local(source=FRENCH, target=ENGLISH):
    Path("my/x.fr").write_bytes(source)
    Path("my/x.en").write_bytes(target)
    return {"kind": "local", "source": "my/x.fr", "target": "my/x.en"}


def record(address, content):
    return {"address": address, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def test_two_public_files_or_a_table(server, project):
    server.files = {"/x.fr": FRENCH, "/x.en.gz": gzip.compress(ENGLISH), "/x.tsv": b"one\tun\ntwo\tdeux\n"}
    addresses = [f"{server.address}{path}" for path in server.files]
    source = {"kind": "files", "source": {"address": addresses[0]}, "target": {"address": addresses[1]}}
    records = [record(address, body) for address, body in zip(addresses, server.files.values(), strict=True)]
    assert write(source) == ({"pairs": 2, "files": records[:2]}, FRENCH, ENGLISH)
    table = {"kind": "files", "table": {"address": addresses[2]}, "source_column": 2, "target_column": 1}
    assert write(table) == ({"pairs": 2, "files": records[2:]}, FRENCH, ENGLISH)


def test_files_of_ones_own(project):
    records = [record("my/x.fr", FRENCH), record("my/x.en", ENGLISH.rstrip())]
    assert write(local(FRENCH, ENGLISH.rstrip())) == ({"pairs": 2, "files": records}, FRENCH, ENGLISH)


def test_a_test_set_in_either_direction(project, monkeypatch):
    (project / "x.src").write_bytes(ENGLISH)
    (project / "x.ref").write_bytes(FRENCH)
    monkeypatch.setattr(sacrebleu, "paths", lambda name, pair, number: (Path("x.src"), Path("x.ref")))
    about, source, target = write({"kind": "sacrebleu", "name": "multi30k/2016"}, "test")
    assert (source, target) == (FRENCH, ENGLISH)
    assert [file["address"] for file in about["files"]] == [
        "sacrebleu multi30k/2016 en-fr reference",
        "sacrebleu multi30k/2016 en-fr source",
    ]


def test_a_data_set_of_the_hub(project):
    (folder := project / "mirror/huggingface.co/datasets/toy/pairs").mkdir(parents=True)
    (folder / "train.csv").write_bytes(table := b"fr,en\nun,one\ndeux,two\n")
    source = {"kind": "hub", "dataset": "toy/pairs", "revision": "main", "split": "train"}
    written = write(source | {"source_column": "fr", "target_column": "en"}, mirror="mirror")
    records = [record("huggingface.co/datasets/toy/pairs@main/train.csv", table)]
    assert written == ({"pairs": 2, "files": records}, FRENCH, ENGLISH)


@pytest.mark.parametrize("name", ["train", "test"])
def test_an_empty_part_is_named(project, name):
    with pytest.raises(
        DataError, match=rf"^my/x.fr and my/x.en: (part|bitext) {name} is empty, got 0 pairs; expected some$"
    ):
        write(local(b"", b""), name)


def test_only_train_may_hold_invalid_utf8(project):
    source = local("é\n".encode() + b"d\xffux\n")
    assert write(source)[1] == "é\n".encode() + b"d\xffux\n"
    for name in ("validation", "test"):
        with pytest.raises(DataError, match=r"^my/x.fr line 2: invalid UTF-8, got byte 0xff at column 2, perhaps"):
            write(source, name)


@pytest.mark.parametrize(
    ("bad", "message"),
    [(b"Too many requests", "damaged or no gz file"), (gzip.compress(b"one\n"), "the two files must be parallel")],
)
def test_bad_files_are_fetched_again_and_ones_own_are_kept(server, project, bad, message):
    server.files = {"/x.fr": FRENCH, "/x.en.gz": bad}
    source = {"kind": "files"} | {
        side: {"address": f"{server.address}{path}"}
        for side, path in zip(("source", "target"), server.files, strict=True)
    }
    with pytest.raises(DataError, match=message):
        write(source)
    server.files["/x.en.gz"] = gzip.compress(ENGLISH)
    assert write(source)[1:] == (FRENCH, ENGLISH)
    mine = local()
    Path("my/x.gz").write_bytes(bad)
    with pytest.raises(DataError, match=message):
        write(mine | {"target": "my/x.gz"})
    assert Path("my/x.gz").exists()


@pytest.mark.skipif(not (CORPUS_MIRROR and SACREBLEU), reason="CORPUS_MIRROR and SACREBLEU name no real corpora")
@pytest.mark.parametrize(
    ("corpus", "part", "pairs"),
    [
        ("multi30k_de_en", "train", 29_000),
        ("eng_fra_fr_en", "train", 142_787),
        ("wmt14_fr_en", "validation", 1159),
        ("wmt14_fr_en", "test", 3003),
    ],
)
def test_a_real_corpus(project, corpus, part, pairs):
    about, downloads = Download.load_own(f"{ROOT}/corpora/{corpus}.yaml:"), Downloads(Path("downloads"), CORPUS_MIRROR)
    assert downloading.write_part(part, about, downloads, Path("out"))["pairs"] == pairs
