"""`nmt check`, which `nmt repro` begins with."""

import shutil

import pytest

from pipeline import device
from pipeline.commands import lockfile
from pipeline.system import Build


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


@pytest.mark.parametrize(
    ("precision", "has_bf16", "warned"), [("bf16", False, True), ("bf16", True, False), ("auto", False, False)]
)
def test_a_precision_that_the_machine_is_slow_in_is_named(folder, run, monkeypatch, precision, has_bf16, warned):
    monkeypatch.setattr(lockfile, "keep_or_restore", lambda: None)
    monkeypatch.setattr(device, "has_bf16", lambda where: has_bf16)
    text = (folder / "params.yaml").read_text(encoding="utf-8").replace("precision: fp32", f"precision: {precision}")
    (folder / "params.yaml").write_text(text, encoding="utf-8")
    said = run("check")
    assert (said.status, said.out) == (0, "")
    names = [line.split(": ")[2] for line in said.err.splitlines()]
    assert names == ([f"models.{model}.tiny.precision" for model in Build.load("build").models] if warned else [])
    assert all(line.startswith("warning: params.yaml: models.") for line in said.err.splitlines())
