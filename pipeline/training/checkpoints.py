"""Checkpoints of a training in progress: written atomically, and complete enough to resume from bit for bit."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from ..common.files import DataError, new_file, new_folder, write_json
from ..compute import weights
from . import resuming
from .budget import Training
from .ranks import Ranks
from .state import TrainState

MINUTES = 10.0  # without a checkpoint, after which one is due


class Checkpoints:
    """The folder of one training: `state.safetensors` to resume from, `update_<n>.safetensors` to average or publish.

    `open/` holds a state, with the weights it refers to, from which a longer training goes on. In a state the
    optimizer's tensors are called `optimizer/<key>/<weight>`. A thread writes the files, one checkpoint after the
    other, from copies of the tensors; the next call raises its errors. As a context manager it waits for the last one
    to be written. `identity` says what shapes the training, see `resuming.identity`; `comes_through` whether it would
    come through a state that was saved with other parameters.
    """

    def __init__(
        self,
        folder: Path,
        identity: dict[str, Any],
        comes_through: Callable[[TrainState, dict[str, Any]], bool],
        training: Training,
    ) -> None:
        self.folder, self.identity, self.comes_through = folder, identity, comes_through
        self.last, self.best = training.last_checkpoints, training.best_checkpoints
        self.newest_path = folder / resuming.STATE
        self.open_path = folder / resuming.OPEN / self.newest_path.name
        self.saved_at = time.monotonic()
        self.writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoints")
        self.pending: Future[None] | None = None
        self.is_begun = False  # the files in the folder are of this training

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer, ranks: Ranks) -> TrainState:
        """Load rank 0's newest checkpoint into model and optimizer on every rank; without one, change neither."""
        newest = ranks.broadcast(self.read_newest() if ranks.is_main else None)
        if newest is None:
            return TrainState()
        state, tensors = newest
        model.load_state_dict({name: tensors.pop(name) for name in model.state_dict()})
        order = {name: index for index, (name, _) in enumerate(model.named_parameters())}
        kept: dict[int, dict[str, Tensor]] = {index: {} for index in order.values()}
        for full_name, tensor in tensors.items():
            _, key, name = full_name.split("/", 2)
            kept[order[name]][key] = tensor
        optimizer.load_state_dict({"state": kept, "param_groups": optimizer.state_dict()["param_groups"]})
        self.is_begun = True
        return state

    def read_newest(self) -> tuple[TrainState, dict[str, Tensor]] | None:
        """The newest state of use: readable, of this training, made by the same code, libraries and device; or None."""
        for path in (self.newest_path, self.open_path):
            if not path.exists():
                continue
            try:
                tensors, about = weights.read(path, "a state of this training")
            except DataError as error:
                warn(str(error))
                continue
            if resuming.changes(about | {"params": self.identity["params"]}, self.identity):
                continue
            state = TrainState.from_json(about["state"])
            kept = [path.with_name(self.weights_path(update).name) for update in state.saved]
            if lost := [weights_path for weights_path in kept if not weights_path.exists()]:
                warn(f"{path}: needs {lost[0].name}, which is not there")
            elif self.comes_through(state, about["params"]):
                link(kept, self.folder)
                before, now = (made_by.get("threads") for made_by in (about["made_by"], self.identity["made_by"]))
                if before != now:
                    why = "results will differ by rounding (training.threads fixes the number)"
                    warn(f"{self.folder}: {before} threads so far, {now} from now on; {why}")
                return state, tensors
        return None

    def save(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        state: TrainState,
        *,
        keep: bool,
        write: bool,
        is_open: bool = False,
    ) -> TrainState:
        """Save a state to resume from, and `keep` the weights for averaging; returns the state with these counted.

        Weights that are neither among the last nor the best are dropped. Without `write` only the state changes: that
        is for the other ranks. A longer training may go on from a state that `is_open`.
        """
        self.wait()
        self.saved_at = time.monotonic()
        if keep:
            saved = (*(update for update in state.saved if update != state.update), state.update)
            kept = {*saved[-self.last :], *state.best(self.best)}
            state = state._replace(saved=tuple(update for update in saved if update in kept))
        if write:
            copies = {name: tensor.detach().to("cpu", copy=True) for name, tensor in model.state_dict().items()}
            tensors = copies | {
                f"optimizer/{key}/{name}": value.detach().to("cpu", copy=True)
                for name, parameter in model.named_parameters()
                for key, value in optimizer.state[parameter].items()
            }
            self.pending = self.writer.submit(self.write, copies if keep else {}, tensors, state, is_open)
        return state

    def write(self, kept: dict[str, Tensor], tensors: dict[str, Tensor], state: TrainState, is_open: bool) -> None:
        """The background part of `save`: write weights to keep first, then the state that refers to them.

        Old weights are removed once no state refers to them.
        """
        if not self.is_begun:
            for path in self.folder.glob("*.safetensors"):
                path.unlink()
        if kept:
            weights.save(self.weights_path(state.update), kept)
        weights.save(self.newest_path, tensors, state=state._asdict(), **self.identity)
        for path in {*self.folder.glob("update_*.safetensors")} - {*map(self.weights_path, state.saved)}:
            path.unlink()
        self.is_begun = True
        if is_open:
            with new_folder(self.open_path.parent) as folder:
                link([self.newest_path, *map(self.weights_path, state.saved)], folder)

    def is_overdue(self) -> bool:
        """Whether nothing has been saved for `MINUTES`."""
        return time.monotonic() - self.saved_at >= 60 * MINUTES

    def wait(self) -> None:
        """Return once everything saved is on disk.

        Raises: the error that writing it met.
        """
        if self.pending:
            self.pending.result()
            self.pending = None

    def weights_path(self, update: int) -> Path:
        """The file of an update's weights."""
        return self.folder / f"update_{update:08d}.safetensors"

    def publish(self, folder: Path, state: TrainState) -> None:
        """Copy the weights kept into `folder`; `checkpoints.json` there lists which are the last and the best."""
        self.wait()
        folder.mkdir()
        for update in state.saved:
            with new_file(folder / self.weights_path(update).name, "wb") as file:
                file.write(self.weights_path(update).read_bytes())
        updates = {"last": state.saved[-self.last :], "best": state.best(self.best)}
        names = {key: [self.weights_path(update).name for update in numbers] for key, numbers in updates.items()}
        write_json(folder / "checkpoints.json", names)


def link(paths: Iterable[Path], folder: Path) -> None:
    """Give files, which are never written again, a second place in a folder; as copies if the disk knows no links."""
    for path in paths:
        if (place := folder / path.name) != path:
            place.unlink(missing_ok=True)
            try:
                os.link(path, place)
            except OSError:
                shutil.copyfile(path, place)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    print(f"warning: {text}", file=sys.stderr)
