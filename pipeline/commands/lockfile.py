"""Repairs dvc.lock and DVC's own locks: DVC writes them in place, so a kill may leave a part that it cannot read."""

import json
import re
import subprocess
from pathlib import Path

from dvc.exceptions import DvcException
from dvc.lock import make_lock
from dvc.repo import Repo
from dvc.rwlock import RWLOCK_FILE, RWLOCK_LOCK
from dvc.schema import COMPILED_LOCKFILE_SCHEMA
from dvc.utils.serialize import parse_yaml
from voluptuous import Invalid

from pipeline import files

PATH = Path("dvc.lock")
COPY = Path("work/dvc.lock")  # as it was when it could last be read
BROKEN = Path("work/dvc.lock.broken")  # as it was before it was repaired
CONFLICT = re.compile(rb"^(<<<<<<<|>>>>>>>) ", re.MULTILINE)  # as git marks the two sides of a merge


def keep_or_restore() -> str | None:
    """Keep a copy of a readable dvc.lock; replace an unreadable one by the copy, or by that of the last commit.

    Returns what was repaired, one sentence a file; None if nothing was. That is also so if another `dvc` holds the
    lock, or this is no repository: DVC itself says so.
    Raises: DataError if dvc.lock holds the conflicts of a merge.
    """
    try:
        repo = Repo()
        with repo.lock:  # nobody writes it meanwhile
            return "\n".join(filter(None, (held(), remove_cut_rwlock(Path(repo.tmp_dir or "."))))) or None
    except DvcException:
        return None


def remove_cut_rwlock(folder: Path) -> str | None:
    """Remove DVC's list of the paths that running stages use, if a kill left only a part of it."""
    path = folder / RWLOCK_FILE
    with make_lock(str(folder / RWLOCK_LOCK), tmp_dir=str(folder)):  # no stage that runs writes it meanwhile
        try:
            json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            path.unlink()
            return f"{path.relative_to(Path.cwd())}: cut short by a kill, removed; DVC makes it anew"
    return None


def held() -> str | None:
    """The same of dvc.lock alone, while no other process writes it; what was unreadable is kept as `BROKEN`.

    Raises: DataError if it holds the conflicts of a merge.
    """
    if not PATH.exists():
        return None
    text = PATH.read_bytes()
    if is_readable(text):
        if not COPY.exists() or text.count(b"cmd: ") >= COPY.read_bytes().count(b"cmd: "):
            write(COPY, text)  # of no fewer stages: cut between two lines, it can be read too
        return None
    if CONFLICT.search(text):
        raise files.DataError(
            f"{PATH}: not valid YAML, got the conflicts of a git merge; expected both sides put together, or "
            f"`git checkout HEAD {PATH}` and `nmt repro`"
        )
    write(BROKEN, text)
    cut = f"{PATH}: cut short by a kill, kept as {BROKEN}"
    for name, found in ((str(COPY), COPY.read_bytes() if COPY.exists() else None), ("git", committed())):
        if found is not None and is_readable(found):
            write(PATH, found)
            return f"{cut}, restored from {name}; what was built since comes from DVC's cache"
    PATH.unlink()
    return f"{cut}, removed; what was built comes from DVC's cache"


def is_readable(text: bytes) -> bool:
    """Whether DVC can read a dvc.lock of these bytes, and has written its last line to the end."""
    if not text.endswith(b"\n"):
        return False
    try:
        COMPILED_LOCKFILE_SCHEMA(parse_yaml(text.decode("utf-8"), str(PATH)))
    except (DvcException, Invalid, UnicodeDecodeError):
        return False
    return True


def committed() -> bytes | None:
    """The dvc.lock of the last commit, if any."""
    try:
        found = subprocess.run(["git", "show", f"HEAD:./{PATH}"], capture_output=True, check=False)
    except OSError:  # no git
        return None
    return None if found.returncode else found.stdout


def write(path: Path, text: bytes) -> None:
    """Write a file atomically."""
    with files.new_file(path, "wb") as file:
        file.write(text)
