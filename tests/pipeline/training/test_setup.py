"""What a training needs before its first update; tests/stages/test_train.py runs the whole of it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from pipeline.models import interface
from pipeline.system import System
from pipeline.tracking import runs
from pipeline.training import setup
from pipeline.training.ranks import Ranks
from pipeline.training.setup import idle_ranks, start_run
from tests.toys import networks, samples


@pytest.mark.parametrize(("ranks", "idle"), [(1, 0), (2, 0), (3, 1), (5, 3)])
@pytest.mark.parametrize(
    ("batches", "matter"),
    [({"kind": "tokens"}, 1), ({"kind": "sentences", "sentences_per_update": 10, "pool_pairs": 100}, 0)],
)
def test_idle_ranks_by_hand(batches, matter, ranks, idle):
    """40 tokens an update in micro-batches of 24 make two; of sentences nobody knows."""
    assert idle_ranks(samples.training(), samples.learning(batches=batches), ranks) == matter * idle


@pytest.mark.parametrize(
    ("model", "device", "chosen", "expected"),
    [
        ("transformer_modern", "cuda", True, True),
        ("transformer_modern", "cuda", False, False),
        ("transformer_modern", "cpu", True, False),
        ("rnnsearch", "cuda", True, False),
    ],
)
def test_only_transformers_on_a_gpu_replay_what_it_computes(model, device, chosen, expected):
    config = setup.Config(
        system=System("toy", "joint", model, "tiny"),
        training=samples.training(cuda_graphs=chosen),
        learning=samples.learning(),
        arch=None,
        model=interface.find(model).Model,
    )
    assert setup.has_graphs(config, torch.device(device)) is expected
    lines = [[5] * length for length in range(1, 19)]
    sampler = setup.open_sampler(config, samples.encoded(lines, lines), torch.device(device))
    assert sampler.shape(np.array([16, 17])).source == (20 if expected else 19)


def test_a_training_goes_on_only_with_all_that_it_began_with(monkeypatch, tmp_path):
    """Each file that it reads, each of its sections, and what `precision: auto` comes to."""
    monkeypatch.chdir(tmp_path)
    system = System("toy", "joint", "transformer_modern", "tiny")
    read = [system.encoded / "train/a.npy", system.encoded / "validation/b.npy", system.vocabulary_folder / "c.model"]
    for path in (*read, setup.references(system)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("before", encoding="utf-8")
    arch = interface.find(system.model).Arch.model_validate(networks.arch(system.model))
    config = setup.Config(system, samples.training(), arch, samples.learning(precision="auto"), None)
    precisions = {"auto": "fp32"}
    monkeypatch.setattr(setup, "resolve_precision", lambda given, device: precisions.get(given, given))

    def found(config=config):
        checkpoints = setup.open_checkpoints(config, torch.device("cpu"), Ranks())
        return checkpoints.folder, checkpoints.made_by

    before = found()
    assert before == found()
    for path in (*read, setup.references(system)):
        path.write_text("after", encoding="utf-8")
        assert found() != before, path
        path.write_text("before", encoding="utf-8")
    assert found(config._replace(training=samples.training(seed=2))) != before
    assert found(config._replace(arch=arch.changed(dropout=0.3))) != before
    assert found(config._replace(learning=samples.learning(precision="auto", clip=0.5))) != before
    assert found(config._replace(system=system._replace(size="small"))) != before
    precisions["auto"] = "bf16"
    assert found() != before


@pytest.mark.parametrize("has_graphs", [True, False])
def test_a_network_replays_what_it_computes_where_that_is_chosen(has_graphs, monkeypatch):
    replaying = []
    monkeypatch.setattr(setup, "has_graphs", lambda config, device: has_graphs)
    monkeypatch.setattr(setup.graphs, "replay_hidden", replaying.append)
    module = interface.find("transformer_modern")
    arch = module.Arch.model_validate(networks.arch("transformer_modern"))
    config = setup.Config(None, samples.training(), arch, samples.learning(), module.Model)
    sizes = SimpleNamespace(source_size=11, target_size=11)
    net = setup.build_model(config, sizes, torch.device("cpu"))
    assert replaying == ([net] if has_graphs else [])


def test_only_rank_0_tracks():
    assert isinstance(start_run(None, "key", None, None, Ranks(1, 2)), runs.NullRun)
