"""The outputs of a finished training: checkpoints, learning curves, a summary."""

import signal
from typing import NoReturn

from ..common import files
from ..compute.device import peak_memory_gib
from ..console.progress import say
from ..evaluation import curves
from ..vocabularies.vocabulary import digest
from . import resuming
from .loop import resolve_precision
from .setup import Session
from .state import TrainState


def log_speed(session: Session, update: int) -> None:
    """Log and show the mean speed of the updates that this process made, if any, and its peak memory."""
    display = session.display
    if display.tokens:
        speed, peak = display.tokens / display.seconds, peak_memory_gib(session.device)
        session.run.log(update, mean_tokens_per_second=speed, peak_memory_gib=peak)
        say(display.name, f"{speed:,.0f} target tokens/s without padding, peak memory {peak:.2f} GiB")


def stop(session: Session, update: int) -> NoReturn:
    """End a training that was asked to stop, once what was saved after this update is written."""
    session.checkpoints.wait()
    session.ranks.barrier()  # until rank 0 has written: torchrun ends all ranks once one has ended
    say(session.display.name, f"asked to stop, saved at update {update}; the same command resumes")
    raise SystemExit(128 + signal.SIGTERM)


def publish(session: Session, state: TrainState) -> None:
    """Write `checkpoints/`, `curves.csv`, `train_loss.csv` and `training.json` into runs/<system>/train/; say the rest.

    The summary says what was trained and how it ended, without times. The state to resume from stays for an hour: DVC,
    killed before it has recorded these outputs, deletes them and runs the stage again.
    """
    config, checkpoints, run, best = session.config, session.checkpoints, session.run, state.best(1)[0]
    system = config.system
    summary = {
        "vocabulary": digest(system.vocabulary_folder),
        "updates": state.update,
        "stopped": "patience" if state.is_out_of_patience(config.training.patience) else "updates",
        "best": next(row for row in state.history if row["update"] == best),
        "precision": resolve_precision(config.learning.precision, session.device),
        "padding_share": 1 - state.num_real_positions / state.num_positions,
        "num_parameters": sum(weight.numel() for weight in session.net.parameters()),
        **session.sampler.pair_counts(),
        "mixture": {name: portion._asdict() for name, portion in session.sampler.portions(state.update).items()},
        **({"base": config.base.config.model_dump(include={"system", "licence"})} if config.base else {}),
        "params": config.params,
    }
    with files.new_folder(system.trained) as folder:
        checkpoints.publish(folder / "checkpoints", state)
        files.write_table(folder / "curves.csv", state.history)
        files.write_table(folder / "train_loss.csv", state.whole_curve())
        files.write_json(folder / "training.json", summary)
    files.write_json(checkpoints.folder / resuming.SUMMARY, summary)  # finished: see `resuming.drop_finished`
    say("diagnosis of training", *curves.of_training(state.history, state.whole_curve(), summary))
    run.mark()
    run.artifact(system.trained / "curves.csv")
    run.artifact(system.vocabulary_folder, "vocabulary")
