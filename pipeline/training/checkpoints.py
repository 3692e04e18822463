"""Checkpoints of a training under way: safe to read, whole or not there, enough to go on bit for bit."""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from pipeline.data.batching import Position
from pipeline.files import new_file, write_json
from pipeline.training.loop import Step

START = Position(update=1, epoch=0, offset=0)


class Record(NamedTuple):
    """All of a training that is not weights."""

    next: Position = START  # what the next update is
    real: int = 0  # positions computed so far that held a piece
    computed: int = 0  # positions computed so far
    history: tuple[dict[str, float], ...] = ()  # a row a validation, in order
    saved: tuple[int, ...] = ()  # updates whose weights are kept, in order

    @classmethod
    def of(cls, values: dict[str, Any]) -> "Record":
        """The record whose `_asdict` went through JSON."""
        lists = {key: tuple(values[key]) for key in ("history", "saved")}
        return cls(**values | lists | {"next": Position(*values["next"])})

    def after(self, step: Step) -> "Record":
        """The record once `step` is done."""
        update, epoch, offset = step.position
        after = Position(update + 1, epoch, offset + 1)
        return self._replace(next=after, real=self.real + step.real, computed=self.computed + step.computed)

    def judged(self, step: Step, scores: dict[str, float]) -> "Record":
        """The record with one validation more."""
        measures = step.measures()
        row = {"update": step.update, **{key: measures[key] for key in ("train_loss", "learning_rate", "grad_norm")}}
        return self._replace(history=(*self.history, row | scores))

    def best(self, count: int) -> list[int]:
        """The updates of the `count` lowest validation losses, the best first; the earlier of two equal."""
        ranked = sorted(self.history, key=lambda row: (row["validation_loss"], row["update"]))
        return [int(row["update"]) for row in ranked[:count]]

    def exhausted(self, patience: int) -> bool:
        """Whether the last `patience` validations brought no new best; never where `patience` is 0."""
        if not patience or not self.history:
            return False
        best = [row["update"] for row in self.history].index(self.best(1)[0])
        return len(self.history) - 1 - best >= patience

    def padding_share(self) -> float:
        """Share of the positions computed that held padding."""
        return 1 - self.real / self.computed


class Checkpoints:
    """The folder of one training: `state.safetensors` to go on from, `update_<n>.safetensors` to average or keep."""

    def __init__(self, folder: Path, *, last: int, best: int) -> None:
        self.folder, self.last, self.best = folder, last, best

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> Record:
        """Put model and optimizer where the newest state left them, or leave them as they are if there is none."""
        for path in (self.folder / "state.safetensors", self.folder / "previous.safetensors"):
            try:
                tensors, text = read(path)
            except (FileNotFoundError, SafetensorError):
                continue
            weights = {name: tensor for name, tensor in tensors.items() if not name.startswith("optimizer/")}
            model.load_state_dict(weights)
            restore(optimizer, model, tensors)
            return Record.of(json.loads(text))
        return Record()

    def save(self, model: nn.Module, optimizer: torch.optim.Optimizer, record: Record) -> Record:
        """Keep the weights of the update just made and the state after it; drop what no average can need any more."""
        update = record.next.update - 1
        record = record._replace(saved=(*(u for u in record.saved if u != update), update))
        weights = {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}
        self.folder.mkdir(parents=True, exist_ok=True)
        write(self.path(update), weights, {})
        record = record._replace(saved=tuple(u for u in record.saved if u in self.kept(record)))
        state = self.folder / "state.safetensors"
        if state.exists():
            state.replace(self.folder / "previous.safetensors")
        write(state, weights | states(optimizer, model), {"record": json.dumps(record._asdict())})
        for path in self.folder.glob("update_*.safetensors"):
            if path not in map(self.path, record.saved):
                path.unlink()
        return record

    def kept(self, record: Record) -> set[int]:
        """The last k saved updates and the best k."""
        return {*record.saved[-self.last :], *record.best(self.best)}

    def path(self, update: int) -> Path:
        """Where the weights of an update are."""
        return self.folder / f"update_{update:08d}.safetensors"

    def publish(self, folder: Path, record: Record) -> None:
        """Copy the weights that were kept into `folder`, with `checkpoints.json` saying which are last and best."""
        folder.mkdir()
        for update in record.saved:
            shutil.copyfile(self.path(update), folder / self.path(update).name)
        names = {"last": record.saved[-self.last :], "best": record.best(self.best)}
        write_json(folder / "checkpoints.json", {key: [self.path(u).name for u in v] for key, v in names.items()})

    def clear(self) -> None:
        """Remove the folder: what was worth keeping has been published."""
        shutil.rmtree(self.folder, ignore_errors=True)


def write(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """One safetensors file, atomically."""
    with new_file(path, "wb") as file:
        file.write(save(tensors, metadata))


def read(path: Path) -> tuple[dict[str, Tensor], str]:
    """The tensors of a state file and its record."""
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()["record"]  # noqa: SIM118 (no dict)


def states(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The optimizer's tensors by name: `optimizer/<key>/<weight>`."""
    return {
        f"optimizer/{key}/{name}": value.detach().cpu()
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
