"""A training of the stage train that takes seconds: what it reads, how it is started, what it leaves."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from pipeline import files
from pipeline.encoding.text_to_ids import encode_part
from pipeline.vocabularies import subwords as subword_training
from pipeline.vocabularies.subwords import Subwords

ROOT = Path(__file__).parents[2]
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
training:
  default: {patience: 0, seed: 1}
  toy: {updates: 24, tokens_per_update: 150, tokens_per_batch: 80, pool_pairs: 40, max_length: 60,
    validation_interval: 8, validation_sentences: 4, checkpoint_interval: 4, last_checkpoints: 2,
    best_checkpoints: 1, threads: 0, exact: true, cuda_graphs: true}
models:
  transformer_prenorm:
    default:
      optimizer: {kind: adam, beta1: 0.9, beta2: 0.98, epsilon: 1e-9, weight_decay: 0.0}
      batches: {kind: tokens}
    tiny: {encoder_layers: 1, decoder_layers: 1, width: 16, heads: 2, feed_forward: 32, dropout: 0.2,
      attention_dropout: 0.2, feed_forward_dropout: 0.2,
      tied_embeddings: all, initialisation: {kind: xavier, sublayer_gain: 1.0},
      schedule: {kind: inverse_sqrt, peak_rate: 1e-2, warmup: 10},
      label_smoothing: 0.1, smoothing_spread: others, r_drop: 2.0, lsi_pairs: 1000, clip: 1.0, precision: fp32}
"""


def lay_out(root):
    """Write params.yaml and what the stages before leave."""
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
        encode_part(pieces, [paths], root / "data/encode/toy-joint" / part)


def environment(**changed: str) -> dict[str, str]:
    """That of a process which trains on one core and can track nothing."""
    ours = {"CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return os.environ | ours | {"MLFLOW_TRACKING_URI": "sqlite:////dev/null/mlflow.db"} | changed


def start(folder, *axes: str, **changed: str) -> subprocess.Popen[str]:
    """Start the stage in a folder; nothing can be tracked."""
    command = [sys.executable, "-m", "stages.train", *(axes or ("toy", "joint", "transformer_prenorm", "tiny"))]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=environment(**changed), stdout=pipe, stderr=pipe, text=True)


def finish(folder, **environment: str) -> str:
    """Run the stage to its end, which is to be a good one; what it said."""
    process = start(folder, **environment)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return said


def outs(root, system=SYSTEM):
    """Every file of the stage's out, by its path."""
    out = root / "runs" / system / "train"
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def logged(root, system=SYSTEM):
    """The rows of the local log of the one training of a system below `root`."""
    [log] = (root / "work/logs" / system).glob("train-*.jsonl")
    return rows_of(log)


def rows_of(log):
    """The rows of a local log."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def edit(project, old, new):
    params = project / "params.yaml"
    text = params.read_text(encoding="utf-8")
    assert old in text
    params.write_text(text.replace(old, new), encoding="utf-8")


def state_of(root):
    """Where the newest state of the training below `root` is, and when it was written; (None, 0) before the first."""
    for path in (root / "work").glob("train/*/state.safetensors"):
        with contextlib.suppress(FileNotFoundError):  # it may be renamed just now
            return path, path.stat().st_mtime_ns
    return None, 0


def start_and_save(root, *, processes, **environment):
    """Start a training there; return once it has saved a state."""
    before = state_of(root)
    process = start(root, **{"TRAIN_PROCESSES": processes, **environment})
    while state_of(root)[1] <= before[1]:
        assert process.poll() is None, process.communicate(timeout=300)
        time.sleep(0.001)
    return process


def end(root, *, processes="1", by=signal.SIGTERM, **environment):
    """Have a training end as soon as it has saved once; its exit status and what it said."""
    process = start_and_save(root, processes=processes, **environment)
    process.send_signal(by)
    said = process.communicate(timeout=300)[1]
    return process.returncode, said
