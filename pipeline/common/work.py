"""Work on shards: in this process, in one for each core, or on a Dask cluster; a stage that was killed goes on.

The bytes of an output depend on the shards, never on who worked.
"""

import hashlib
import json
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from ..console import cli
from . import cores, files
from .parts import Shard

S = TypeVar("S", Shard, int)

DATA = "data"  # of a work folder: what becomes the output
CODE = Path(__file__).parents[1]


@contextmanager
def resumable(out: Path, *identity: Any, inputs: Sequence[Path] = ()) -> Iterator[Path]:
    """A folder as `unfinished` gives it; its `DATA` becomes `out` if the block ends without an error."""
    with unfinished("-".join(out.parts[-2:]), *identity, inputs=inputs) as folder:
        yield folder
        if out.is_dir():
            shutil.rmtree(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        (folder / DATA).rename(out)


@contextmanager
def unfinished(name: str, *identity: Any, inputs: Sequence[Path] = ()) -> Iterator[Path]:
    """A folder in work/ to fill, above all its `DATA`; it goes if the block ends without an error.

    What a killed process left there stays if `identity`, of what JSON knows, the files below `inputs` by size and
    time, and the code are the same; else the folder is empty.
    """
    paths = [path for given in inputs for path in (sorted(given.rglob("*")) if given.is_dir() else [given])]
    stats = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.is_file()]
    key = hashlib.sha256(json.dumps([identity, stats, code()]).encode()).hexdigest()[:16]
    folder = Path("work/shards", f"{name}-{key}")
    for old in folder.parent.glob(f"{name}-{'?' * len(key)}"):
        if old != folder or not (old / DATA).is_dir():
            shutil.rmtree(old)
    (folder / DATA).mkdir(parents=True, exist_ok=True)
    yield folder
    shutil.rmtree(folder)


@cache
def code() -> str:
    """A digest of this library: what another version of it left is not taken up."""
    return files.sha256(*sorted(CODE.rglob("*.py")))


def map_shards(
    function: Callable[[S], Any], shards: Sequence[S], folder: Path, step: str, *, processes: int | None = None
) -> Iterator[Any]:
    """What `function` returns for each shard, of what JSON knows, in order; it leaves a marker in `folder` for each.

    `function` can be pickled, and writes its files before it returns; it is not called for a shard with a marker.
    `processes` on this machine are at most so many; by default one for each core.
    """
    markers = {shard: marker(folder, step, shard) for shard in shards}
    open_shards = [shard for shard in shards if not markers[shard].exists()]
    with executor(len(open_shards), processes) as pool:
        waiting = {shard: pool.submit(run, function, shard, markers[shard]) for shard in open_shards} if pool else {}
        try:
            for shard in shards:
                if shard in waiting:
                    waiting[shard].result()
                elif not markers[shard].exists():
                    run(function, shard, markers[shard])
                yield files.read_json(markers[shard])
        except BrokenExecutor:
            what = "a worker was killed, perhaps for memory; repeat the command, which goes on from what is done"
            raise files.DataError(f"{folder.name}: {step}: {what}") from None
        finally:
            for future in waiting.values():
                future.cancel()


def added(one: Any, other: Any) -> Any:
    """Two results of shards as one: numbers added, lists joined, and so are the values of mappings."""
    if isinstance(one, dict):
        return {
            key: added(one[key], other[key]) if {key} <= one.keys() & other.keys() else value
            for key, value in (one | other).items()
        }
    return one + other


def marker(folder: Path, step: str, shard: Shard | int) -> Path:
    """The file that says that a step is done with a shard, and what it returned."""
    name = shard.name.replace("/", "-") if isinstance(shard, Shard) else str(shard)
    return folder / step / f"{name}.json"


def run(function: Callable[[S], Any], shard: S, path: Path) -> None:
    """Work on one shard, then write its marker."""
    files.write_json(path, function(shard))


@contextmanager
def executor(num_tasks: int, processes: int | None) -> Iterator[Executor | None]:
    """Workers for so many tasks; None for this process alone.

    They are those of the cluster where `DASK_SCHEDULER_ADDRESS` says one; all see this folder under the same path.
    """
    if num_tasks and os.environ.get("DASK_SCHEDULER_ADDRESS"):
        import distributed  # an extra, `nmt-pipeline[cluster]`

        with distributed.Client() as client, client.get_executor(pure=False) as pool:  # type: ignore[no-untyped-call]
            yield pool
    elif (workers := min(num_tasks, processes or cores.count())) > 1:
        spawn = multiprocessing.get_context("spawn")  # a fork would copy the locks that the caller's threads hold
        with ProcessPoolExecutor(workers, spawn, initializer=cli.end_with_parent) as pool:
            yield pool
    else:
        yield None
