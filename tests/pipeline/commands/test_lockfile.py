"""A dvc.lock that a kill cut short, with and without a copy beside it."""

import subprocess

import pytest
from dvc.repo import Repo

from pipeline.commands import lockfile
from pipeline.files import DataError

LOCK = """\
schema: '2.0'
stages:
  clean@toy:
    cmd: python -m stages.clean toy
    deps:
    - path: data/download/toy
      hash: md5
      md5: 3b1e1f1c6bb9ae8a2fa5d1a7fb1a3b41.dir
      size: 12
      nfiles: 2
    outs:
    - path: data/clean/toy
      hash: md5
      md5: 2b1e1f1c6bb9ae8a2fa5d1a7fb1a3b42.dir
      size: 12
      nfiles: 2
"""
OLDER, CUT = LOCK.replace("size: 12", "size: 11"), LOCK[: LOCK.index("outs:") + 5]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "site"))
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    subprocess.run(["git", "init", "--quiet"], check=True)
    Repo.init().close()
    return tmp_path


def commit():
    subprocess.run(["git", "add", "dvc.lock"], check=True)
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *who, "commit", "--quiet", "--message", "x"], check=True)


def test_a_good_file_stays_and_a_copy_is_kept(project):
    (project / "dvc.lock").write_text(LOCK)
    assert lockfile.keep_or_restore() is None
    assert (project / "dvc.lock").read_text() == (project / "work/dvc.lock").read_text() == LOCK


@pytest.mark.parametrize("left", ["", '{"write": {"/a": {"pid": 1'])
def test_a_cut_list_of_paths_in_use_is_removed(project, left):
    """As SIGKILL leaves it; with it, every `dvc repro` says that its JSON structure is corrupted."""
    (project / ".dvc/tmp").mkdir(exist_ok=True)
    (project / ".dvc/tmp/rwlock").write_text(left)
    assert lockfile.keep_or_restore() == ".dvc/tmp/rwlock: cut short by a kill, removed; DVC makes it anew"
    assert not (project / ".dvc/tmp/rwlock").exists()
    assert lockfile.keep_or_restore() is None


def test_a_whole_list_of_paths_in_use_stays(project):
    (project / ".dvc/tmp").mkdir(exist_ok=True)
    (project / ".dvc/tmp/rwlock").write_text('{"write": {}, "read": {}}')
    assert lockfile.keep_or_restore() is None
    assert (project / ".dvc/tmp/rwlock").exists()


def test_a_cut_file_is_restored_from_the_copy(project):
    (project / "dvc.lock").write_text(OLDER)
    commit()
    (project / "dvc.lock").write_text(LOCK)
    assert lockfile.keep_or_restore() is None
    (project / "dvc.lock").write_text(CUT)
    assert lockfile.keep_or_restore() == (
        "dvc.lock: cut short by a kill, kept as work/dvc.lock.broken, restored from work/dvc.lock; "
        "what was built since comes from DVC's cache"
    )
    assert (project / "dvc.lock").read_text() == LOCK
    assert (project / "work/dvc.lock.broken").read_text() == CUT


def test_a_copy_of_more_stages_is_kept(project):
    (project / "dvc.lock").write_text(LOCK + LOCK[LOCK.index("  clean@toy") :].replace("clean@toy", "split@toy"))
    assert lockfile.keep_or_restore() is None
    (project / "dvc.lock").write_text(LOCK)
    assert lockfile.keep_or_restore() is None
    assert "split@toy" in (project / "work/dvc.lock").read_text()
    assert (project / "dvc.lock").read_text() == LOCK


@pytest.mark.parametrize("copy", [None, CUT])
def test_without_a_good_copy_git_has_one(project, copy):
    (project / "dvc.lock").write_text(LOCK)
    commit()
    (project / "dvc.lock").write_text(CUT)
    if copy:
        (project / "work").mkdir()
        (project / "work/dvc.lock").write_text(copy)
    assert lockfile.keep_or_restore() == (
        "dvc.lock: cut short by a kill, kept as work/dvc.lock.broken, restored from git; "
        "what was built since comes from DVC's cache"
    )
    assert (project / "dvc.lock").read_text() == LOCK


def test_without_any_other_it_goes(project):
    (project / "dvc.lock").write_text(CUT)
    assert lockfile.keep_or_restore() == (
        "dvc.lock: cut short by a kill, kept as work/dvc.lock.broken, removed; what was built comes from DVC's cache"
    )
    assert not (project / "dvc.lock").exists()
    assert (project / "work/dvc.lock.broken").read_text() == CUT
    assert lockfile.keep_or_restore() is None


def test_conflicts_of_a_merge_are_left_to_the_user(project):
    """Git's copy and ours have one side only."""
    (project / "dvc.lock").write_text(LOCK)
    commit()
    assert lockfile.keep_or_restore() is None
    ours, theirs = "      size: 12\n", "      size: 11\n"
    conflict = LOCK.replace(ours, f"<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> theirs\n", 1)
    (project / "dvc.lock").write_text(conflict)
    with pytest.raises(DataError) as error:
        lockfile.keep_or_restore()
    assert str(error.value) == (
        "dvc.lock: not valid YAML, got the conflicts of a git merge; expected both sides put together, or "
        "`git checkout HEAD dvc.lock` and `nmt repro`"
    )
    assert (project / "dvc.lock").read_text() == conflict


def test_while_another_dvc_works_nothing_is_touched(project):
    (project / "dvc.lock").write_text(CUT)
    with Repo().lock:
        assert lockfile.keep_or_restore() is None
    assert (project / "dvc.lock").read_text() == CUT


def test_what_dvc_reads_is_readable():
    assert lockfile.is_readable(LOCK.encode())


@pytest.mark.parametrize(
    "text", [b"", CUT.encode(), b"schema: '2", b"\xc3", b"\x00\x00", b"<<<<<<< HEAD\n", b"[]\n- a"]
)
def test_what_dvc_cannot_read_is_not(text):
    assert not lockfile.is_readable(text)


def test_outside_a_repository_dvc_is_left_to_say_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dvc.lock").write_text(CUT)
    assert lockfile.keep_or_restore() is None
    Repo.init(no_scm=True).close()
    (tmp_path / ".dvc/config").write_text("")  # an archive of the project, without its .git
    assert lockfile.keep_or_restore() is None
    assert (tmp_path / "dvc.lock").read_text() == CUT
