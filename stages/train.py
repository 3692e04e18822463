"""Train one system: data/encode/<corpus>-<vocabulary>/ -> runs/<system>/train/."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

from pipeline import cli, device, files
from pipeline.encoding.batching import Plan, updates_from
from pipeline.encoding.budget import Training
from pipeline.encoding.shards import Encoded
from pipeline.fingerprint import fingerprint, states_folder
from pipeline.models import interface
from pipeline.params import Reader, flatten
from pipeline.progress import console, track
from pipeline.seeding import seed_for
from pipeline.tracking import runs
from pipeline.training import launch
from pipeline.training.checkpoints import Checkpoints, minutes
from pipeline.training.learning import Learning
from pipeline.training.loop import Step, resolved, train
from pipeline.training.prefetch import prefetched
from pipeline.training.ranks import Ranks, join
from pipeline.training.record import Record
from pipeline.training.trial import Trial
from pipeline.training.validation import Judge
from pipeline.vocabularies.vocabulary import Vocabulary

READS = ("training.default", "training.{corpus}", "models.{model}.default", "models.{model}.{size}")


def main(corpus: str, vocabulary: str, model: str, size: str) -> None:
    """Train `model` of `size` on `corpus`, going on from the newest checkpoint of the very same training if any."""
    minutes()  # a fault of it is named before any work
    if launch.is_due():
        launch.launch("stages.train", (corpus, vocabulary, model, size))
        return
    with join() as ranks:
        trial = prepare(corpus, vocabulary, model, size, ranks)
        warn_of_waiting(trial)
        record = trial.checkpoints.resume(trial.net, trial.optimizer, ranks)
        with start_run(trial, record) as run:
            try:
                record = follow(trial, record, run)
            finally:
                trial.checkpoints.wait()
            if ranks.leads:
                publish(trial, record, run)
            # Asked to end after the last update: `dvc repro` itself does not hear Ctrl-C.
            if ranks.size == 1 and ranks.interrupted:
                raise SystemExit(128 + signal.SIGTERM)


def warn_of_waiting(trial: Trial) -> None:
    """Say where there are more processes than an update of tokens has micro-batches."""
    training, ranks = trial.training, trial.ranks
    if ranks.leads and trial.idle_ranks:
        console.print(
            f"{trial.system}: {ranks.size} processes, but tokens_per_update / tokens_per_batch = "
            f"{training.tokens_per_update} / {training.tokens_per_batch} gives work to about "
            f"{training.batches_per_update}; the others wait"
        )


def start_run(trial: Trial, record: Record) -> runs.Run:
    """The run that tracks the training on rank 0; on the others one that tracks nothing."""
    if not trial.ranks.leads:
        return runs.Silent()
    log, done = Path("work/logs", trial.system, "train.jsonl"), record.next.update - 1
    run = runs.training_run(trial.system, stage="train", fingerprint=trial.fingerprint, log=log, resumed_at=done)
    run.params(trial.params)
    sha256 = files.sha256(trial.data / "train/source.ids.npy", trial.data / "train/target.ids.npy")
    run.dataset(trial.data.name, sha256, trial.pairs)
    return run


def prepare(corpus: str, vocabulary: str, model: str, size: str, ranks: Ranks) -> Trial:
    """The training as its sections and the stages before it say, before its first update."""
    read = Reader(READS, corpus=corpus, model=model, size=size)
    found = interface.find(model)
    training = read(Training, *READS[:2])
    arch, learning = read.own(found.Arch, *READS[2:]), read.own(Learning, *READS[2:])
    sections = {"training": training, "arch": arch, "learning": learning}
    system = f"{corpus}-{vocabulary}-{model}-{size}"
    data, pieces = Path("data/encode", f"{corpus}-{vocabulary}"), Path("data/vocabulary", f"{corpus}-{vocabulary}")
    references = Path("data/split", corpus, "validation.target.txt")
    where = device.prepared()
    inputs, precision = [data / "train", data / "validation", pieces, references], resolved(learning.precision, where)
    key = fingerprint(inputs, sections.values(), system, precision)
    ranks.agree(precision, "precision auto", "the same everywhere: name fp32 or bf16 in its place")
    ranks.agree(key, "fingerprint of code, data and parameters", "the same files and versions on every machine")
    device.bound_memory()
    device.use_threads(training.threads)
    device.be_deterministic(seed_for(training.seed, "weights"))
    words = Vocabulary.load(pieces)
    encoded = Encoded.open(data / "train", words.source_size, words.target_size)
    net = found.Model(arch, source_size=words.source_size, target_size=words.target_size).to(where)
    ranks.start_alike(net.state_dict().values())
    return Trial(
        system=system,
        fingerprint=key,
        params=flatten({name: section.model_dump() for name, section in sections.items()}),
        training=training,
        learning=learning,
        precision=precision,
        device=where,
        width=arch.width,
        net=net,
        optimizer=learning.optimizer.build(net),
        data=data,
        pieces=pieces,
        encoded=encoded,
        plan=Plan(encoded, training, learning.batches),
        judge=Judge(
            Encoded.open(data / "validation", words.source_size, words.target_size),
            references,
            words,
            training,
            learning.precision,
        ),
        checkpoints=Checkpoints(
            states_folder(system, key), last=training.last_checkpoints, best=training.best_checkpoints
        ),
        ranks=ranks,
    )


def follow(trial: Trial, record: Record, run: runs.Run) -> Record:
    """Train from where `record` stands to the end, validating, logging and saving; the record after the last update."""
    training, ranks = trial.training, trial.ranks
    done, seconds, tokens, began = record.next.update - 1, 0.0, 0, time.perf_counter()
    if done and ranks.leads:
        over = done == training.updates or record.exhausted(training.patience)
        console.print(f"{trial.system}: {'has been trained to its end' if over else f'goes on at update {done + 1}'}")
    for step in steps_from(trial, record):
        taken = time.perf_counter() - began
        seconds, tokens = seconds + taken, tokens + step.tokens
        record = record.after(step)
        run.log(step.update, **step.measures(), tokens_per_second=step.tokens / taken)
        if step.update % training.validation_interval == 0 or step.update == training.updates:
            record = judge(trial, record, step, run)
        record = save(trial, record)
        if record.exhausted(training.patience):
            break
        began = time.perf_counter()
    if tokens and ranks.leads:
        peak, speed = device.peak_memory_gib(trial.device), tokens / seconds
        run.log(record.next.update - 1, mean_tokens_per_second=speed, peak_memory_gib=peak)
        console.print(f"{trial.system}: {speed:,.0f} target tokens/s without padding, peak memory {peak:.2f} GiB")
    return record


def steps_from(trial: Trial, record: Record) -> Iterator[Step]:
    """What each update from there on did, none where patience has run out; rank 0 shows how far they are."""
    training, done = trial.training, record.next.update - 1
    last = done if record.exhausted(training.patience) else training.updates
    updates = updates_from(trial.plan, trial.encoded, record.next, last, trial.ranks.share)
    steps = train(
        trial.net,
        trial.optimizer,
        prefetched(updates, pinned=trial.device.type == "cuda"),
        trial.learning,
        width=trial.width,
        last=training.updates,
        seed=training.seed,
        ranks=trial.ranks,
    )
    if not trial.ranks.leads:
        return steps
    return track(steps, f"train {trial.system}", total=training.updates, unit="updates", start=done)


def judge(trial: Trial, record: Record, step: Step, run: runs.Run) -> Record:
    """Validate, log and say it; the record with that."""
    device.release_memory()  # a validation's peak comes on top of what the updates have left
    judged = trial.judge(trial.net, trial.device, trial.ranks)
    record = record.judged(step, judged)
    run.log(step.update, **judged)
    if trial.ranks.leads:
        console.print(", ".join(f"{name} {value:.4g}" for name, value in record.history[-1].items()))
    return record


def save(trial: Trial, record: Record) -> Record:
    """Save what is due after an update; the record with that.

    Raises: SystemExit once all is saved, where a process was asked to end.
    """
    training, ranks, update = trial.training, trial.ranks, record.next.update - 1
    keep = update % training.checkpoint_interval == 0 or update == training.updates
    if keep or ranks.stopping or trial.checkpoints.is_overdue():
        record = trial.checkpoints.save(trial.net, trial.optimizer, record, keep=keep, write=ranks.leads)
    if ranks.stopping and update < training.updates:
        trial.checkpoints.wait()
        ranks.tell(None)  # until rank 0 has written: where one ends, torchrun ends all
        if ranks.leads:
            console.print(f"{trial.system}: asked to end, saved at update {update}; repeat the command to go on")
        raise SystemExit(128 + signal.SIGTERM)
    return record


def publish(trial: Trial, record: Record, run: runs.Run) -> None:
    """Write what is finished: checkpoints, learning curves, a summary without times.

    The last state stays until stage `average`: DVC, killed before it has noted these outputs, removes them and asks
    for them again.
    """
    out = Path("runs", trial.system, "train")
    with files.new_folder(out) as folder:
        trial.checkpoints.publish(folder / "checkpoints", record)
        files.write_table(folder / "curves.csv", record.history)
        files.write_json(folder / "training.json", trial.summary(record))
    run.artifact(out / "curves.csv")
    run.artifact(trial.pieces, "vocabulary")


if __name__ == "__main__":
    cli.run(main, writes=launch.writes)
