"""Train one system: data/encode/<corpus>-<vocabulary>/ -> runs/<system>/train/."""

import csv
import resource
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch

from pipeline import cli, device, files, tracking
from pipeline.data.batching import Plan, updates_from
from pipeline.data.budget import Training
from pipeline.data.shards import Encoded
from pipeline.data.vocabulary import Vocabulary, digest
from pipeline.fingerprint import fingerprint
from pipeline.models import interface
from pipeline.params import Reader, flatten
from pipeline.progress import console, track
from pipeline.seeding import seed_for
from pipeline.training.checkpoints import Checkpoints, Record
from pipeline.training.learning import Learning
from pipeline.training.loop import train
from pipeline.training.validation import Judge

READS = ("corpora.{corpus}.training", "models.{model}.{size}.arch", "models.{model}.{size}.learning")


class Trial(NamedTuple):
    """One training and what it needs."""

    system: str
    fingerprint: str
    params: dict[str, Any]  # every value of the sections, by its dotted name
    training: Training
    learning: Learning
    width: int
    net: Any  # a torch module that answers models.interface.Model
    optimizer: torch.optim.Optimizer
    data: Path
    pieces: Path
    encoded: Encoded
    plan: Plan
    judge: Judge
    checkpoints: Checkpoints

    @property
    def pairs(self) -> dict[str, int]:
        """How many pairs there are to train on, and how many of them are not too long."""
        return {"pairs": len(self.encoded.source), "pairs_used": len(self.plan.usable)}


def main(corpus: str, vocabulary: str, model: str, size: str) -> None:
    """Train `model` of `size` on `corpus`, going on from the newest checkpoint of the very same training if any."""
    trial = prepare(corpus, vocabulary, model, size)
    system, log = trial.system, Path("work/logs", trial.system, "train.jsonl")
    record = trial.checkpoints.resume(trial.net, trial.optimizer)
    done = record.next.update - 1
    with tracking.training_run(system, stage="train", fingerprint=trial.fingerprint, log=log, resumed_at=done) as run:
        run.params(trial.params)
        sha256 = files.sha256(trial.data / "train/source.ids.npy", trial.data / "train/target.ids.npy")
        run.dataset(trial.data.name, sha256, trial.pairs)
        record = follow(trial, record, run)
        out = Path("runs", system, "train")
        publish(trial, record, out)
        run.artifact(out / "curves.csv")
        run.artifact(trial.pieces, "vocabulary")
    trial.checkpoints.clear()


def prepare(corpus: str, vocabulary: str, model: str, size: str) -> Trial:
    """The training as its sections and the stages before it say, before its first update."""
    read = Reader(READS, corpus=corpus, model=model, size=size)
    found = interface.find(model)
    training, arch, learning = read(Training, READS[0]), read(found.Arch, READS[1]), read(Learning, READS[2])
    sections = {"training": training, "arch": arch, "learning": learning}
    system = f"{corpus}-{vocabulary}-{model}-{size}"
    data, pieces = Path("data/encode", f"{corpus}-{vocabulary}"), Path("data/vocabulary", f"{corpus}-{vocabulary}")
    references = Path("data/split", corpus, "validation.target.txt")
    key = fingerprint([data / "train", data / "validation", pieces, references], sections.values(), system)
    device.bound_memory()
    device.be_deterministic(seed_for(training.seed, "weights"))
    words, encoded = Vocabulary.load(pieces), Encoded.open(data / "train")
    net = found.Model(arch, source_size=words.source_size, target_size=words.target_size).to(device.best())
    folder = Path("work/train", f"{system}-{key[:16]}")
    return Trial(
        system=system,
        fingerprint=key,
        params=flatten({name: section.model_dump() for name, section in sections.items()}),
        training=training,
        learning=learning,
        width=arch.width,
        net=net,
        optimizer=learning.optimizer.build(net),
        data=data,
        pieces=pieces,
        encoded=encoded,
        plan=Plan(encoded, training, learning.batches),
        judge=Judge(Encoded.open(data / "validation"), references, words, training, learning.precision),
        checkpoints=Checkpoints(folder, last=training.last_checkpoints, best=training.best_checkpoints),
    )


def follow(trial: Trial, record: Record, run: tracking.Run) -> Record:
    """Train from where `record` stands to the end, validating, logging and saving; the record after the last update."""
    training = trial.training
    last = record.next.update - 1 if record.exhausted(training.patience) else training.updates
    if record.next.update > 1:
        console.print(f"{trial.system}: goes on at update {record.next.update}")
    updates = updates_from(trial.plan, trial.encoded, record.next, last)
    steps = train(trial.net, trial.optimizer, updates, trial.learning, width=trial.width, seed=training.seed)
    shown = track(steps, f"train {trial.system}", total=training.updates, unit="updates", start=record.next.update - 1)
    seconds, tokens, began = 0.0, 0, time.perf_counter()
    for step in shown:
        taken = time.perf_counter() - began
        seconds, tokens = seconds + taken, tokens + step.tokens
        record = record.after(step)
        run.log(step.update, **step.measures(), tokens_per_second=step.tokens / taken)
        if step.update % training.validation_interval == 0 or step.update == training.updates:
            judged = trial.judge(trial.net, device.best())
            record = record.judged(step, judged)
            run.log(step.update, **judged)
            console.print(", ".join(f"{name} {value:.4g}" for name, value in record.history[-1].items()))
        if step.update % training.checkpoint_interval == 0 or step.update == training.updates:
            record = trial.checkpoints.save(trial.net, trial.optimizer, record)
        if record.exhausted(training.patience):
            break
        began = time.perf_counter()
    if tokens:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        speed = tokens / seconds
        run.log(record.next.update - 1, mean_tokens_per_second=speed, peak_memory_gib=peak)
        console.print(f"{trial.system}: {speed:,.0f} target tokens/s without padding, peak memory {peak:.2f} GiB")
    return record


def publish(trial: Trial, record: Record, out: Path) -> None:
    """Write what is finished: checkpoints, learning curves, a summary without times."""
    with files.new_folder(out) as folder:
        trial.checkpoints.publish(folder / "checkpoints", record)
        with files.new_file(folder / "curves.csv") as file:
            table = csv.DictWriter(file, list(record.history[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(record.history)
        best = record.best(1)[0]
        summary = {
            "fingerprint": trial.fingerprint,
            "vocabulary": digest(trial.pieces),
            "updates": record.next.update - 1,
            "stopped": "patience" if record.exhausted(trial.training.patience) else "updates",
            "best": next(row for row in record.history if row["update"] == best),
            "padding_share": record.padding_share(),
            "num_parameters": sum(weight.numel() for weight in trial.net.parameters()),
            **trial.pairs,
            "params": trial.params,
        }
        files.write_json(folder / "training.json", summary)


if __name__ == "__main__":
    cli.run(main)
