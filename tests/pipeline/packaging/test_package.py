"""A packaged folder is checked before it is used: names, sizes, checksums."""

import json
import math
import shutil

import pytest

from pipeline import files
from pipeline.files import DataError
from pipeline.packaging import package


@pytest.fixture
def folder(packaged, tmp_path):
    return shutil.copytree(packaged, tmp_path / "model")


def refusal(folder):
    with pytest.raises(DataError) as caught:
        package.read(folder)
    return str(caught.value)


def test_a_sound_folder_is_read(folder):
    assert package.read(folder).model == "transformer_prenorm"


def test_hidden_files_and_links_are_no_fault(folder, tmp_path):
    """The hub adds .gitattributes, and its cache and DVC's may link files."""
    (folder / ".gitattributes").write_text("*.bin filter=lfs\n")
    (folder / ".cache/more").mkdir(parents=True)
    (folder / ".cache/more/file").write_text("x")
    weights = (folder / package.WEIGHTS).rename(tmp_path / "blob")
    (folder / package.WEIGHTS).symlink_to(weights)
    package.check(folder)


EXPECTED = "expected a folder that the stage `package` wrote"


def test_a_linked_folder_is_refused(folder, tmp_path):
    """Nothing in it would be checked."""
    (folder / ".cache").symlink_to(tmp_path)
    package.check(folder)
    (folder / "vocabulary").rename(tmp_path / "elsewhere")
    (folder / "vocabulary").symlink_to(tmp_path / "elsewhere")
    assert refusal(folder) == f"{folder}/vocabulary: must be a regular file, got another kind or a link; {EXPECTED}"
    with pytest.raises(DataError):
        package.seal(folder)


def test_no_folder(tmp_path):
    assert refusal(tmp_path / "gone") == f"{tmp_path}/gone: no such folder; {EXPECTED}"
    (tmp_path / "file").write_text("")
    assert refusal(tmp_path / "file") == f"{tmp_path}/file: not a folder; {EXPECTED}"


@pytest.mark.parametrize("name", [package.CONFIG, package.WEIGHTS, "vocabulary/joint.model", package.CARD])
def test_every_file_is_missed(folder, name):
    (folder / name).unlink()
    assert refusal(folder) == f"{folder}/{name}: no such file; {EXPECTED}"


def test_a_folder_without_checksums(folder):
    (folder / package.CHECKSUMS).unlink()
    assert refusal(folder) == f"{folder}/checksums.json: no such file; expected what an earlier stage writes"


def test_a_changed_size_is_named(folder):
    with (folder / package.CONFIG).open("a") as file:
        file.write(" ")
    size = (folder / package.CONFIG).stat().st_size
    assert refusal(folder) == f"{folder}/config.json: must have {size - 1} bytes, got {size}; {EXPECTED}"


def test_a_changed_byte_is_named(folder):
    path = folder / "vocabulary/joint.model"
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)
    assert refusal(folder) == f"{path}: other bytes than checksums.json says; {EXPECTED}"


def test_an_added_file_is_named(folder):
    (folder / "vocabulary/source.words.json").write_text("[]")
    assert refusal(folder) == f"{folder}/vocabulary/source.words.json: not in checksums.json; {EXPECTED}"


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../b", ".hidden", "vocabulary/.hidden", "", "a//b"])
def test_a_path_outside_is_refused_before_it_is_read(folder, name):
    listed = files.read_json(folder / package.CHECKSUMS)
    files.write_json(folder / package.CHECKSUMS, {name: listed[package.CARD], **listed})
    said = refusal(folder)
    assert said == f"{folder}/checksums.json: not a file inside the folder, got {name!r}; {EXPECTED}"


def test_a_required_file_must_be_listed(folder):
    listed = files.read_json(folder / package.CHECKSUMS)
    del listed[package.WEIGHTS]
    files.write_json(folder / package.CHECKSUMS, listed)
    assert refusal(folder) == f"{folder}/model.safetensors: not in checksums.json; {EXPECTED}"
    (folder / package.WEIGHTS).unlink()
    assert refusal(folder) == f"{folder}/model.safetensors: no such file; {EXPECTED}"


@pytest.mark.parametrize("text", ["[]", "{", '{"a": 1}', '{"a": {"size": 1, "sha256": "z"}}'])
def test_broken_checksums_are_one_line(folder, text):
    (folder / package.CHECKSUMS).write_text(text)
    assert refusal(folder).startswith(f"{folder}/checksums.json: ")
    assert "\n" not in refusal(folder)


def changed(folder, **values):
    path = folder / package.CONFIG
    path.write_text(json.dumps(files.read_json(path) | values))
    package.seal(folder)


def test_a_later_format_is_told_from_a_broken_one(folder):
    changed(folder, format=3)
    assert refusal(folder) == f"{folder}/config.json: unknown format, got 3; expected 2, or a newer nmt-pipeline"


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("model", "../x", "model: string should match pattern '^[A-Za-z0-9_]+$', got '../x'"),
        ("max_source_pieces", 0, "max_source_pieces: should be greater than 0, got 0"),
        ("scores", {"test": {"bleu": math.nan}}, "scores.test.bleu: should be a finite number, got nan"),
        ("source_language", "f r", "source_language: string should match pattern '^[A-Za-z0-9_-]+$', got 'f r'"),
    ],
)
def test_faults_of_config_json_are_one_line(folder, key, value, what):
    changed(folder, **{key: value})
    assert refusal(folder) == f"{folder}/config.json: {what}; expected {package.EXPECTED}"


def test_config_json_must_be_a_mapping(folder):
    (folder / package.CONFIG).write_text("[]")
    package.seal(folder)
    assert refusal(folder).startswith(f"{folder}/config.json: ")


def test_a_device_in_place_of_a_card_is_not_read(folder):
    """/dev/zero has no end."""
    (folder / package.CARD).unlink()
    (folder / package.CARD).symlink_to("/dev/zero")
    assert refusal(folder).startswith(f"{folder}/README.md: must be a regular file")
