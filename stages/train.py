"""Train one system: data/encode/<corpus>-<vocabulary>/ -> runs/<system>/train/."""

import signal
from typing import Annotated

import typer

from pipeline import cli
from pipeline.common import files
from pipeline.common.system import System
from pipeline.evaluation import curves
from pipeline.progress import TrainingDisplay, console, say
from pipeline.training import launch, outputs, setup
from pipeline.training.loop import train
from pipeline.training.ranks import Ranks, process_group
from pipeline.training.validation import check_progress

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
    state = setup.resume(net, optimizer, config, checkpoints, ranks)
    if not state.update:
        setup.start_weights(net, config, encoded, ranks)
    batches = setup.open_batches(config, sampler, encoded, state, ranks, device)
    width, seed = config.arch.width, system.seed
    steps = train(net, optimizer, batches, learning, width=width, updates=training.updates, seed=seed, ranks=ranks)
    display = TrainingDisplay(f"{system.model}-{system.size}-{seed}", training.updates)
    with setup.start_run(config, checkpoints, sampler, state, ranks) as run, checkpoints:
        for step in display.track(steps, start=state.update) if ranks.is_main else steps:
            state, is_last = state.after(step, training.curve_interval), step.update == training.updates
            run.log(step.update, **step.metrics())
            if is_last or step.update % training.validation_interval == 0:
                scores = validator.validate(net, device, ranks, step.update)
                state = state.with_validation(step, scores)
                run.log(step.update, **scores)
                display.show_validation(state.history[-1])
                is_end = is_last or state.is_out_of_patience(training.patience)
                check_progress(state.history, vocabulary.target_size, learning.schedule.warmup, is_last=is_end)
            keep = is_last or step.update % training.checkpoint_interval == 0
            if keep or ranks.should_stop or checkpoints.is_overdue():
                state = checkpoints.save(net, optimizer, state, keep=keep, write=ranks.is_main)
            if ranks.should_stop and not is_last:
                checkpoints.wait()
                ranks.barrier()  # until rank 0 has written: torchrun ends all ranks once one has ended
                say(display.name, f"asked to stop, saved at update {step.update}; the same command resumes")
                raise SystemExit(128 + signal.SIGTERM)
            if state.is_out_of_patience(training.patience):
                break
        outputs.log_speed(run, display, state.update, device)
        if ranks.is_main:
            outputs.publish(config, checkpoints, state, outputs.summarise(config, device, sampler, net, state))
            say("diagnosis of training", *curves.lines(curves.of_training(state.history, state.whole_curve())))
            run.tags(training=files.sha256(system.training_summary))  # by which later stages find it
            run.artifact(system.trained / "curves.csv")
            run.artifact(system.vocabulary_folder, "vocabulary")
        if ranks.size == 1 and ranks.interrupted:  # during the last update; `dvc repro` itself does not hear Ctrl-C
            raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    cli.run(main)
