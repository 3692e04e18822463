"""Sets up a training, before its first update."""

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ..common import files
from ..common.seeding import seed_for
from ..common.system import System
from ..compute import weights
from ..compute.device import be_deterministic, bound_memory, prepared
from ..console.progress import say
from ..encoding.shards import Encoded
from ..evaluation.bleu import tokenizer
from ..models import interface
from ..tracking import runs
from ..tracking.store import store
from ..vocabularies.vocabulary import Vocabulary
from . import graphs, lsi, resuming
from .batching import BatchSampler
from .budget import Training
from .checkpoints import Checkpoints
from .learning import Learning
from .loop import resolve_precision
from .ranks import Ranks
from .state import TrainState
from .validation import Validator


class TrainingConfig(NamedTuple):
    """One training as the sections of its files define it."""

    system: System
    training: Training
    arch: Any  # a section of the kind that the model's module defines
    learning: Learning
    model: Any  # the class of the network
    start: System | None = None  # whose averaged weights it starts with; None: random ones

    @property
    def inputs(self) -> list[Path]:
        """The files and folders that the training reads."""
        system, start = self.system, [self.start.weights] if self.start else []
        encoded = [system.encoded / "train", system.encoded / "validation"]
        return [*encoded, system.vocabulary_folder, references(system), system.languages, *start]

    @property
    def params(self) -> dict[str, Any]:
        """Every value of the three sections, by the names of its keys."""
        sections = {"training": self.training, "arch": self.arch, "learning": self.learning}
        return {name: section.model_dump() for name, section in sections.items()}

    def has_graphs(self, device: torch.device) -> bool:
        """Whether a GPU replays what it computes for a shape of batches; see `pipeline/training/graphs.py`."""
        return self.training.cuda_graphs and device.type == "cuda" and bool(self.model.is_capturable)


def read_config(reads: tuple[str, ...], system: System, start: System | None = None) -> TrainingConfig:
    """The training of a system, from the sections `reads`: two of `training`, then two of the model's file."""
    module = interface.find(system.model)
    return TrainingConfig(
        system,
        training=Training.load(*reads[:2], **system.axes),
        arch=module.Arch.load_own(*reads[2:], **system.axes),
        learning=Learning.load_own(*reads[2:], **system.axes),
        model=module.Model,
        start=start,
    )


def prepare_device(training: Training, seed: int) -> torch.device:
    """The device to train on, with torch set up and seeded for reproducible results."""
    bound_memory()
    if training.threads:  # else torch's default, one per core or `OMP_NUM_THREADS`
        torch.set_num_threads(training.threads)
    be_deterministic(seed_for(seed, "weights"))
    return prepared()


def open_checkpoints(config: TrainingConfig, device: torch.device, ranks: Ranks) -> Checkpoints:
    """The folder in work/ from which this very training resumes, and in which it keeps its checkpoints.

    Raises: RanksError if the ranks do not have the same code, data and parameters.
    """
    training, system = config.training, config.system
    precision = resolve_precision(config.learning.precision, device)
    ranks.check_equal(precision, "precision auto", "the same on every rank: set fp32 or bf16 instead")
    folder = resuming.state_folder(system.id, config.params, config.inputs)
    made_by = resuming.made_by(device.type, precision)
    same = f"{folder.name} {resuming.digest(config.params)} {made_by}"
    ranks.check_equal(same, "code, data and parameters", "the same files and versions on every machine")
    threads = {"threads": str(torch.get_num_threads())} if device.type == "cpu" else {}
    rate = partial(config.learning.schedule.rate, width=config.arch.width, updates=training.updates)
    kept = {"last": training.last_checkpoints, "best": training.best_checkpoints}
    return Checkpoints(folder, made_by | threads, lambda state: state.is_on_the_way(training, rate), **kept)


def references(system: System) -> Path:
    """Target sentences of the validation part, as text."""
    return system.split / "validation.target.txt"


