"""Which store: the project's own, also from the copy in which DVC runs an experiment."""

from pathlib import Path

import pytest

from pipeline import tracking_place


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variables of an experiment, nor of a store."""
    for name in ("DVC_ROOT", "DVC_EXP_NAME", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a queued experiment of the project in `tmp_path`."""
    folder = tmp_path / ".dvc/tmp/exps/standalone/tmpabc"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.setenv("DVC_EXP_NAME", "bushy-lier")
    return folder


def test_a_project_is_where_its_stages_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for root in ("", str(tmp_path), str(tmp_path.parent), "/nowhere"):  # of another project, inherited
        monkeypatch.setenv("DVC_ROOT", root)
        assert tracking_place.project() == tmp_path
        assert tracking_place.folder() == "."
        assert tracking_place.address() == "sqlite:///mlflow.db"
    assert tracking_place.experiment() == ""


def test_an_experiment_belongs_to_the_project_that_it_was_started_in(tmp_path: Path, copy: Path) -> None:
    assert tracking_place.project() == tmp_path
    assert tracking_place.folder() == ".dvc/tmp/exps/standalone/tmpabc"
    assert tracking_place.experiment() == "bushy-lier"


def test_an_experiment_of_a_project_below_the_root_of_its_repository(
    tmp_path: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (copy / "below").mkdir()
    monkeypatch.chdir(copy / "below")
    assert tracking_place.project() == tmp_path


def test_a_linked_project(tmp_path: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    monkeypatch.setenv("DVC_ROOT", str(link))
    assert tracking_place.project() == link


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("", "sqlite:///{root}/mlflow.db"),
        ("sqlite:///mine/runs.db?timeout=9", "sqlite:///{root}/mine/runs.db?timeout=9"),
        ("sqlite:////a/b.db", "sqlite:////a/b.db"),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
    ],
)
def test_the_store_of_an_experiment(
    uri: str, address: str, tmp_path: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert tracking_place.address() == address.format(root=tmp_path)
