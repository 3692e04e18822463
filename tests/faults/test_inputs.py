"""A broken file of an earlier stage: each stage that reads it says so in one line, or does as if it were whole."""

import contextlib
import importlib
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline import cli
from tests.toys import tiny_project
from tests.toys.tiny_project import Built, Stage

STAGES = tiny_project.stages()
SHORT = ("split",)
BREAK = {
    "removed": lambda data, rng: None,
    "random bytes": lambda data, rng: rng.randbytes(len(data)),
    "emptied": lambda data, rng: b"",
    "cut to half": lambda data, rng: data[: len(data) // 2],
    "short of its last byte": lambda data, rng: data[:-1],
    "one byte changed": lambda data, rng: changed(data, rng),
}
SLOW = {"report": ("short of its last byte", "another's")}  # mostly valid files, from which it draws for seconds
VALID = ("short of its last byte", "one byte changed", "another's")  # may be a valid file too, with other outputs


def changed(data: bytes, rng: random.Random) -> bytes:
    """The data with one byte another; where there is none, with one byte."""
    if not data:
        return b"\0"
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :]


@pytest.fixture
def project(built: Built, tmp_path, monkeypatch) -> Path:
    """A copy of the tiny project to spoil, as the working directory."""
    shutil.copytree(built.root, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    for name, value in tiny_project.environment().items():
        monkeypatch.setenv(name, value)
    return tmp_path / "project"


def test_broken_inputs_are_one_line(project, built, campaign, capsys):
    rng = random.Random(1)
    for stage in STAGES.values():
        if campaign.full or stage.name in SHORT:
            unread = set()  # what a stage does not miss it does not read: broken in no other way
            for path, how, data in faults(stage, project, rng):
                if path in unread or how in SLOW.get(stage.name, ()):
                    continue
                kind, which = f"broken input of stage {stage.name}", f"{path.relative_to(project)} {how}"
                with campaign.trying(kind, which), spoilt(path, data):
                    said = outcome(stage, project)
                    assert said is not None or how in VALID or same(stage, project, built), "other outputs"
                    if said is None and how == "removed":
                        unread.add(path)
                capsys.readouterr()
            restore(stage, built, project)


def faults(stage: Stage, project: Path, rng: random.Random) -> Iterator[tuple[Path, str, bytes | None]]:
    """Every file that the stage reads, broken in every way, and with what another of its kind holds."""
    files = sorted({file for name in stage.inputs for file in tiny_project.contents(project, [name])})
    for name in files:
        path = project / name
        data = path.read_bytes()
        for how, broken in BREAK.items():
            yield path, how, broken(data, rng)
        alike = [project / other for other in files if other != name and Path(other).suffix == path.suffix]
        if alike:
            yield path, "another's", rng.choice(alike).read_bytes()


@contextlib.contextmanager
def spoilt(path: Path, data: bytes | None) -> Iterator[None]:
    """The file with other data, or without any, for a while."""
    kept = path.read_bytes()
    path.unlink() if data is None else path.write_bytes(data)
    try:
        yield
    finally:
        path.write_bytes(kept)


def restore(stage: Stage, built: Built, project: Path) -> None:
    """Give the project the undisturbed outs of a stage again: those of its last fault would be inputs of later ones."""
    tiny_project.remove(project, stage.outs)
    for out in stage.outs:
        old, new = built.root / out, project / out
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(old, new) if old.is_dir() else shutil.copyfile(old, new)


def outcome(stage: Stage, project: Path) -> str | None:
    """What the stage says of a mistake of its user's; None if it ends well. Anything else it raises goes through."""
    for name in ("work/train", "work/logs"):
        shutil.rmtree(project / name, ignore_errors=True)
    main: Callable[..., None] = importlib.import_module(f"stages.{stage.name}").main
    try:
        main(*stage.axes)
    except Exception as error:
        said = cli.mistake(error)
        if said is None:
            raise
        assert said.count("\n") == 0, said
        assert "expected" in said or "must " in said, said
        return said
    return None


def same(stage: Stage, project: Path, built: Built) -> bool:
    """Whether the outs are those of the undisturbed stage."""
    return tiny_project.contents(project, stage.outs) == built.outs[stage.name]
