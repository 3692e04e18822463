"""Members of archives, the well-meant and the others."""

import errno
import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from pipeline.corpora import archives
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
        ("my/a#1?.gz", "gz"),
        ("my//[::bad.tgz", "tar"),
    ],
)
def test_the_ending_says_how_a_file_is_packed(address: str, kind: str) -> None:
    assert archives.archive_kind(address) == kind


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("https://a.org/x.de.xz", "unsupported"),
        ("https://a.org/x.BZ2?download=1", "unsupported"),
        ("https://a.org/x.tar", "unsupported"),
        ("https://a.org/x.tar.zst", "unsupported"),
        ("my/x.de.zst", "unsupported"),
        ("my/x.tar.gz", "tar"),
        ("my/x.xz.gz", "gz"),
        ("my/xz", "plain"),
        ("https://a.tar/x", "plain"),
    ],
)
def test_the_ending_says_that_a_file_cannot_be_unpacked(address: str, kind: str) -> None:
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


@pytest.mark.parametrize(
    ("method", "name"), [(zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "LZMA"), (99, "method 99")]
)
def test_a_method_that_unpacks_without_bound_is_refused(tmp_path: Path, method: int, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", method if method != 99 else zipfile.ZIP_STORED) as archive:
        archive.writestr("text", TEXT)
    if method == 99:
        content = bytearray((tmp_path / "x.zip").read_bytes())
        content[content.rindex(b"PK\x01\x02") + 10] = 99
        (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(DataError) as error:
        read(tmp_path / "x.zip", "x.zip", "text")
    assert str(error.value) == f"x.zip: member 'text' is packed by {name}; expected deflate, or no compression"


def test_what_is_packed_twice_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(gzip.compress(TEXT)))
    with pytest.raises(archives.Unreadable, match=r"^x.gz: packed twice, got a gz file in a gz file; expected text"):
        read(tmp_path / "x", "x.gz")


@pytest.mark.parametrize(
    "error", [OSError("seek"), ValueError("invalid literal"), RecursionError("deep"), KeyError("x")]
)
def test_any_error_of_the_library_is_one_line(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(archives.Unreadable) as raised, archives.explained(tmp_path / "x.tgz", "x.tgz"):
        raise error
    assert str(raised.value) == f"x.tgz: damaged or no tar file, got {error}; expected a whole one"


def test_a_full_disk_is_no_fault_of_the_archive(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="full"), archives.explained(tmp_path / "x.tgz", "x.tgz"):
        raise OSError(errno.ENOSPC, "full")


def test_names_in_messages_are_short_and_clean(tmp_path: Path) -> None:
    path = packed(tmp_path, "x.tgz", {"\x1b[2J" + "n" * 300: b"", **{f"{i:04}": b"" for i in range(3000)}})
    with pytest.raises(DataError) as error:
        read(path, "x.tgz", "text")
    choices = ", ".join(f"{i:04}" for i in range(20))
    assert str(error.value) == f"x.tgz: has no member 'text'; expected one of {choices}"
    path = packed(tmp_path, "y.tgz", {"../" + "n" * 300: b""})
    with pytest.raises(DataError, match=r"^y.tgz: unsafe archive member, got '../n{97}\.\.\.'; expected"):
        read(path, "y.tgz", "text")


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_tar_that_says_too_much_of_a_member(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "x.tgz", "w:gz") as archive:
        info = tarfile.TarInfo("text")
        info.type, info.size = kind, 1 << 20
        archive.addfile(info, io.BytesIO(bytes(1 << 20)))
    with pytest.raises(DataError, match=r"^x.tgz: says too much about its members; expected an archive of files$"):
        read(tmp_path / "x.tgz", "x.tgz", "text")


def test_a_zip_that_says_too_much_of_its_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path, "x.zip", {f"{i:04}": b"" for i in range(3000)} | {"text": TEXT})
    assert read(path, "x.zip", "text") == TEXT
    monkeypatch.setattr(archives, "DIRECTORY_BYTES", 1 << 17)
    with pytest.raises(DataError, match=r"^x.zip: says too much about its members; expected an archive of files$"):
        read(path, "x.zip", "text")


@pytest.mark.parametrize("most_bytes", [5000, 12_000])
def test_a_tar_that_is_too_large_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_bytes: int) -> None:
    path = packed(tmp_path, "x.tgz", {"text": TEXT})
    with gzip.open(path, "ab") as more:
        more.write(bytes(1 << 22))
    monkeypatch.setattr(archives, "ARCHIVE_BYTES", most_bytes)
    with pytest.raises(DataError, match=f"^x.tgz: unpacks to more than {most_bytes:,} bytes; expected at most that$"):
        read(path, "x.tgz", "text")


def test_of_two_members_of_one_name_the_last_counts(tmp_path: Path) -> None:
    for name in ("x.tgz", "x.zip"):
        path = packed(tmp_path, name, {"text": b"old\n", "more": b"", "tex": TEXT})
        if name == "x.zip":
            path.write_bytes(path.read_bytes().replace(b"more", b"text"))
        else:
            path.write_bytes(gzip.compress(retold(gzip.decompress(path.read_bytes()))))
        assert read(path, name, "text") == b""


def retold(tar: bytes) -> bytes:
    """The tar with its member `more` called `text`, checksum and all."""
    start = tar.index(b"more\0")
    header = bytearray(tar[start : start + 512])
    header[:4] = b"text"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return tar[:start] + bytes(header) + tar[start + 512 :]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_member_of_negative_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sparse: bool) -> None:
    """CVE-2025-8194: tarfile goes back to this very header, again and again; newer ones refuse it themselves."""
    path, calls = packed(tmp_path, "x.tgz", {"more": b"", "text": TEXT}), iter(range(9))
    tar = bytearray(gzip.decompress(path.read_bytes()))
    if sparse:  # whose size in messages is another one, which is right
        tar[156:157], tar[483:495] = tarfile.GNUTYPE_SPARSE, b"%011o\0" % 5
    tar[124:136] = b"\xff" * 10 + (-512).to_bytes(2, "big", signed=True)
    tar[148:156] = b" " * 8
    tar[148:156] = b"%06o\0 " % sum(tar[:512])
    path.write_bytes(gzip.compress(bytes(tar)))

    def following(archive: tarfile.TarFile) -> tarfile.TarInfo | None:
        assert next(calls, None) is not None, "read without end"
        return following_member(archive)

    following_member = tarfile.TarFile.next
    monkeypatch.setattr(tarfile.TarFile, "next", following)
    with pytest.raises(DataError, match=r"^x.tgz: damaged or no tar file, got .+; expected a whole one$") as error:
        read(path, "x.tgz", "text")
    if "invalid offset" not in str(error.value):  # as newer Pythons say
        assert "got member 'more', which ends before it begins;" in str(error.value)
