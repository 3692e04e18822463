"""The outputs of a finished training: checkpoints, learning curves, a summary."""

import signal
from typing import Any, NoReturn

import torch
from torch import nn

from ..common import files
from ..common.device import peak_memory_gib
from ..common.system import System
from ..encoding.batching import BatchSampler
from ..evaluation import curves
from ..progress import TrainingDisplay, say
from ..tracking.runs import Run
from ..vocabularies.vocabulary import digest
from .checkpoints import Checkpoints
from .loop import resolve_precision
from .ranks import Ranks
from .setup import TrainingConfig
from .state import TrainState


def log_speed(run: Run, display: TrainingDisplay, update: int, device: torch.device) -> None:
    """Log and show the mean speed of the updates that this process made, if any, and its peak memory."""
    if display.tokens:
        speed, peak = display.tokens / display.seconds, peak_memory_gib(device)
        run.log(update, mean_tokens_per_second=speed, peak_memory_gib=peak)
        say(display.name, f"{speed:,.0f} target tokens/s without padding, peak memory {peak:.2f} GiB")


def stop(checkpoints: Checkpoints, ranks: Ranks, name: str, update: int) -> NoReturn:
    """End a training that was asked to stop, once what was saved after this update is written."""
    checkpoints.wait()
    ranks.barrier()  # until rank 0 has written: torchrun ends all ranks once one has ended
    say(name, f"asked to stop, saved at update {update}; the same command resumes")
    raise SystemExit(128 + signal.SIGTERM)


def publish(
    run: Run, config: TrainingConfig, checkpoints: Checkpoints, state: TrainState, summary: dict[str, Any]
) -> None:
    """Write `checkpoints/`, `curves.csv`, `train_loss.csv` and `training.json` into runs/<system>/train/; say the rest.

    The state to resume from stays until stage `average`: DVC, killed before it has recorded these outputs, deletes them
    and runs the stage again.
    """
    with files.new_folder(config.system.trained) as folder:
        checkpoints.publish(folder / "checkpoints", state)
        files.write_table(folder / "curves.csv", state.history)
        files.write_table(folder / "train_loss.csv", state.whole_curve())
        files.write_json(folder / "training.json", summary)
    files.write_json(checkpoints.folder / "training.json", summary)  # by which stage `average` knows the folder
    say("diagnosis of training", *curves.lines(curves.of_training(state.history, state.whole_curve())))
    run.tags(training=files.sha256(config.system.training_summary))  # by which later stages find it
    run.artifact(config.system.trained / "curves.csv")
    run.artifact(config.system.vocabulary_folder, "vocabulary")


def summarise(
    config: TrainingConfig, device: torch.device, sampler: BatchSampler, net: nn.Module, state: TrainState
) -> dict[str, Any]:
    """The content of training.json: what was trained and how it ended, without times."""
    best = state.best(1)[0]
    return {
        "vocabulary": digest(config.system.vocabulary_folder),
        "updates": state.update,
        "stopped": "patience" if state.is_out_of_patience(config.training.patience) else "updates",
        "best": next(row for row in state.history if row["update"] == best),
        "precision": resolve_precision(config.learning.precision, device),
        "padding_share": 1 - state.num_real_positions / state.num_positions,
        "num_parameters": sum(weight.numel() for weight in net.parameters()),
        **sampler.pair_counts(),
        **({"base": base_of(config.start)} if config.start else {}),
        "params": config.params,
    }


def base_of(start: System) -> str:
    """The id of the system that a training starts from, as it is called where it was trained."""
    return str(files.read_json(start.training_summary).get("base", start.id))
