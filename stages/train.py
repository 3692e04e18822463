"""Train one system: data/encode/<corpus>-<vocabulary>/ -> runs/<system>/train/."""

import signal

from pipeline.common.system import System
from pipeline.console import cli
from pipeline.console.progress import console
from pipeline.training import launch, outputs, setup
from pipeline.training.loop import train
from pipeline.training.ranks import Ranks, process_group

READS = (
    "training",
    "corpora/{corpus}.yaml:training",
    "configs/{model}.yaml:shared",
    "configs/{model}.yaml:{size}",
    "corpora/{corpus}.yaml:mixture",
    "corpora/{corpus}.yaml:models",
    "corpora/{corpus}.yaml:start",
)


def main(name: str) -> None:
    """Train the system called `name`, resuming from the newest checkpoint of the very same training, if any."""
    system = System.parse(name)
    if launch.is_due():
        launch.launch("stages.train", [system.id])
        return
    with process_group() as ranks:
        train_system(setup.read_config(READS[:2], system), ranks)


def train_system(config: setup.TrainingConfig, ranks: Ranks) -> None:
    """Train to the last update or until patience runs out, then write the outputs; every rank runs this."""
    console.quiet = not ranks.is_main
    session = setup.open_training(config, ranks)
    training, learning, seed = config.training, config.learning, config.system.seed
    net, optimizer, state, run = session.net, session.optimizer, session.state, session.run
    width, updates = config.arch.width, training.updates
    steps = train(net, optimizer, session.batches, learning, width=width, updates=updates, seed=seed, ranks=ranks)
    with run, session.checkpoints as checkpoints:
        if config.base and not state.history:  # how good the package is already: it may stay the best
            state = session.saved(session.validated(state), keep=True)
        for step in session.display.track(steps, start=state.update) if ranks.is_main else steps:
            state = state.after(step)
            run.log(step.update, **step.metrics())
            if step.update % training.validation_interval == 0:
                state = session.validated(state)
            is_out = state.is_out_of_patience(training.patience)
            is_open = is_out or step.update == learning.schedule.num_open(updates)
            keep = step.update % training.checkpoint_interval == 0
            if keep or is_open or ranks.should_stop or checkpoints.is_overdue():
                state = session.saved(state, keep=keep, is_open=is_open)
            if ranks.should_stop and step.update < updates:
                outputs.stop(session, step.update)
            if is_out:
                break
        if not state.is_validated:  # the last update, where a longer training would neither validate nor save
            state = session.saved(session.validated(state), keep=True)
        outputs.log_speed(session, state.update)
        if ranks.is_main:
            outputs.publish(session, state)
        if ranks.size == 1 and ranks.interrupted:  # during the last update; `dvc repro` itself does not hear Ctrl-C
            raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    cli.run(main)
