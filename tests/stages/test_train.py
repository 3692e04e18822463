"""`python -m stages.train <corpus> <vocabulary> <model> <size>` on a readable corpus, killed and repeated."""

import csv
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from safetensors.torch import load_file

from pipeline import files
from pipeline.data import subwords as subword_training
from pipeline.data.encoding import encode_part
from pipeline.data.subwords import Subwords

SYSTEM = "toy-joint-transformer_prenorm-tiny"
SUBJECTS = {"le chat": "the cat", "le chien": "the dog", "la fille": "the girl", "un homme": "a man"}
VERBS = {"voit": "sees", "aime": "likes", "suit": "follows"}
OBJECTS = {"la maison": "the house", "le jardin": "the garden", "une pomme": "an apple", "la mer": "the sea"}
PAIRS = [
    (" ".join(source), " ".join(target))
    for source, target in (
        tuple(zip(*words, strict=True)) for words in itertools.product(SUBJECTS.items(), VERBS.items(), OBJECTS.items())
    )
]
PARTS = {"train": PAIRS[:40], "validation": PAIRS[40:]}
SUBWORDS = {"kind": "bpe", "size": 60, "joint": True, "byte_fallback": False, "character_coverage": 1.0}
PARAMS = """
corpora:
  toy:
    training: {updates: 24, tokens_per_update: 150, tokens_per_batch: 80, pool_pairs: 40, max_length: 60,
      validation_interval: 8, validation_sentences: 4, patience: 0, checkpoint_interval: 4, last_checkpoints: 2,
      best_checkpoints: 1, seed: 1}
models:
  transformer_prenorm:
    tiny:
      arch: {encoder_layers: 1, decoder_layers: 1, width: 16, heads: 2, feed_forward: 32, dropout: 0.2,
        tied_embeddings: all}
      learning:
        batches: {kind: tokens}
        optimizer: {kind: adam, beta1: 0.9, beta2: 0.98, epsilon: 1e-9, weight_decay: 0.0}
        schedule: {kind: inverse_sqrt, peak_rate: 1e-2, warmup: 10}
        label_smoothing: 0.1
        smoothing_spread: others
        clip: 1.0
        precision: fp32
"""
COLUMNS = [
    "update",
    "train_loss",
    "learning_rate",
    "grad_norm",
    "validation_loss",
    "validation_perplexity",
    "validation_accuracy",
    "validation_bleu",
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with params.yaml and what the stages before left."""
    root = tmp_path_factory.mktemp("prepared")
    (root / "params.yaml").write_text(PARAMS, encoding="utf-8")
    split, pieces = root / "data/split/toy", root / "data/vocabulary/toy-joint"
    for part, pairs in PARTS.items():
        files.write_lines(split / f"{part}.source.txt", [source for source, _ in pairs])
        files.write_lines(split / f"{part}.target.txt", [target for _, target in pairs])
    pieces.mkdir(parents=True)
    subwords = Subwords.model_validate(SUBWORDS | {"sentences": 99, "seed": 1})
    subword_training.train(subwords, split / "train.source.txt", split / "train.target.txt", pieces, where="toy")
    for part in PARTS:
        paths = [split / f"{part}.{side}.txt" for side in ("source", "target")]
        encode_part(pieces, *paths, root / "data/encode/toy-joint" / part)
    return root


@pytest.fixture(scope="module")
def start(project_root):
    """Start the stage in a folder; nothing can be tracked."""

    def start_there(folder, *axes: str) -> subprocess.Popen[str]:
        uri = "sqlite:////dev/null/mlflow.db"
        environment = os.environ | {"PYTHONPATH": str(project_root), "MLFLOW_TRACKING_URI": uri, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "stages.train", *(axes or ("toy", "joint", "transformer_prenorm", "tiny"))]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True)

    return start_there


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, prepared, start):
    """A folder where the stage ran to its end at once, and what it said."""
    root = tmp_path_factory.mktemp("uninterrupted")
    shutil.copytree(prepared, root, dirs_exist_ok=True)
    process = start(root)
    _, said = process.communicate()
    assert process.returncode == 0, said
    return root, said


@pytest.fixture(scope="module")
def killed(tmp_path_factory, prepared, start):
    """A folder where the stage was killed (-9) as soon as there was a state to go on from."""
    root = tmp_path_factory.mktemp("killed")
    shutil.copytree(prepared, root, dirs_exist_ok=True)
    process = start(root)
    while not list((root / "work").glob("train/*/state.safetensors")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.001)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (root / "runs").exists()
    return root


def outs(root):
    """Every file of the stage's out, by its path."""
    out = root / "runs" / SYSTEM / "train"
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def edit(project, old, new):
    params = project / "params.yaml"
    text = params.read_text(encoding="utf-8")
    assert old in text
    params.write_text(text.replace(old, new), encoding="utf-8")


def test_outs(uninterrupted):
    root, _ = uninterrupted
    found = outs(root)
    names = {f"checkpoints/update_{update:08d}.safetensors" for update in (20, 24)}
    assert {"checkpoints/checkpoints.json", "curves.csv", "training.json", *names} <= set(found)
    kept = files.read_json(root / "runs" / SYSTEM / "train/checkpoints/checkpoints.json")
    assert kept["last"] == ["update_00000020.safetensors", "update_00000024.safetensors"]
    assert len(kept["best"]) == 1
    assert {name for name in found if name.endswith("tensors")} == {
        f"checkpoints/{n}" for ns in kept.values() for n in ns
    }
    assert not list((root / "work/train").iterdir())


def test_curves(uninterrupted):
    with (uninterrupted[0] / "runs" / SYSTEM / "train/curves.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == COLUMNS
    assert [int(row["update"]) for row in rows] == [8, 16, 24]
    assert [float(row["learning_rate"]) for row in rows[:1]] == [8e-3]
    losses = [float(row["validation_loss"]) for row in rows]
    assert losses == sorted(losses, reverse=True)
    assert all(0 <= float(row["validation_bleu"]) <= 100 for row in rows)


def test_summary(uninterrupted):
    root, _ = uninterrupted
    out = root / "runs" / SYSTEM / "train"
    summary = files.read_json(out / "training.json")
    assert list(summary) == [
        "fingerprint",
        "vocabulary",
        "updates",
        "stopped",
        "best",
        "padding_share",
        "num_parameters",
        "pairs",
        "pairs_used",
        "params",
    ]
    weights = load_file(out / "checkpoints/update_00000024.safetensors")
    assert summary["num_parameters"] == sum(weight.numel() for weight in weights.values())
    assert (summary["updates"], summary["stopped"], summary["pairs"], summary["pairs_used"]) == (24, "updates", 40, 40)
    assert list(summary["best"]) == COLUMNS
    assert summary["best"]["update"] == 24
    assert 0 < summary["padding_share"] < 0.3
    assert summary["params"]["learning.schedule.peak_rate"] == 1e-2
    assert summary["params"]["arch.width"] == 16
    assert summary["params"]["training.updates"] == 24


def test_what_is_said(uninterrupted):
    root, said = uninterrupted
    lines = said.splitlines()
    assert sum(line.startswith("tracking: ") for line in lines) == 1  # the store is dead, said once
    assert sum(line.startswith("update ") for line in lines) == 3
    assert any("target tokens/s without padding, peak memory" in line for line in lines)
    logged = (root / "work/logs" / SYSTEM / "train.jsonl").read_text(encoding="utf-8").splitlines()
    assert sum('"train_loss"' in line for line in logged) == 24
    assert sum('"validation_bleu"' in line for line in logged) == 3


def test_killed_and_repeated_is_uninterrupted(tmp_path, uninterrupted, killed, start):
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    process = start(tmp_path)
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert f"{SYSTEM}: goes on at update " in said
    assert outs(tmp_path) == outs(uninterrupted[0])
    assert not list((tmp_path / "work/train").iterdir())
    logged = (tmp_path / "work/logs" / SYSTEM / "train.jsonl").read_text(encoding="utf-8").splitlines()
    assert sum('"train_loss"' in line for line in logged) == 24  # none doubled, none lost


def test_edited_it_starts_afresh_and_stops_where_validations_bring_nothing(tmp_path, killed, start):
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    edit(tmp_path, "patience: 0", "patience: 1")
    edit(tmp_path, "peak_rate: 1e-2", "peak_rate: 1e-30")  # which leaves the weights where they were
    process = start(tmp_path)
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert f"{SYSTEM}: goes on at update " not in said
    summary = files.read_json(tmp_path / "runs" / SYSTEM / "train/training.json")
    assert (summary["updates"], summary["stopped"], summary["best"]["update"]) == (16, "patience", 8)


def test_a_mistake_is_one_line_and_leaves_nothing(tmp_path, prepared, start):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    edit(tmp_path, "heads: 2", "heads: 3")
    process = start(tmp_path)
    _, said = process.communicate()
    section = "models.transformer_prenorm.tiny.arch"
    assert (process.returncode, said) == (1, f"error: params.yaml: {section}.heads: must divide width 16, got 3\n")
    assert not (tmp_path / "runs").exists()
