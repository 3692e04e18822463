"""sacrebleu's test sets from its cache and from archives, on sets made up here."""

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sacrebleu.dataset import DATASETS
from sacrebleu.dataset.plain_text import PlainTextDataset

from pipeline.corpora import sacrebleu_sets
from pipeline.corpora.fetching import Store
from pipeline.files import DataError
from tests.server import Server, serving

TEXTS = {"toy/a.de": b"eins\nzwei\n", "toy/a.en": b"one\ntwo\n"}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        tar, zipped = io.BytesIO(), io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w:gz") as archive, zipfile.ZipFile(zipped, "w") as other:
            for name, content in TEXTS.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
                other.writestr(name, content)
        running.files = {"/toy.tgz": tar.getvalue(), "/toy.zip": zipped.getvalue(), "/a.en": TEXTS["toy/a.en"]}
        yield running


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(sacrebleu_sets, "SACREBLEU_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def known(monkeypatch: pytest.MonkeyPatch, addresses: list[str], md5: list[str], names: list[str]) -> None:
    dataset = PlainTextDataset("toy/set", data=addresses, md5=md5, langpairs={"de-en": names})
    monkeypatch.setitem(DATASETS, "toy/set", dataset)


def test_a_pair_is_found_in_either_direction() -> None:
    assert sacrebleu_sets.find("wmt14/full", "fr", "en") == ("fr-en", False)
    assert sacrebleu_sets.find("multi30k/2016", "de", "en") == ("en-de", True)


def test_an_unknown_set_or_pair_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"^name: unknown sacrebleu test set, got 'wmt14/ful'; nearest is 'wmt14/full'$"
    ):
        sacrebleu_sets.find("wmt14/ful", "fr", "en")
    expected = "^name: sacrebleu's multi30k/2018 lacks this pair, got fr-de; expected one of en-cs, en-de, en-fr$"
    with pytest.raises(ValueError, match=expected):
        sacrebleu_sets.find("multi30k/2018", "fr", "de")


def test_the_sets_of_the_catalogue_exist() -> None:
    for name, source, target in (
        ("iwslt17/dev2010", "de", "en"),
        ("iwslt17/tst2016", "de", "en"),
        ("wmt14/full", "en", "fr"),
        ("wmt14/full", "fr", "en"),
        ("wmt14/full", "en", "de"),
    ):
        assert sacrebleu_sets.find(name, source, target) == (f"{source}-{target}", False)


def test_the_cache_of_sacrebleu_comes_first(cache: Path, tmp_path: Path) -> None:
    folder = cache / "wmt14/full"
    folder.mkdir(parents=True)
    for end in ("src", "ref-B", "ref-A", "docid"):
        (folder / f"wmt14_full.fr-en.{end}").touch()
    found = sacrebleu_sets.texts("wmt14/full", "fr-en", Store(tmp_path / "downloads"))
    assert [path.name for path in found] == ["wmt14_full.fr-en.src", "wmt14_full.fr-en.ref-A"]


def test_the_reference_is_that_of_the_set(cache: Path, tmp_path: Path) -> None:
    """Of sets in one file, such as those of 2021, each is scored with references of its own."""
    store = Store(tmp_path / "downloads")
    of_two = sorted(DATASETS["wmt21/dev"].langpairs)[0]
    for name, pair, ends in (("wmt21/D", "en-de", "AD"), ("wmt21/dev", of_two, ["A", ""])):
        folder = cache / name
        folder.mkdir(parents=True)
        stem = f"{name.replace('/', '_')}.{pair}"
        (folder / f"{stem}.src").write_text("one\ntwo\n")
        for end in ends:
            (folder / f"{stem}.ref{f'-{end}' if end else ''}").write_text("eins\nzwei\n")
    assert sacrebleu_sets.texts("wmt21/D", "en-de", store)[1].name == "wmt21_D.en-de.ref-D"
    assert sacrebleu_sets.texts("wmt21/dev", of_two, store)[1].name == f"wmt21_dev.{of_two}.ref-A"
    (cache / f"wmt21/dev/wmt21_dev.{of_two}.ref-A").write_text("eins\n\n")
    with pytest.raises(DataError) as error:
        sacrebleu_sets.texts("wmt21/dev", of_two, store)
    assert str(error.value) == (
        f"sacrebleu wmt21/dev: wmt21_dev.{of_two}.ref-A has empty lines, whose references are elsewhere in ref-A, ref; "
        "expected a test set in which one reference has all"
    )


def test_a_half_written_set_of_sacrebleus_cache_is_not_taken(
    server: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(
        monkeypatch,
        [f"{server.address}/toy.zip"],
        [hashlib.md5(server.files["/toy.zip"]).hexdigest()],
        list(TEXTS),
    )
    folder = cache / "toy/set"
    folder.mkdir(parents=True)
    (folder / "toy_set.de-en.src").write_text("eins\nzwei\ndrei\n")
    (folder / "toy_set.de-en.ref").write_text("one\n")
    found = sacrebleu_sets.texts("toy/set", "de-en", Store(tmp_path / "downloads"))
    assert [path.read_bytes() for path in found] == list(TEXTS.values())


@pytest.mark.usefixtures("cache")
def test_two_processes_may_need_one_set(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    md5 = hashlib.md5(server.files["/toy.zip"]).hexdigest()
    known(monkeypatch, [f"{server.address}/toy.zip"], [md5], list(TEXTS))
    with ThreadPoolExecutor(4) as threads:  # each opens the lock's file anew, as a process would
        found = list(
            threads.map(lambda _: sacrebleu_sets.texts("toy/set", "de-en", Store(tmp_path / "downloads")), range(4))
        )
    assert [path.read_bytes() for path in found[0]] == list(TEXTS.values())
    assert found == [found[0]] * 4


@pytest.mark.parametrize("name", ["toy.tgz", "toy.zip"])
@pytest.mark.usefixtures("cache")
def test_a_set_is_made_from_its_archive_once(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    md5 = hashlib.md5(server.files[f"/{name}"]).hexdigest()
    known(monkeypatch, [f"{server.address}/{name}"], [md5], list(TEXTS))
    store = Store(tmp_path / "downloads")
    for _ in range(2):
        found = sacrebleu_sets.texts("toy/set", "de-en", store)
        assert [path.read_bytes() for path in found] == list(TEXTS.values())
    assert len(server.asked) == 1
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("cache")
def test_a_file_beside_the_archive_is_taken_as_it_is(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = [f"{server.address}/toy.tgz", f"{server.address}/a.en"]
    md5 = [hashlib.md5(server.files[path]).hexdigest() for path in ("/toy.tgz", "/a.en")]
    known(monkeypatch, addresses, md5, ["toy/a.de", "toy_set.a.en"])
    found = sacrebleu_sets.texts("toy/set", "de-en", Store(tmp_path / "downloads"))
    assert [path.read_bytes() for path in found] == list(TEXTS.values())


@pytest.mark.usefixtures("cache")
def test_an_archive_with_another_md5_is_not_kept(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, store = f"{server.address}/toy.tgz", Store(tmp_path / "downloads")
    known(monkeypatch, [address], ["0" * 32], list(TEXTS))
    with pytest.raises(DataError) as error:
        sacrebleu_sets.texts("toy/set", "de-en", store)
    got = hashlib.md5(server.files["/toy.tgz"]).hexdigest()
    assert str(error.value) == f"{address}: the checksum differs, got md5 {got}; expected {'0' * 32}"
    assert not store.path(address).exists()
    assert not (store.folder / "sacrebleu-toy_set.de-en").exists()