def open_data(config: TrainingConfig) -> tuple[Vocabulary, Encoded, Validator]:
    """The vocabulary, the pairs to train on, and the validator of the validation part."""
    system = config.system
    vocabulary = Vocabulary.load(system.vocabulary_folder)
    validation = Encoded.open(system.encoded / "validation")
    validator = Validator(
        validation,
        references(system),
        vocabulary,
        config.training,
        precision=config.learning.precision,
        warmup=config.learning.schedule.warmup,
        tokenize=tokenizer(files.read_json(system.languages)["target_language"]),
    )
    return vocabulary, Encoded.open(system.encoded / "train"), validator


def open_sampler(config: TrainingConfig, encoded: Encoded, device: torch.device) -> BatchSampler:
    """The sampler of the batches, which have few shapes where a GPU replays them."""
    batches, bucketed = config.learning.batches, config.has_graphs(device)
    return BatchSampler(encoded, config.training, batches, seed=config.system.seed, bucketed=bucketed)


def build_model(config: TrainingConfig, vocabulary: Vocabulary, device: torch.device) -> Any:
    """The network on its device, with the rank's own random weights."""
    net = config.model(config.arch, source_size=vocabulary.source_size, target_size=vocabulary.target_size).to(device)
    if config.has_graphs(device):
        graphs.replay_hidden(net)
    return net


def start(
    net: Any,
    optimizer: torch.optim.Optimizer,
    config: TrainingConfig,
    checkpoints: Checkpoints,
    encoded: Encoded,
    ranks: Ranks,
) -> TrainState:
    """The state to go on from, with weights and optimizer set to it; without a checkpoint the first one.

    Every rank then starts with the same weights: those of another system, or random ones.
    """
    state, training, schedule = checkpoints.resume(net, optimizer, ranks), config.training, config.learning.schedule
    summary = checkpoints.folder / resuming.SUMMARY  # of the training that finished here
    before = files.read_json(summary)["params"]["training"]["updates"] if summary.exists() else 0
    if ranks.is_main:
        resuming.drop_finished(checkpoints.folder)
        summary.unlink(missing_ok=True)  # until this one has finished too
    if state.update:
        is_finished = state.is_finished(training)
        say(config.system.id, "is trained already" if is_finished else f"goes on from update {state.update}")
        return state
    is_open = schedule.num_open(training.updates)
    if checkpoints.has_others and (is_open or before == training.updates):
        say(config.system.id, "starts anew: its states are of later updates")
    elif checkpoints.has_others or (before not in (0, training.updates) and not is_open):
        why = f"another `training.updates` changes every learning rate of `{schedule.kind}`"
        say(config.system.id, f"starts anew: {why}; with `wsd`, `constant`, `noam` or `inverse_sqrt` it would go on")
    if base := config.start:
        weights.load(base.weights, net, f"weights of this network: {base.id} has another, so set its keys")
    elif (most_pairs := config.learning.lsi_pairs) and ranks.is_main:
        lsi.start(net.embedding_matrices, encoded, most_pairs=most_pairs, seed=config.system.seed)
    ranks.broadcast_weights(net.state_dict().values())
    return state


def start_run(
    config: TrainingConfig, checkpoints: Checkpoints, sampler: BatchSampler, state: TrainState, ranks: Ranks
) -> runs.Run:
    """The tracked run of this training on rank 0; on other ranks a run that records nothing."""
    run = runs.Run(config.system)
    if not ranks.is_main:
        store.is_off = True  # rank 0 records
        return run
    # MLflow lets no run change its parameters.
    run_file = checkpoints.folder / f"mlflow_run_{resuming.digest(config.params)}.json"
    run.open_training(run_file, state.update)
    run.params(config.params)
    for row in (*state.curve, *state.history) if run.is_new else ():  # of a shorter training, whose run has ended
        run.log(int(row["update"]), **{name: value for name, value in row.items() if name != "update"})
    folder = config.system.encoded
    data = folder / "train/source.ids.npy", folder / "train/target.ids.npy"
    run.dataset(folder.name, folder, data, sampler.pair_counts())
    return run
