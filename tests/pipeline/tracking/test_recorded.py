"""What dvc.lock says of an output; without DVC, or while DVC writes the file, nothing."""

from pathlib import Path

import pytest

from pipeline.tracking import recorded

LOCK = """schema: '2.0'
stages:
  encode@toy:
    deps:
    - path: data/split/toy
      hash: md5
      md5: 1111.dir
    outs:
    - path: data/encode/toy
      hash: md5
      md5: 2222.dir
      size: 7
  train@toy:
    deps:
    - path: data/encode/toy/train
      hash: md5
      md5: 3333.dir
    outs:
    - path: runs/toy
      hash: md5
"""


@pytest.mark.parametrize(
    ("path", "md5"),
    [("data/encode/toy", "2222.dir"), ("data/encode/toy/train", ""), ("data/split/toy", ""), ("runs/toy", "")],
)
def test_outputs_only(tmp_path: Path, path: str, md5: str) -> None:
    """A dependency may be older than what the run reads; an output without a sum has none."""
    (tmp_path / "dvc.lock").write_text(LOCK)
    assert recorded.md5(Path(path), tmp_path / "dvc.lock") == md5


def test_no_lock_or_a_broken_one(tmp_path: Path) -> None:
    lock = tmp_path / "dvc.lock"
    assert recorded.md5(Path("runs/toy"), lock) == ""
    lock.write_bytes(b"\xff\xfe")
    assert recorded.md5(Path("runs/toy"), lock) == ""
    lock.write_text(LOCK[: LOCK.index("2222")])
    assert recorded.md5(Path("data/encode/toy"), lock) == ""
