"""The command `nmt`, in a folder with a system that was built."""

import io
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.commands import nmt
from tests.toys import systems


class Said(NamedTuple):
    """What a command left."""

    status: int
    out: str
    err: str


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A folder with a built system, to which the test goes."""
    systems.lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def toy(project_root, tmp_path, monkeypatch) -> Path:
    """The toy project with its two systems, not built, to which the test goes."""
    toys = project_root / "tests/toys"
    for folder in (project_root / "configs", toys / "configs", toys / "corpora"):
        shutil.copytree(folder, tmp_path / folder.name, dirs_exist_ok=True)
    for path in (project_root / "dvc.yaml", toys / "params.yaml"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch, capsysbinary) -> Callable[..., Said]:
    """Run `nmt` with arguments and, on its standard input, text or bytes."""

    def run_here(*arguments: str, given: str | bytes = b"") -> Said:
        raw = given if isinstance(given, bytes) else given.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
        monkeypatch.setattr(sys, "argv", ["nmt", *arguments])
        with pytest.raises(SystemExit) as caught:
            nmt.app()
        out, err = (text.decode() for text in capsysbinary.readouterr())
        if isinstance(caught.value.code, str):
            return Said(1, out, f"{err}{caught.value.code}\n")
        return Said(int(caught.value.code or 0), out, err)

    return run_here


@pytest.fixture
def fails(run) -> Callable[..., str]:
    """Run `nmt` with arguments that it refuses in one line; the line without `error: `."""

    def fails_here(*arguments: str, given: str | bytes = b"") -> str:
        said = run(*arguments, given=given)
        assert (said.status, said.out) == (1, "")
        assert said.err.startswith("error: ")
        assert said.err.count("\n") == 1
        return said.err.removeprefix("error: ").removesuffix("\n")

    return fails_here
