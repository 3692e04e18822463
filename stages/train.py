"""Train one system: data/encode/<corpus>-<vocabulary>/ -> runs/<system>/train/."""

import signal
from typing import Annotated

import typer

from pipeline.common.system import System
from pipeline.console import cli
from pipeline.console.progress import TrainingDisplay, console
from pipeline.training import launch, outputs, setup
from pipeline.training.batching import load_batches
from pipeline.training.loop import train
from pipeline.training.prefetch import prefetch
from pipeline.training.ranks import Ranks, process_group
from pipeline.training.state import TrainState

READS = (
    "training",
    "corpora/{corpus}.yaml:training",
    "configs/{model}.yaml:shared",
    "configs/{model}.yaml:{size}",
)


def main(
    name: str,
    start_from: Annotated[str, typer.Option(help="System whose averaged weights it starts with, in runs/.")] = "",
) -> None:
    """Train the system called `name`, resuming from the newest checkpoint of the very same training, if any."""
    system, start = System.parse(name), System.parse(start_from) if start_from else None
    if launch.is_due():
        launch.launch("stages.train", [system.id, *(["--start-from", start.id] if start else [])])
        return
    with process_group() as ranks:
        train_system(setup.read_config(READS, system, start), ranks)


def train_system(config: setup.TrainingConfig, ranks: Ranks) -> None:
    """Train to the last update or until patience runs out, then write the outputs; every rank runs this."""
    console.quiet = not ranks.is_main
    system, training, learning = config.system, config.training, config.learning
    ranks.be_exact(training.exact)
    device = setup.prepare_device(training, system.seed)
    checkpoints = setup.open_checkpoints(config, device, ranks)
    vocabulary, encoded, validator = setup.open_data(config)
    sampler = setup.open_sampler(config, encoded, device)
    net = setup.build_model(config, vocabulary, device)
    optimizer = learning.optimizer.build(net)
    state = setup.start(net, optimizer, config, checkpoints, encoded, ranks)
    width, seed, updates = config.arch.width, system.seed, training.updates
    last_update = state.update if state.is_finished(training) else updates
    batches = load_batches(sampler, encoded, state.next, last_update, ranks.shard)
    loaded = prefetch(batches, pinned=device.type == "cuda")
    steps = train(net, optimizer, loaded, learning, width=width, updates=updates, seed=seed, ranks=ranks)
    display = TrainingDisplay(f"{system.model}-{system.size}-{seed}", updates)
    with setup.start_run(config, checkpoints, sampler, state, ranks) as run, checkpoints:

        def judged(state: TrainState) -> TrainState:
            state = validator.judged(state, net, device, ranks)
            run.log(state.update, **state.scores)
            display.show_validation(state.history[-1])
            return state

        for step in display.track(steps, start=state.update) if ranks.is_main else steps:
            state = state.after(step)
            run.log(step.update, **step.metrics())
            if step.update % training.validation_interval == 0:
                state = judged(state)
            is_out = state.is_out_of_patience(training.patience)
            is_open = is_out or step.update == learning.schedule.num_open(updates)
            keep = step.update % training.checkpoint_interval == 0
            if keep or is_open or ranks.should_stop or checkpoints.is_overdue():
                state = checkpoints.save(net, optimizer, state, keep=keep, write=ranks.is_main, is_open=is_open)
            if ranks.should_stop and step.update < updates:
                outputs.stop(checkpoints, ranks, display.name, step.update)
            if is_out:
                break
        if not state.is_validated:  # the last update, where a longer training would neither validate nor save
            state = checkpoints.save(net, optimizer, judged(state), keep=True, write=ranks.is_main)
        outputs.log_speed(run, display, state.update, device)
        if ranks.is_main:
            outputs.publish(run, config, checkpoints, state, device, sampler, net)
        if ranks.size == 1 and ranks.interrupted:  # during the last update; `dvc repro` itself does not hear Ctrl-C
            raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    cli.run(main)
