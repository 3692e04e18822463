"""Every kind of source, from params to the two files of a part."""

import gzip
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline import files
from pipeline.corpora import downloading, sacrebleu_sets
from pipeline.corpora.fetching import Store
from pipeline.corpora.sources import Download
from pipeline.files import DataError
from tests.server import Server, serving

FRENCH, ENGLISH = b"un\ndeux\n", b"one\ntwo\n"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as zipped:
            zipped.writestr("data/eng-fra.txt", "one\tun\nune\r\n\u00e9\t2\n".replace("une", ""))
        running.files = {"/x.fr": FRENCH, "/x.en.gz": gzip.compress(ENGLISH), "/x.zip": archive.getvalue()}
        yield running


def part(folder: Path, source: dict[str, Any], name: str = "train", mirror: str | None = None) -> dict[str, Any]:
    """Write one part into `folder`/out."""
    parts = {"train": source, "test": source, name: source}
    section = {"source_language": "fr", "target_language": "en", "parts": parts}
    (folder / "out").mkdir(exist_ok=True)
    store = Store(folder / "downloads", mirror, timeout_seconds=1, attempts=1, pause_seconds=0)
    return downloading.write_part(name, Download.model_validate(section), store, folder / "out")


def written(folder: Path, name: str = "train") -> tuple[bytes, bytes]:
    source, target = (folder / f"out/{name}.{side}.txt" for side in ("source", "target"))
    return source.read_bytes(), target.read_bytes()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def local(folder: Path, source: bytes = FRENCH, target: bytes = ENGLISH) -> dict[str, Any]:
    (folder / "x.fr").write_bytes(source)
    (folder / "x.en").write_bytes(target)
    return {"kind": "local", "source": str(folder / "x.fr"), "target": str(folder / "x.en")}


def test_two_parallel_files(server: Server, tmp_path: Path) -> None:
    addresses = [f"{server.address}/x.fr", f"{server.address}/x.en.gz"]
    source = {"kind": "files", "source": {"address": addresses[0]}, "target": {"address": addresses[1]}}
    contents = [server.files["/x.fr"], server.files["/x.en.gz"]]
    assert part(tmp_path, source) == {
        "pairs": 2,
        "files": [
            {"address": address, "sha256": sha256(content), "bytes": len(content)}
            for address, content in zip(addresses, contents, strict=True)
        ],
    }
    assert written(tmp_path) == (FRENCH, ENGLISH)


def test_a_table_in_a_zip(server: Server, tmp_path: Path) -> None:
    table = {"address": f"{server.address}/x.zip", "member": "data/eng-fra.txt"}
    server.files["/x.zip"] = zipped(b"\xef\xbb\xbfone\tun\tCC\r\ntwo\tdeux\tCC\r\n")
    found = part(tmp_path, {"kind": "files", "table": table, "source_column": 2, "target_column": 1})
    assert found["pairs"] == 2
    assert [file["address"] for file in found["files"]] == [f"{server.address}/x.zip"]
    assert written(tmp_path) == (FRENCH, ENGLISH)


def zipped(content: bytes, member: str = "data/eng-fra.txt") -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr(member, content)
    return archive.getvalue()


def test_a_table_without_enough_columns_is_named(server: Server, tmp_path: Path) -> None:
    address = f"{server.address}/x.zip"
    server.files["/x.zip"] = zipped(b"one\tun\ntwo\n")
    table = {"address": address, "member": "data/eng-fra.txt"}
    with pytest.raises(DataError) as error:
        part(tmp_path, {"kind": "files", "table": table, "source_column": 2, "target_column": 1})
    assert str(error.value) == f"{address} member data/eng-fra.txt line 2: 1 column, expected at least 2"
    assert list((tmp_path / "out").iterdir()) == []


def test_the_tags_of_iwslt_are_no_text(tmp_path: Path) -> None:
    names = [tmp_path / f"train.tags.fr-en.{language}" for language in ("fr", "en")]
    names[0].write_bytes(b"<url>http://x</url>\n<title>Un</title>\n un \n deux \n")
    names[1].write_bytes(
        b"<url>http://x</url>\n<title>One</title>\n<translator href='x'>N</translator>\n one \n two \n"
    )
    assert part(tmp_path, {"kind": "local", "source": str(names[0]), "target": str(names[1])})["pairs"] == 2
    assert written(tmp_path) == (FRENCH, ENGLISH)


def test_files_of_ones_own_are_recorded_as_they_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert part(tmp_path, {"kind": "local", "source": "x.fr", "target": "x.en"}) == {
        "pairs": 2,
        "files": [
            {"address": "x.fr", "sha256": sha256(FRENCH), "bytes": 8},
            {"address": "x.en", "sha256": sha256(ENGLISH), "bytes": 8},
        ],
    }
    assert written(tmp_path) == (FRENCH, ENGLISH)


