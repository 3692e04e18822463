"""What surrounds a run in MLflow: leftovers swept when a store opens, batches, and the commit it ran at."""

import subprocess
import sys
from pathlib import Path

import pytest
from pipeline.tracking.deadline import Deadline

from pipeline.system import System
from pipeline.tracking import database as tracking_database
from pipeline.tracking import store as tracking_store


def test_opening_a_store_sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / f"mlflow.db.{gone.pid}.partial").touch()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setattr(tracking_database, "create", lambda path: (_ for _ in ()).throw(TimeoutError))
    store = tracking_store.Store("system", "toy", stage="report", fingerprint="0", deadline=Deadline())
    with pytest.raises(TimeoutError):
        store.open(0)
    assert list(tmp_path.iterdir()) == []


def test_names_begin_with_what_differs() -> None:
    system = System("phrasebook_fr_en", "bpe_2k", "rnnsearch", "tiny")
    name = "rnnsearch-tiny · bpe_2k · phrasebook_fr_en"
    assert tracking_store.run_name(system.id) == name
    assert tracking_store.run_name(system.id, "score", "beam 5") == f"score, beam 5 · {name}"
    assert tracking_store.system_tags(system.id) == {"system": system.id, **system.axes}


def test_a_further_seed_is_in_the_name_and_a_tag() -> None:
    system = System("phrasebook_fr_en", "bpe_2k", "rnnsearch", "tiny", "2")
    assert tracking_store.run_name(system.id) == "rnnsearch-tiny · seed 2 · bpe_2k · phrasebook_fr_en"
    assert tracking_store.system_tags(system.id) == {"system": system.id, **system.axes, "seed": "2"}


def test_an_id_of_other_parts_is_the_name() -> None:
    assert tracking_store.run_name("toy") == "toy"
    assert tracking_store.system_tags("toy") == {"system": "toy"}


def test_a_user_without_a_name_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "somebody")
    assert tracking_store.user() == "somebody"

    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr("getpass.getuser", nameless)
    assert tracking_store.user() == "unknown"


def test_batches() -> None:
    assert list(tracking_store.batches([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    assert list(tracking_store.batches([], 2)) == []


def test_commit_is_known_in_a_repository_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert tracking_store.git_commit() is None
    subprocess.run(["git", "init", "-q"], check=True)
    assert tracking_store.git_commit() is None
    identity = ["-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", "m"], check=True)
    assert len(tracking_store.git_commit() or "") == 40
