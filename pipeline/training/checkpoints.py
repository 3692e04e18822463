"""Checkpoints of a training under way: safe to read, whole or not there, enough to go on bit for bit."""

import os
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from pipeline.files import DataError, copy_file, write_json
from pipeline.terminal import printable
from pipeline.training import sealed
from pipeline.training.ranks import Ranks
from pipeline.training.record import Record

MINUTES = "CHECKPOINT_MINUTES"  # at most between two states; the trained model does not depend on it


class MinutesError(ValueError):
    """No time to wait for."""


def minutes() -> float:
    """The environment variable `CHECKPOINT_MINUTES`, or 10.

    Raises: MinutesError.
    """
    text = os.environ.get(MINUTES, "10")
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not found > 0:
        raise MinutesError(f"environment variable {MINUTES}: must be a number above 0, got {text!r}")
    return found


class State(NamedTuple):
    """A state that is whole: the bytes of its file, and what they say."""

    data: bytes
    content: sealed.Content


class Checkpoints:
    """The folder of one training: `state.safetensors` to go on from, `update_<n>.safetensors` to average or keep.

    Files are written in the background, one checkpoint after the other, from a copy of the tensors; what goes wrong
    there is raised by the next call.
    """

    def __init__(self, folder: Path, *, last: int, best: int) -> None:
        self.folder, self.last, self.best = folder, last, best
        self.state, self.previous = folder / "state.safetensors", folder / "previous.safetensors"
        self.saved_at = time.monotonic()
        self.writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoints")
        self.pending: Future[None] | None = None
        self.counted: tuple[int, ...] = ()  # updates whose weights the newest state on the disk counts on

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer, ranks: Ranks) -> Record:
        """Put model and optimizer where rank 0's newest state left them, or leave them as they are if there is none."""
        newest = self.newest() if ranks.leads else None
        data = ranks.tell(newest and newest.data)
        if data is None:
            return Record()
        tensors, told = newest.content if newest else sealed.read(data)
        record = Record.of(told["record"])
        model.load_state_dict({name: tensor for name, tensor in tensors.items() if not name.startswith("optimizer/")})
        restore(optimizer, model, tensors)
        self.counted = record.saved
        return record

    def newest(self) -> State | None:
        """The newest state that is whole with all the weights it counts on, None where there is none.

        One that is broken is said and removed.
        """
        states = [path for path in (self.state, self.previous) if path.exists()]
        for path in states:
            try:
                return self.whole(path)
            except DataError as error:
                print(printable(f"warning: {error}; passed over for the checkpoint before it"), file=sys.stderr)
            path.unlink()
        if states:
            print(
                printable(f"warning: {self.folder}: no checkpoint is whole; the training starts afresh"),
                file=sys.stderr,
            )
        return None

    def whole(self, state: Path) -> State:
        """What a state holds.

        Raises: DataError naming what is broken: its file, or the weights of an update that it counts on.
        """
        path, data = state, state.read_bytes()
        try:
            content = sealed.read(data)
            for path in map(self.path, content[1]["record"]["saved"]):
                sealed.read(path.read_bytes())
        except (SafetensorError, ValueError, KeyError, FileNotFoundError) as error:
            raise DataError(f"{path}: broken ({error})") from None
        return State(data, content)

    def save(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, record: Record, *, keep: bool, write: bool
    ) -> Record:
        """Save the state after the update just made, and `keep` its weights; the record with that.

        Weights that no average can need any more, not even of the state before, are dropped. Only the record changes
        where it is not to `write`.
        """
        self.wait()
        self.saved_at = time.monotonic()
        update = record.next.update - 1
        if keep:
            record = record._replace(saved=(*(u for u in record.saved if u != update), update))
            record = record._replace(saved=tuple(u for u in record.saved if u in self.kept(record)))
        if not write:
            return record
        weights = {name: tensor.detach().to("cpu", copy=True) for name, tensor in model.state_dict().items()}
        state = weights | states(optimizer, model)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.pending = self.writer.submit(self.put, self.path(update) if keep else None, weights, state, record)
        return record

    def put(self, path: Path | None, weights: dict[str, Tensor], state: dict[str, Tensor], record: Record) -> None:
        """What `save` does in the background: the weights, if they are kept, before the state that counts on them.

        Weights are dropped once neither this state nor the one before it counts on them.
        """
        if path:
            sealed.write(path, weights, {})
        if self.state.exists():
            self.state.replace(self.previous)
        sealed.write(self.state, state, {"record": record._asdict()})
        for old in self.folder.glob("update_*.safetensors"):
            if old not in map(self.path, (*record.saved, *self.counted)):
                old.unlink()
        self.counted = record.saved

    def is_overdue(self) -> bool:
        """Whether nothing has been saved for `CHECKPOINT_MINUTES`."""
        return time.monotonic() - self.saved_at >= 60 * minutes()

    def wait(self) -> None:
        """Return once everything saved is on the disk.

        Raises: what went wrong while it was written.
        """
        if self.pending:
            self.pending.result()
            self.pending = None

    def kept(self, record: Record) -> set[int]:
        """The last k saved updates and the best k."""
        return {*record.saved[-self.last :], *record.best(self.best)}

    def path(self, update: int) -> Path:
        """Where the weights of an update are."""
        return self.folder / f"update_{update:08d}.safetensors"

    def publish(self, folder: Path, record: Record) -> None:
        """Copy the weights that were kept into `folder`, with `checkpoints.json` saying which are last and best."""
        self.wait()
        folder.mkdir()
        for update in record.saved:
            copy_file(self.path(update), folder / self.path(update).name)
        names = {"last": record.saved[-self.last :], "best": record.best(self.best)}
        write_json(folder / "checkpoints.json", {key: [self.path(u).name for u in v] for key, v in names.items()})


def states(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The optimizer's tensors by name: `optimizer/<key>/<weight>`."""
    return {
        f"optimizer/{key}/{name}": value.detach().to("cpu", copy=True)
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def restore(optimizer: torch.optim.Optimizer, model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Give the optimizer back what `states` took."""
    order = {name: index for index, (name, _) in enumerate(model.named_parameters())}
    state: dict[int, dict[str, Any]] = {index: {} for index in order.values()}
    for full, tensor in tensors.items():
        if full.startswith("optimizer/"):
            _, key, name = full.split("/", 2)
            state[order[name]][key] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