def test_a_file_of_ones_own_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^my/x.fr: no such file; expected the one that the corpus's file names$"):
        part(tmp_path, {"kind": "local", "source": "my/x.fr", "target": "my/x.en"})


def test_texts_of_different_length_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        part(tmp_path, local(tmp_path, FRENCH + b"trois"))
    assert str(error.value) == (f"{tmp_path}/x.fr has 3 lines, {tmp_path}/x.en 2: the two files must be parallel")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("name", ["train", "test"])
def test_an_empty_part_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError) as error:
        part(tmp_path, local(tmp_path, b"", b""), name)
    assert str(error.value) == f"{tmp_path}/x.fr and {tmp_path}/x.en: part {name} is empty, got 0 pairs; expected some"


def test_only_train_may_hold_invalid_utf8(tmp_path: Path) -> None:
    source = local(tmp_path, b"un\nd\xffux\n")
    assert part(tmp_path, source)["pairs"] == 2
    assert written(tmp_path) == (b"un\nd\xffux\n", ENGLISH)
    for name in ("validation", "test"):
        with pytest.raises(DataError) as error:
            part(tmp_path, source, name)
        assert str(error.value) == (
            f"{tmp_path}/x.fr line 2: invalid UTF-8, got byte 0xff at column 2; expected text in UTF-8"
        )


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    assert part(tmp_path, local(tmp_path, FRENCH.rstrip(), ENGLISH))["pairs"] == 2
    assert written(tmp_path) == (FRENCH, ENGLISH)


def test_many_pairs_are_all_written(tmp_path: Path) -> None:
    lines = b"".join(b"%d\n" % number for number in range(2 * downloading.CHUNK_PAIRS + 7))
    assert part(tmp_path, local(tmp_path, lines, lines))["pairs"] == 2 * downloading.CHUNK_PAIRS + 7
    assert written(tmp_path) == (lines, lines)


def test_a_broken_archive_is_not_kept_but_ones_own_is(server: Server, tmp_path: Path) -> None:
    server.files["/x.en.gz"] = b"Too many requests"
    address = f"{server.address}/x.en.gz"
    source = {"kind": "files", "source": {"address": f"{server.address}/x.fr"}, "target": {"address": address}}
    with pytest.raises(DataError) as error:
        part(tmp_path, source)
    expected = f"{address}: damaged or no gz file, got Not a gzipped file (b'To'); expected a whole one"
    assert str(error.value) == expected
    server.files["/x.en.gz"] = gzip.compress(ENGLISH)
    assert part(tmp_path, source)["pairs"] == 2
    mine = tmp_path / "mine.gz"
    mine.write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"mine.gz: damaged or no gz file, got Not a gzipped file"):
        part(tmp_path, {"kind": "local", "source": str(mine), "target": str(mine)})
    assert mine.exists()


def test_a_broken_archive_of_both_sides_is_one_line(server: Server, tmp_path: Path) -> None:
    server.files["/x.zip"] = server.files["/x.zip"][:-10]
    address = f"{server.address}/x.zip"
    source = {side: {"address": address, "member": f"a.{side}"} for side in ("source", "target")}
    with pytest.raises(DataError, match="damaged or no zip file"):
        part(tmp_path, {"kind": "files", **source})


def parallel(server: Server) -> dict[str, Any]:
    addresses = [{"address": f"{server.address}/{name}"} for name in ("x.fr", "x.en.gz")]
    return {"kind": "files", "source": addresses[0], "target": addresses[1]}


def test_texts_that_do_not_fit_are_fetched_again(server: Server, tmp_path: Path) -> None:
    server.files["/x.fr"] = b"un\n"
    with pytest.raises(DataError, match=r"/x.fr has 1 lines, .*/x.en.gz 2: the two files must be parallel$"):
        part(tmp_path, parallel(server))
    server.files["/x.fr"] = FRENCH
    assert part(tmp_path, parallel(server))["pairs"] == 2
    assert [path for path, _ in server.asked] == ["/x.fr", "/x.en.gz"] * 2
    assert part(tmp_path, parallel(server))["pairs"] == 2
    assert len(server.asked) == 4
    assert not list((tmp_path / "downloads").glob("*.doubt"))


def test_a_mistyped_name_costs_no_second_download(server: Server, tmp_path: Path) -> None:
    server.files["/x.zip"] = zipped(b"one\tun\n")
    table = {"address": f"{server.address}/x.zip", "member": "data/eng-fre.txt"}
    source = {"kind": "files", "table": table, "source_column": 2, "target_column": 1}
    with pytest.raises(DataError, match=r"has no member 'data/eng-fre.txt'; nearest is 'data/eng-fra.txt'$"):
        part(tmp_path, source)
    table["member"] = "data/eng-fra.txt"
    assert part(tmp_path, source)["pairs"] == 1
    assert len(server.asked) == 1


