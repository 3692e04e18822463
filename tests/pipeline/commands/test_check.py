"""`nmt check`, which `nmt repro` begins with."""

import shutil

import pytest

from pipeline.commands import lockfile


@pytest.fixture
def folder(project_root, tmp_path, monkeypatch):
    """A folder with the project's params.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_bytes((project_root / "params.yaml").read_bytes())
    shutil.copytree(project_root / "corpora", tmp_path / "corpora")
    return tmp_path


def test_where_all_is_right_nothing_is_said(folder, run, monkeypatch):
    monkeypatch.setattr(lockfile, "keep_or_restore", lambda: None)
    assert run("check") == (0, "", "")


def test_what_was_restored_is_said(folder, run, monkeypatch):
    monkeypatch.setattr(lockfile, "keep_or_restore", lambda: "dvc.lock: restored")
    assert run("check") == (0, "", "dvc.lock: restored\n")


def test_a_fault_of_params_comes_first(folder, fails, monkeypatch):
    monkeypatch.setattr(lockfile, "keep_or_restore", lambda: pytest.fail("called"))
    (folder / "params.yaml").write_text("")
    assert fails("check") == "params.yaml: must be a mapping of sections, got nothing"
