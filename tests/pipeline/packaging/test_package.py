"""A packaged folder is checked before anything in it is opened: kinds, names, sizes, checksums."""

import json
import math
import os
import shutil

import pytest

from pipeline.common import files
from pipeline.common.files import DataError
from pipeline.packaging import package, sealed

EXPECTED = "expected a folder that the stage `package` wrote"


@pytest.fixture
def folder(packaged, tmp_path):
    return shutil.copytree(packaged, tmp_path / "model")


def refusal(folder):
    with pytest.raises(DataError) as caught:
        sealed.read(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def change_config(folder, **values):
    path = folder / sealed.CONFIG
    path.write_text(json.dumps(files.read_json(path) | values))
    package.seal(folder)


def test_hidden_files_and_links_are_no_fault(folder, tmp_path):
    """The hub adds .gitattributes, and its cache and DVC's may link files."""
    (folder / ".gitattributes").write_text("*.bin filter=lfs\n")
    (folder / ".cache/more").mkdir(parents=True)
    (folder / ".cache/more/file").write_text("x")
    weights = (folder / sealed.WEIGHTS).rename(tmp_path / "blob")
    (folder / sealed.WEIGHTS).symlink_to(weights)
    assert sealed.read(folder).model == "transformer_prenorm"


def test_a_linked_folder_is_refused(folder, tmp_path):
    """Nothing in it would be checked."""
    (folder / "vocabulary").rename(tmp_path / "elsewhere")
    (folder / "vocabulary").symlink_to(tmp_path / "elsewhere")
    assert refusal(folder) == f"{folder}/vocabulary: must be a regular file, got another kind or a link; {EXPECTED}"


@pytest.mark.parametrize("name", [sealed.CARD, sealed.CHECKSUMS, "unlisted"])
def test_what_has_no_end_is_not_opened(folder, name):
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    assert refusal(folder).startswith(f"{folder}/{name}: must be a regular file")


def test_no_folder(tmp_path):
    assert refusal(tmp_path / "gone") == f"{tmp_path}/gone: no such folder; {EXPECTED}"
    (tmp_path / "file").write_text("")
    assert refusal(tmp_path / "file") == f"{tmp_path}/file: not a folder; {EXPECTED}"


@pytest.mark.parametrize("name", [sealed.CONFIG, sealed.CHECKSUMS, "vocabulary/joint.model", sealed.CARD])
def test_every_file_is_missed(folder, name):
    (folder / name).unlink()
    assert refusal(folder).startswith(f"{folder}/{name}: no such file; ")


@pytest.mark.parametrize("name", [sealed.CONFIG, sealed.CHECKSUMS, "vocabulary/joint.model"])
def test_a_file_that_would_fill_the_memory_is_not_read(folder, name):
    os.truncate(folder / name, 1 << 26)
    assert refusal(folder) == f"{folder}/{name}: must have 33554432 bytes at most, got 67108864; {EXPECTED}"


def test_a_changed_size_a_changed_byte_and_an_added_file_are_named(folder):
    path = folder / "vocabulary/joint.model"
    whole = path.read_bytes()
    path.write_bytes(whole + b" ")
    assert refusal(folder) == f"{path}: must have {len(whole)} bytes, got {len(whole) + 1}; {EXPECTED}"
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert refusal(folder) == f"{path}: other bytes than checksums.json says; {EXPECTED}"
    path.write_bytes(whole)
    (folder / "vocabulary/source.words.json").write_text("[]")
    assert refusal(folder) == f"{folder}/vocabulary/source.words.json: not in checksums.json; {EXPECTED}"


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../b", ".hidden", "vocabulary/.hidden", "", "a//b"])
def test_a_path_outside_is_refused_before_it_is_read(folder, name):
    listed = files.read_json(folder / sealed.CHECKSUMS)
    files.write_json(folder / sealed.CHECKSUMS, {name: listed[sealed.CARD], **listed})
    assert refusal(folder) == f"{folder}/checksums.json: not a file inside the folder, got {name!r}; {EXPECTED}"


@pytest.mark.parametrize("text", ["[]", "{", '{"a": 1}', '{"a": {"size": 1, "sha256": "z"}}'])
def test_broken_checksums_are_one_line(folder, text):
    (folder / sealed.CHECKSUMS).write_text(text)
    assert refusal(folder).startswith(f"{folder}/checksums.json: ")


def test_a_model_of_hugging_face_is_named(tmp_path):
    files.write_json(tmp_path / "config.json", {"model_type": "marian"})
    what = "is a model of Hugging Face's transformers (see `nmt import`), got 'marian'"
    assert refusal(tmp_path) == f"{tmp_path}: {what}; {EXPECTED}"


@pytest.mark.parametrize(("number", "what"), [(1, "so package the system again"), (3, "or a newer nmt-pipeline")])
def test_another_format_is_told_from_a_broken_one(folder, number, what):
    change_config(folder, format=number, arch=None)
    assert refusal(folder) == f"{folder}/config.json: unknown format, got {number}; expected 2, {what}"


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("model", "../x", "model: string should match pattern '^[A-Za-z0-9_]+$', got '../x'"),
        ("max_source_pieces", 0, "max_source_pieces: should be greater than 0, got 0"),
        ("scores", {"test": {"bleu": math.nan}}, "scores.test.bleu: should be a finite number, got nan"),
    ],
)
def test_faults_of_config_json_are_one_line(folder, key, value, what):
    change_config(folder, **{key: value})
    assert refusal(folder) == f"{folder}/config.json: {what}; {EXPECTED}"
