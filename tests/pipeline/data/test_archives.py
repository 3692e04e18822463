"""Members of archives, the well-meant and the others."""

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from pipeline.data import archives
from pipeline.files import DataError

TEXT = b"eins\nzwei\n" * 1000


def packed(folder: Path, name: str, members: dict[str, bytes]) -> Path:
    path = folder / name
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, content in members.items():
                archive.writestr(member, content)
    else:
        with tarfile.open(path, "w:gz") as archive:
            for member, content in members.items():
                info = tarfile.TarInfo(member)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def read(path: Path, address: str, member: str | None = None, most_bytes: int = archives.MEMBER_BYTES) -> bytes:
    with archives.opened(path, address, member, most_bytes) as file:
        return file.read()


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("https://a.org/x.txt", "plain"),
        ("https://a.org/x.GZ", "gz"),
        ("https://a.org/x.tar.gz", "tar"),
        ("https://a.org/x.tgz?download=1", "tar"),
        ("my/x.zip", "zip"),
        ("my/zip", "plain"),
        ("https://a.zip/x", "plain"),
    ],
)
def test_the_ending_says_how_a_file_is_packed(address: str, kind: str) -> None:
    assert archives.archive_kind(address) == kind


@pytest.mark.parametrize("ending", ["zip", "tgz", "tar.gz"])
def test_a_member_is_read(tmp_path: Path, ending: str) -> None:
    path = packed(tmp_path, f"x.{ending}", {"a/de": TEXT, "a/en": b"one\n"})
    assert read(path, f"x.{ending}", "a/de") == TEXT
    assert sorted(os.listdir(tmp_path)) == [f"x.{ending}"]


def test_gz_and_plain_are_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(TEXT))
    assert read(tmp_path / "x", "x.gz") == TEXT
    assert read(tmp_path / "x", "x") == gzip.compress(TEXT)


@pytest.mark.parametrize("ending", ["zip", "tgz"])
def test_a_missing_member_is_answered_with_the_nearest(tmp_path: Path, ending: str) -> None:
    path = packed(tmp_path, f"x.{ending}", {"data/eng-fra.txt": TEXT})
    with pytest.raises(DataError) as error:
        read(path, f"https://a.org/x.{ending}", "data/eng-fre.txt")
    expected = f"https://a.org/x.{ending}: has no member 'data/eng-fre.txt'; nearest is 'data/eng-fra.txt'"
    assert str(error.value) == expected


@pytest.mark.parametrize("ending", ["zip", "tgz"])
@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil", "..\\evil", "C:evil"])
@pytest.mark.parametrize("asked", ["good", None])
def test_an_archive_with_a_path_out_of_it_is_refused(tmp_path: Path, ending: str, name: str, asked: str | None) -> None:
    path = packed(tmp_path, f"x.{ending}", {"good": TEXT, name: b"evil"})
    with pytest.raises(DataError) as error:
        read(path, f"x.{ending}", asked or name)
    assert str(error.value) == f"x.{ending}: unsafe archive member, got {name!r}; expected a path inside the archive"


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
def test_what_is_no_file_in_a_tar_is_refused(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "x.tgz", "w:gz") as archive:
        info = tarfile.TarInfo("text")
        info.type, info.linkname = kind, "/etc/hostname"
        archive.addfile(info)
    with pytest.raises(DataError) as error:
        read(tmp_path / "x.tgz", "x.tgz", "text")
    assert str(error.value) == "x.tgz: member 'text' is a folder or a link; expected a regular file"


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("text")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(info, "/etc/hostname")
    with pytest.raises(DataError, match=r"^x.zip: member 'text' is a folder or a link; expected a regular file$"):
        read(tmp_path / "x.zip", "x.zip", "text")


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path, "x.zip", {"text": TEXT})
    content = bytearray(path.read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1  # the flag in the directory
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"^x.zip: member 'text' is encrypted; expected one without a password$"):
        read(path, "x.zip", "text")


@pytest.mark.parametrize("name", ["x.zip", "x.tgz", "x.gz"])
def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path, name, {"text": TEXT})
    if name == "x.gz":
        path.write_bytes(gzip.compress(TEXT))
    assert read(path, name, "text", len(TEXT)) == TEXT
    with pytest.raises(DataError) as error:
        read(path, name, "text", len(TEXT) - 1)
    assert str(error.value) == f"{name}: unpacks to more than 9,999 bytes; expected at most that"


@pytest.mark.parametrize("name", ["x.zip", "x.tgz", "x.gz"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "other"])
def test_a_damaged_archive_is_named(tmp_path: Path, name: str, damage: str) -> None:
    noise = os.urandom(100_000)
    path = packed(tmp_path, name, {"text": noise})
    if name == "x.gz":
        path.write_bytes(gzip.compress(noise))
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[50_000] ^= 255
    path.write_bytes({"cut": content[:60_000], "flipped": content, "other": b"<html>no</html>"}[damage])
    with pytest.raises(
        archives.Unreadable, match=f"^{name}: damaged or no .* file, got .+; expected a whole one$"
    ) as error:
        assert read(path, name, "text") != noise
    assert error.value.path == path
