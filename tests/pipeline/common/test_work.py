"""Work on shards: what is done is not done again, whoever was killed."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from pipeline.common import cores, files, work


def note(shard: int, folder: Path, killer: int = -1) -> int:
    """Note a call, and end this process at one shard."""
    with (folder / f"calls-{shard}").open("a") as calls:
        calls.write("x")
    if shard == killer:
        os.kill(os.getpid(), signal.SIGKILL)
    return shard**2


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stage_goes_on_after_a_worker_was_killed(tmp_path, monkeypatch, workers):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cores, "count", lambda: 2)
    out = tmp_path / "data/clean/toy"
    with pytest.raises(files.DataError, match="rules: a worker was killed"), work.resumable(out, 1) as folder:
        list(work.map_shards(partial(note, folder=tmp_path, killer=3), range(4), folder, "rules"))
    left = {shard: 1 - work.marker(folder, "rules", shard).exists() for shard in range(4)}
    assert left[3] == 1
    monkeypatch.setattr(cores, "count", lambda: workers)
    calls = {
        shard: len(path.read_text()) if (path := tmp_path / f"calls-{shard}").exists() else 0 for shard in range(4)
    }
    with work.resumable(out, 1) as folder:
        assert list(work.map_shards(partial(note, folder=tmp_path), range(4), folder, "rules")) == [0, 1, 4, 9]
        (folder / work.DATA / "done").touch()
    assert {shard: len((tmp_path / f"calls-{shard}").read_text()) for shard in range(4)} == {
        shard: calls[shard] + left[shard] for shard in range(4)
    }
    assert [path.name for path in out.iterdir()] == ["done"]
    with work.resumable(out, 2) as folder:  # other parameters
        list(work.map_shards(partial(note, folder=tmp_path), range(1), folder, "rules"))
    assert len((tmp_path / "calls-0").read_text()) == calls[0] + left[0] + 1


def test_results_are_added():
    one, other = {"a": 1, "b": {"x": 2}, "c": ["d"]}, {"a": 4, "b": {"y": 1}, "c": ["e"]}
    assert work.added(one, other) == {"a": 5, "b": {"x": 2, "y": 1}, "c": ["d", "e"]}
