"""Train one system: data/encode/<corpus>-<vocabulary>/ -> runs/<system>/train/."""

import signal

from pipeline import cli, files
from pipeline.encoding.batching import load_batches
from pipeline.progress import console
from pipeline.system import System
from pipeline.training import launch, outputs, setup
from pipeline.training.checkpoints import checkpoint_minutes
from pipeline.training.loop import timed, train
from pipeline.training.prefetch import prefetched
from pipeline.training.ranks import Ranks, process_group
from pipeline.training_display import TrainingDisplay

READS = (
    "training",
    "corpora/{corpus}.yaml:training",
    "configs/{model}.yaml:shared",
    "configs/{model}.yaml:{size}",
)


def main(name: str) -> None:
    """Train the system called `name`, resuming from the newest checkpoint of the very same training, if any."""
    checkpoint_minutes()  # report a wrong value before any work
    system = System.parse(name)
    if launch.is_due():
        launch.launch("stages.train", [system.id])
        return
    with process_group() as ranks:
        run_training(setup.read_config(READS, system), ranks)


def run_training(config: setup.Config, ranks: Ranks) -> None:
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
    state = checkpoints.resume(net, optimizer, ranks)
    if not state.update:
        setup.start_weights(net, config, encoded, ranks)
    setup.announce(config, state, ranks)
    last_update = state.update if state.is_out_of_patience(training.patience) else training.updates
    batches = load_batches(sampler, encoded, state.next, last_update, ranks.shard)
    batches = prefetched(batches, pinned=device.type == "cuda")
    width, seed = config.arch.width, system.seed
    steps = train(net, optimizer, batches, learning, width=width, updates=training.updates, seed=seed, ranks=ranks)
    display = TrainingDisplay(system, training.updates, state.history)
    tokens, total_seconds = 0, 0.0
    with setup.start_run(config, checkpoints.folder, sampler, state, ranks) as run, checkpoints:
        for step, seconds in timed(display.track(steps, start=state.update) if ranks.is_main else steps):
            tokens, total_seconds = tokens + step.tokens, total_seconds + seconds
            state, is_last = state.after(step, training.curve_interval), step.update == training.updates
            run.log(step.update, **step.metrics(), tokens_per_second=step.tokens / seconds)
            if is_last or step.update % training.validation_interval == 0:
                scores = validator.validate(net, device, ranks, step.update)
                state = state.with_validation(step, scores)
                run.log(step.update, **scores)
                display.validated(state.history[-1])
            keep = is_last or step.update % training.checkpoint_interval == 0
            if keep or ranks.should_stop or checkpoints.is_overdue():
                state = checkpoints.save(net, optimizer, state, keep=keep, write=ranks.is_main)
            if ranks.should_stop and not is_last:
                checkpoints.wait()
                ranks.barrier()  # until rank 0 has written: torchrun ends all ranks once one has ended
                console.print(f"{display.name}: asked to stop, saved at update {step.update}; the same command resumes")
                raise SystemExit(128 + signal.SIGTERM)
            if state.is_out_of_patience(training.patience):
                break
        outputs.log_speed(run, display.name, state.update, tokens, total_seconds, device)
        if ranks.is_main:
            summary = outputs.summarise(config, device, sampler, net, state)
            outputs.publish(system.trained, checkpoints, state, summary)
            run.tags(training=files.sha256(system.training_summary))  # by which later stages find it
            run.artifact(system.trained / "curves.csv")
            run.artifact(system.vocabulary_folder, "vocabulary")
        if ranks.size == 1 and ranks.interrupted:  # during the last update; `dvc repro` itself does not hear Ctrl-C
            raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    cli.run(main, writes=launch.writes)
