"""Sets up a training, before its first update."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ..common import files
from ..common.parts import TRAIN, VALIDATION
from ..common.seeding import seed_for
from ..common.system import System, corpus_file
from ..compute import weights
from ..compute.device import be_deterministic, bound_memory, prepared
from ..console.progress import TrainingDisplay, say
from ..encoding.shards import CHECKSUMS, Encoded
from ..evaluation.bleu import tokenizer
from ..models import interface
from ..packaging import sealed, start
from ..packaging.start import Base
from ..tracking import runs
from ..tracking.store import store
from ..vocabularies.vocabulary import Vocabulary
from . import graphs, lsi, mixture, resuming
from .batching import GlobalBatch, load_batches, prefetch
from .budget import Training
from .checkpoints import Checkpoints
from .learning import Learning, model_nodes, model_sections
from .loop import resolve_precision
from .mixture import Mixing
from .ranks import Ranks
from .sampler import BatchSampler
from .state import TrainState
from .validation import Validator


class TrainingConfig(NamedTuple):
    """One training as the sections of its files define it."""

    system: System
    training: Training
    arch: Any  # a section of the kind that the model's module defines
    learning: Learning
    mixing: Mixing
    model: Any  # the class of the network
    base: Base | None = None  # the package that it starts from; None: random weights

    @property
    def inputs(self) -> list[Path]:
        """The files and folders that the training reads."""
        system, start = self.system, [self.base.folder / sealed.WEIGHTS] if self.base else []
        encoded = [system.encoded / TRAIN / CHECKSUMS, system.encoded / VALIDATION]
        text = [system.split / "validation.target.txt", system.languages]
        return [*encoded, system.vocabulary_folder, *text, *start]

    @property
    def params(self) -> dict[str, Any]:
        """Every value of the sections, by the names of its keys."""
        sections = {"training": self.training, "arch": self.arch, "learning": self.learning}
        return {name: section.model_dump() for name, section in sections.items()} | self.mixing.model_dump()

    def has_graphs(self, device: torch.device) -> bool:
        """Whether a GPU replays what it computes for a shape of batches; see `pipeline/training/graphs.py`."""
        return self.training.cuda_graphs and device.type == "cuda" and bool(self.model.is_capturable)

    def comes_through(self, state: TrainState, params: dict[str, Any]) -> bool:
        """Whether this training comes through a state that was saved with `params`, of the same `state_folder`."""
        schedule, updates = self.learning.schedule, self.training.updates
        saved_with = params["learning"]["schedule"], params["training"]["updates"]
        num_open = min(schedule.changed(**saved_with[0]).num_open(saved_with[1]), schedule.num_open(updates))
        has_same_rates = saved_with == (schedule.model_dump(), updates) or state.update <= num_open
        return has_same_rates and state.is_on_the_way(self.training)


class Session(NamedTuple):
    """An open training: all that its updates need, and what is written of them."""

    config: TrainingConfig
    ranks: Ranks
    device: torch.device
    net: Any
    optimizer: torch.optim.Optimizer
    sampler: BatchSampler
    batches: Iterator[GlobalBatch]  # of the updates to come
    validator: Validator
    checkpoints: Checkpoints
    state: TrainState  # before the first of these updates
    run: runs.Run
    display: TrainingDisplay

    def validated(self, state: TrainState) -> TrainState:
        """The state with one more validation, which is logged and shown."""
        state = self.validator.validated(state, self.net, self.device, self.ranks)
        row = state.history[-1]
        self.run.log(state.update, **{name: value for name, value in row.items() if name.startswith("validation_")})
        self.display.show_validation(row)
        return state

    def saved(self, state: TrainState, *, keep: bool, is_open: bool = False) -> TrainState:
        """The state, once rank 0 writes it; see `Checkpoints.save`."""
        write = self.ranks.is_main
        return self.checkpoints.save(self.net, self.optimizer, state, keep=keep, write=write, is_open=is_open)


def read_config(reads: tuple[str, ...], system: System) -> TrainingConfig:
    """The training of a system, from the two sections of `training` at `reads`, and its model's and corpus's files."""
    module, base = interface.find(system.model), start.load(system.corpus, [system.model])
    arch, learning = model_sections(module, model_nodes(system, base))
    training = Training.load(*reads, **system.axes)
    mixing = Mixing.load_own(f"{corpus_file(system.corpus)}:")
    return TrainingConfig(system, training, arch, learning, mixing, module.Model, base)


def open_training(config: TrainingConfig, ranks: Ranks) -> Session:
    """The training on this machine's device, resumed from its newest state, if any; all ranks have the same weights.

    Raises: RanksError if the ranks do not have the same code, data and parameters.
    """
    system, training, learning = config.system, config.training, config.learning
    ranks.be_exact(training.exact)
    bound_memory()
    if training.threads:  # else torch's default, one per core or `OMP_NUM_THREADS`
        torch.set_num_threads(training.threads)
    be_deterministic(seed_for(system.seed, "weights"))
    device = prepared()
    checkpoints = open_checkpoints(config, device, ranks)
    vocabulary, encoded = Vocabulary.load(system.vocabulary_folder), config.mixing.open(system)
    validator = Validator(
        Encoded.open(system.encoded / VALIDATION),
        system.split / "validation.target.txt",
        vocabulary,
        training,
        learning,
        tokenize=tokenizer(files.read_json(system.languages)["target_language"]),
    )
    has_graphs = config.has_graphs(device)
    weights_of = config.mixing.mixture
    sampler = BatchSampler(encoded, training, learning.batches, weights_of, seed=system.seed, bucketed=has_graphs)
    net = config.model(config.arch, source_size=vocabulary.source_size, target_size=vocabulary.target_size).to(device)
    if has_graphs:
        net.hidden = graphs.ReplayedHidden(net, graphs.CudaGraphs())
    optimizer = learning.optimizer.build(net)
    state = checkpoints.resume(net, optimizer, ranks)
    if ranks.is_main:
        say_where_it_starts(config, checkpoints, state)
        resuming.drop_finished(checkpoints.folder)
    if not state.update:
        mixture.show(system.id, sampler.portions(training.updates))
        set_first_weights(net, config, encoded, ranks)
    last_update = state.update if state.is_finished(training) else training.updates
    batches = load_batches(sampler, encoded, state.next, last_update, ranks.shard)
    loaded = prefetch(batches, pinned=device.type == "cuda")
    run = open_run(config, checkpoints, sampler, state, ranks)
    display = TrainingDisplay(f"{system.model}-{system.size}-{system.seed}", training.updates)
    return Session(config, ranks, device, net, optimizer, sampler, loaded, validator, checkpoints, state, run, display)


def open_checkpoints(config: TrainingConfig, device: torch.device, ranks: Ranks) -> Checkpoints:
    """The folder in work/ from which this very training resumes, and in which it keeps its checkpoints.

    Raises: RanksError if the ranks do not have the same code, data and parameters.
    """
    precision = resolve_precision(config.learning.precision, device)
    ranks.check_equal(precision, "precision auto", "the same on every rank: set fp32 or bf16 instead")
    identity = resuming.identity(config.params, config.inputs, device.type, precision)
    folder = resuming.state_folder(config.system.id, identity)
    same = f"{folder.name} {resuming.digest(config.params)} {identity['made_by']}"
    ranks.check_equal(same, "code, data and parameters", "the same files and versions on every machine")
    if device.type == "cpu":
        identity["made_by"]["threads"] = str(torch.get_num_threads())
    return Checkpoints(folder, identity, config.comes_through, config.training)


def say_where_it_starts(config: TrainingConfig, checkpoints: Checkpoints, state: TrainState) -> None:
    """Say from which update a training goes on, or why it starts anew although its system has states."""
    if state.update:
        is_finished = state.is_finished(config.training)
        say(config.system.id, "is trained already" if is_finished else f"goes on from update {state.update}")
    elif left := resuming.left_behind(checkpoints.folder):
        folder, about = left
        changes, number = resuming.changes(about, checkpoints.identity), about["state"]["next"][0] - 1
        is_longer = folder == checkpoints.folder and changes[:1] and changes[0].startswith("training.updates")
        is_closed = not config.learning.schedule.num_open(config.training.updates)
        hint = "; with `wsd`, `constant`, `noam` or `inverse_sqrt` it would go on" if is_longer and is_closed else ""
        if changes:
            say(config.system.id, f"starts anew: {', '.join(changes)}; {number} updates stay behind in {folder}{hint}")


def set_first_weights(net: Any, config: TrainingConfig, encoded: Encoded, ranks: Ranks) -> None:
    """Give a network, whose weights are random, those that its training starts with, on every rank the same."""
    if base := config.base:
        expected = f"weights of this network: {base.folder} has another, so override none of its keys"
        weights.load(base.folder / sealed.WEIGHTS, net, expected)
    elif (most_pairs := config.learning.lsi_pairs) and ranks.is_main:
        lsi.start(net.embedding_matrices, encoded, most_pairs=most_pairs, seed=config.system.seed)
    ranks.broadcast_weights(net.state_dict().values())


def open_run(
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
    bitexts = {name: portion._asdict() for name, portion in sampler.portions(config.training.updates).items()}
    run.params(config.params | {"bitexts": bitexts})
    for row in (*state.curve, *state.history) if run.is_new else ():  # of a shorter training, whose run has ended
        run.log(int(row["update"]), **{name: value for name, value in row.items() if name != "update"})
    folder = config.system.encoded
    run.dataset(folder.name, folder, [folder / TRAIN / CHECKSUMS], sampler.pair_counts())
    return run
