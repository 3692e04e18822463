"""dvc.lock cut where a kill may cut it: what is left can be read by DVC, and nothing that was readable is touched."""

import random
import subprocess

import pytest
from dvc.dvcfile import Lockfile
from dvc.repo import Repo

from pipeline.commands import lockfile


@pytest.fixture
def project(project_root, tmp_path, monkeypatch):
    """A DVC project with this one's dvc.lock, or the beginning of it: a tenth is cut in every way that all of it is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "site"))
    subprocess.run(["git", "init", "--quiet"], check=True)
    Repo.init().close()
    lines = (project_root / "dvc.lock").read_text(encoding="utf-8").splitlines(keepends=True)
    stages = [number for number, line in enumerate(lines) if line.startswith("  ") and line[2] != " "]
    (tmp_path / "dvc.lock").write_text("".join(lines[: stages[4]]), encoding="utf-8")
    return tmp_path


def test_cut_anywhere_it_can_be_read_again(project, campaign):
    path, repo = project / "dvc.lock", Repo()
    whole = path.read_bytes()
    lockfile.keep_or_restore()
    draw = random.Random(1)
    cuts = [0, 1, len(whole) - 1, *(draw.randrange(len(whole)) for _ in range(campaign.trials(full=400, short=12)))]
    for cut in cuts:
        with campaign.trying("dvc.lock cut short by a kill"):
            path.write_bytes(whole[:cut])
            said = lockfile.held()
            assert path.read_bytes() == (whole if said else whole[:cut])
            Lockfile(repo, str(path)).load()  # as DVC itself reads it
            path.write_bytes(whole)
            lockfile.held()
