"""Checkpoints of a training in progress: written atomically, and complete enough to resume from bit for bit."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from pipeline.files import DataError, copy_file, write_json
from pipeline.terminal import printable
from pipeline.training import checkpoint_file
from pipeline.training.ranks import Ranks
from pipeline.training.state import TrainState

MINUTES = "CHECKPOINT_MINUTES"  # an environment variable, not a parameter: it does not change the trained model


class MinutesError(ValueError):
    """CHECKPOINT_MINUTES is not a positive number."""


def checkpoint_minutes() -> float:
    """Minutes without a checkpoint after which one is due: the environment variable `CHECKPOINT_MINUTES`, or 10.

    Raises: MinutesError.
    """
    text = os.environ.get(MINUTES, "10")
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise MinutesError(f"environment variable {MINUTES}: must be a number above 0, got {text!r}")
    return number


class LostWeightsError(DataError):
    """A state is intact, but weights that it refers to are not."""


class Checkpoints:
    """The folder of one training: `state.safetensors` to resume from, `update_<n>.safetensors` to average or publish.

    A thread writes the files, one checkpoint after the other, from copies of the tensors; the next call raises its
    errors. As a context manager it waits for the last one to be written.
    """

    def __init__(self, folder: Path, made_by: dict[str, str], *, last: int, best: int) -> None:
        self.folder, self.made_by, self.last, self.best = folder, made_by, last, best
        self.newest_path, self.previous_path = folder / "state.safetensors", folder / "previous.safetensors"
        self.num_threads = torch.get_num_threads()  # of this process
        self.saved_at = time.monotonic()
        self.writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoints")
        self.pending: Future[None] | None = None
        self.needed: tuple[int, ...] | None = None  # updates whose weights the newest state refers to, if there is one

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer, ranks: Ranks) -> TrainState:
        """Load rank 0's newest checkpoint into model and optimizer on every rank; without one, change neither.

        A checkpoint that other code, libraries or another device made is reported, and as good as none.

        Raises: DataError on rank 0 if weights that every state refers to are lost.
        """
        data = ranks.broadcast(self.read_same() if ranks.is_main else None)
        if data is None:
            return TrainState()
        tensors, metadata = checkpoint_file.parse(data)
        state = TrainState.from_json(metadata["record"])
        device = next(model.parameters()).device
        if ranks.is_main and device.type == "cpu" and metadata["threads"] != self.num_threads:
            warn(
                f"{self.folder}: trained by {metadata['threads']} threads so far, by {self.num_threads} from now on; "
                "results will differ by rounding from those of either number (training.<corpus>.threads fixes it)"
            )
        model.load_state_dict({name: tensor for name, tensor in tensors.items() if not name.startswith("optimizer/")})
        load_optimizer(optimizer, model, tensors)
        self.needed = state.saved
        return state

    def read_same(self) -> bytes | None:
        """The newest state, unless something else made it than what would go on from it."""
        if (data := self.read_newest()) is None:
            return None
        _, metadata = checkpoint_file.parse(data)
        other = [name for name, value in metadata["made_by"].items() if self.made_by.get(name) != value]
        if not other:
            return data
        updates = TrainState.from_json(metadata["record"]).update
        warn(f"{self.folder}: trains from scratch, {updates} updates are lost: made with another {', '.join(other)}")
        return None

    def read_newest(self) -> bytes | None:
        """The newest state file that is intact, as are all the weights it refers to; None if there is none.

        A broken state is reported, and removed once another one takes its place.

        Raises: DataError if a state is intact, but weights are lost that it and the other one need: nothing is removed.
        """
        paths = [path for path in (self.newest_path, self.previous_path) if path.exists()]
        faults: list[DataError] = []
        for number, path in enumerate(paths, 1):
            try:
                found = self.read_intact(path)
            except DataError as error:
                faults.append(error)
                if number < len(paths):
                    warn(f"{error}; using the checkpoint before it")
            else:
                remove(paths[: number - 1])
                return found
        if lost := next((fault for fault in faults if isinstance(fault, LostWeightsError)), None):
            raise DataError(f"{lost}; restore this file, or remove {self.folder} to train from scratch")
        if paths:
            warn(str(faults[-1]))
            warn(f"{self.folder}: no checkpoint is intact; training starts from scratch")
            remove(paths)
        return None

    def read_intact(self, path: Path) -> bytes:
        """The bytes of a state file.

        Raises: DataError if it is broken. LostWeightsError naming the file if weights that it refers to are broken.
        """
        data = path.read_bytes()
        with broken_as(DataError, path):
            _, metadata = checkpoint_file.parse(data)
        for kept in map(self.weights_path, metadata["record"]["saved"]):
            with broken_as(LostWeightsError, kept):
                checkpoint_file.parse(kept.read_bytes())
        return data

    def save(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, state: TrainState, *, keep: bool, write: bool
    ) -> TrainState:
        """Save a state to resume from, and `keep` the weights for averaging; returns the state with these counted.

        Weights that are neither among the last nor the best are dropped. Without `write` only the state changes: that
        is for the other ranks.
        """
        self.wait()
        self.saved_at = time.monotonic()
        if keep:
            state = state._replace(saved=(*(u for u in state.saved if u != state.update), state.update))
            state = state._replace(saved=tuple(u for u in state.saved if u in self.last_and_best(state)))
        if not write:
            return state
        weights = {name: tensor.detach().to("cpu", copy=True) for name, tensor in model.state_dict().items()}
        path = self.weights_path(state.update) if keep else None
        self.folder.mkdir(parents=True, exist_ok=True)
        self.pending = self.writer.submit(self.write, path, weights, optimizer_tensors(optimizer, model), state)
        return state

    def write(
        self, path: Path | None, weights: dict[str, Tensor], optimizer: dict[str, Tensor], state: TrainState
    ) -> None:
        """The background part of `save`: write weights to keep first, then the state that refers to them.

        Old weights are removed once neither this state nor the one before refers to them.
        """
        if self.needed is None:
            remove(self.folder.glob("*.safetensors"))  # of a training that this one did not resume
        if path:
            checkpoint_file.write(path, weights, {})
        if self.newest_path.exists():
            self.newest_path.replace(self.previous_path)
        metadata = {"record": state._asdict(), "made_by": self.made_by, "threads": self.num_threads}
        checkpoint_file.write(self.newest_path, weights | optimizer, metadata)
        for old in self.folder.glob("update_*.safetensors"):
            if old not in map(self.weights_path, (*state.saved, *(self.needed or ()))):
                old.unlink()
        self.needed = state.saved

    def is_overdue(self) -> bool:
        """Whether nothing has been saved for `CHECKPOINT_MINUTES`."""
        return time.monotonic() - self.saved_at >= 60 * checkpoint_minutes()

    def wait(self) -> None:
        """Return once everything saved is on disk.

        Raises: the error that writing it met.
        """
        if self.pending:
            self.pending.result()
            self.pending = None

    def last_and_best(self, state: TrainState) -> set[int]:
        """The updates whose weights are kept: the last and the best ones."""
        return {*state.saved[-self.last :], *state.best(self.best)}

    def weights_path(self, update: int) -> Path:
        """The file of an update's weights."""
        return self.folder / f"update_{update:08d}.safetensors"

    def publish(self, folder: Path, state: TrainState) -> None:
        """Copy the weights kept into `folder`; `checkpoints.json` there lists which are the last and the best."""
        self.wait()
        folder.mkdir()
        for update in state.saved:
            copy_file(self.weights_path(update), folder / self.weights_path(update).name)
        updates = {"last": state.saved[-self.last :], "best": state.best(self.best)}
        names = {key: [self.weights_path(update).name for update in some] for key, some in updates.items()}
        write_json(folder / "checkpoints.json", names)


@contextmanager
def broken_as(kind: type[DataError], path: Path) -> Iterator[None]:
    """A block that reads a checkpoint's file; a fault of the file is raised as `kind`."""
    try:
        yield
    except (SafetensorError, ValueError, KeyError, FileNotFoundError) as error:
        raise kind(f"{path}: broken ({error})") from None


def remove(paths: Iterable[Path]) -> None:
    """Remove files."""
    for path in paths:
        path.unlink()


def warn(text: str) -> None:
    """Print a warning on stderr."""
    print(printable(f"warning: {text}"), file=sys.stderr)


def optimizer_tensors(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """Copies of the optimizer's tensors by name: `optimizer/<key>/<weight>`."""
    return {
        f"optimizer/{key}/{name}": value.detach().to("cpu", copy=True)
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Load what `optimizer_tensors` returned into the optimizer."""
    order = {name: index for index, (name, _) in enumerate(model.named_parameters())}
    state: dict[int, dict[str, Any]] = {index: {} for index in order.values()}
    for full, tensor in tensors.items():
        if full.startswith("optimizer/"):
            _, key, name = full.split("/", 2)
            state[order[name]][key] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