def test_what_has_its_sha256_is_never_fetched_again(server: Server, tmp_path: Path) -> None:
    source = parallel(server)
    server.files["/x.fr"] = b"un\n"
    source["source"]["sha256"] = sha256(b"un\n")
    source["target"]["sha256"] = sha256(server.files["/x.en.gz"])
    for _ in range(2):
        with pytest.raises(DataError, match=r"the two files must be parallel$"):
            part(tmp_path, source)
    assert len(server.asked) == 2


def test_a_made_test_set_that_does_not_fit_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "downloads/sacrebleu-wmt14_full.fr-en"
    folder.mkdir(parents=True)
    (folder / "wmt14_full.fr-en.src").write_bytes(FRENCH)
    (folder / "wmt14_full.fr-en.ref").write_bytes(b"one\n")
    monkeypatch.setattr(sacrebleu_sets, "SACREBLEU_DIR", str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"the two files must be parallel$"):
        part(tmp_path, {"kind": "sacrebleu", "name": "wmt14/full"}, "test")
    assert not folder.exists()


@pytest.mark.parametrize(
    "fields", [{"source_column": "fr", "target_column": "en"}, {"translation_field": "translation"}]
)
def test_a_data_set_of_the_hub(tmp_path: Path, fields: dict[str, str]) -> None:
    folder = tmp_path / "mirror/huggingface.co/datasets/toy/pairs"
    folder.mkdir(parents=True)
    rows = [{"fr": "un", "en": "one"}, {"fr": "deux", "en": "two"}]
    (folder / "train.jsonl").write_text("".join(json.dumps({**row, "translation": row}) + "\n" for row in rows))
    source = {"kind": "hub", "dataset": "toy/pairs", "revision": "main", "split": "train", **fields}
    assert part(tmp_path, source, mirror=str(tmp_path / "mirror")) == {
        "pairs": 2,
        "files": [
            {
                "address": "huggingface.co/datasets/toy/pairs@main train",
                "sha256": sha256(FRENCH + ENGLISH),
                "bytes": 16,
            }
        ],
    }
    assert written(tmp_path) == (FRENCH, ENGLISH)


@pytest.mark.parametrize(("pair", "sides"), [("fr-en", ("source", "reference")), ("en-fr", ("reference", "source"))])
def test_a_sacrebleu_set_in_either_direction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: str, sides: tuple[str, str]
) -> None:
    folder = tmp_path / "cache/wmt14/full"
    folder.mkdir(parents=True)
    (folder / f"wmt14_full.{pair}.src").write_bytes(FRENCH if pair == "fr-en" else ENGLISH)
    (folder / f"wmt14_full.{pair}.ref").write_bytes(ENGLISH if pair == "fr-en" else FRENCH)
    monkeypatch.setattr(sacrebleu_sets, "SACREBLEU_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sacrebleu_sets.DATASETS["wmt14/full"], "langpairs", {pair: []})
    found = part(tmp_path, {"kind": "sacrebleu", "name": "wmt14/full"}, "test")
    assert [file["address"] for file in found["files"]] == [f"sacrebleu wmt14/full {pair} {side}" for side in sides]
    assert written(tmp_path, "test") == (FRENCH, ENGLISH)


@pytest.mark.skipif("CORPUS_MIRROR" not in os.environ, reason="CORPUS_MIRROR is not set: no real corpora")
@pytest.mark.parametrize("corpus", ["multi30k_de_en", "multi30k_taught_de_en", "multi30k_en_de", "multi30k_en_fr"])
def test_the_real_multi30k_is_the_catalogues(tmp_path: Path, project_root: Path, corpus: str) -> None:
    download = Download.load_own(f"{project_root}/corpora/{corpus}.yaml:")
    store = Store(tmp_path, os.environ["CORPUS_MIRROR"])
    counts = {name: downloading.write_part(name, download, store, tmp_path)["pairs"] for name in download.parts}
    assert counts == {"train": 29000, "validation": 1014, "test": 1000}


@pytest.mark.skipif("SACREBLEU" not in os.environ, reason="SACREBLEU is not set: no cache of test sets")
def test_a_real_test_set_has_its_swapped_sides(tmp_path: Path) -> None:
    section = {"source_language": "de", "target_language": "en"}
    train = {"kind": "local", "source": "x", "target": "y"}
    test = {"kind": "sacrebleu", "name": "multi30k/2016"}
    download = Download.model_validate({**section, "parts": {"train": train, "test": test}})
    assert downloading.write_part("test", download, Store(tmp_path), tmp_path)["pairs"] == 1000
    assert next(files.read_lines(tmp_path / "test.source.txt")).startswith("Ein Mann")
    assert next(files.read_lines(tmp_path / "test.target.txt")).startswith("A man")
