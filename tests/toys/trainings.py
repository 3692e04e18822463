"""A training of the stage train that takes seconds: what it reads, how it is started, what it leaves."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from pipeline.common import files, parts
from pipeline.vocabularies import subwords as subword_training
from pipeline.vocabularies.subwords import Subwords
from stages import encode
from tests.toys import samples

ROOT = Path(__file__).parents[2]
SYSTEM = "toy-joint-transformer_prenorm-tiny-1"
SUBJECTS = {"le chat": "the cat", "le chien": "the dog", "la fille": "the girl", "un homme": "a man"}
VERBS = {"voit": "sees", "aime": "likes", "suit": "follows"}
OBJECTS = {"la maison": "the house", "le jardin": "the garden", "une pomme": "an apple", "la mer": "the sea"}
PAIRS = [
    (" ".join(source), " ".join(target))
    for source, target in (
        tuple(zip(*words, strict=True)) for words in itertools.product(SUBJECTS.items(), VERBS.items(), OBJECTS.items())
    )
]
SUBWORDS = {
    "kind": "bpe",
    "size": 60,
    "joint": True,
    "byte_fallback": False,
    "split_digits": True,
    "character_coverage": 1.0,
}
PARAMS = """\
training: {updates: 24, tokens_per_update: 150, tokens_per_batch: 80, pool_pairs: 40, max_length: 60, patience: 0,
  validation_interval: 8, validation_sentences: 4, checkpoint_interval: 4, last_checkpoints: 2, best_checkpoints: 1,
  threads: 0, exact: true, cuda_graphs: true}
"""
LEARNING = """\
shared: {label_smoothing: 0.1, smoothing_spread: others, clip: 1.0, precision: fp32, batches: {kind: tokens},
  optimizer: {kind: adam, beta1: 0.9, beta2: 0.98, epsilon: 1e-9, weight_decay: 0.0}}
"""
SIZES = {
    "transformer_prenorm": """\
tiny: {encoder_layers: 1, decoder_layers: 1, width: 16, heads: 2, feed_forward: 32, dropout: 0.2,
  attention_dropout: 0.2, feed_forward_dropout: 0.2, tied_embeddings: all,
  initialisation: {kind: xavier, sublayer_gain: 1.0}, r_drop: 2.0, lsi_pairs: 1000,
  schedule: {kind: inverse_sqrt, peak_rate: 1e-2, warmup: 10}}
""",
    "rnnsearch": """\
tiny: {embedding: 8, width: 16, alignment: 8, maxout: 8, reset_gate: after, dropout: 0.1, output_dropout: 0.1,
  teacher_forcing: 1.0, schedule: {kind: constant, learning_rate: 1e-2}, r_drop: 0.0, lsi_pairs: 0}
""",
}


def write_inputs(root: Path) -> None:
    """Write parameters and what the stages before leave."""
    (root / "params.yaml").write_text(PARAMS, encoding="utf-8")
    files.write_lines(
        root / "corpora/toy.yaml", ["{training: {}, mixture: {web: 1.5}, tags: {}, start: {}, models: {}}"]
    )
    for model, sizes in SIZES.items():
        files.write_lines(root / f"configs/{model}.yaml", [LEARNING + sizes])
    split, pieces = root / "data/split/toy", root / "data/vocabulary/toy-joint"
    samples.write_bitexts(split, own=PAIRS[:30], web=PAIRS[30:40])
    parts.write(split, "validation", PAIRS[40:])
    files.write_json(split / "languages.json", {"source_language": "fr", "target_language": "en"})
    pieces.mkdir(parents=True)
    subwords = Subwords.model_validate(SUBWORDS | {"sentences": 99, "seed": 1})
    subword_training.train(subwords, split, {}, pieces, where="toy")
    with contextlib.chdir(root):
        encode.main("toy-joint")


def edit(root: Path, old: str, new: str, file: str = "params.yaml") -> None:
    """Replace a text in a file of parameters."""
    text = (root / file).read_text(encoding="utf-8")
    assert old in text
    (root / file).write_text(text.replace(old, new), encoding="utf-8")


def start(root: Path, system: str = SYSTEM, **environment: str) -> subprocess.Popen[str]:
    """Start the stage in a folder, on one core; nothing can be tracked."""
    ours = {"CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    ours |= {"MLFLOW_TRACKING_URI": "sqlite:////dev/null/mlflow.db"}
    command = [sys.executable, "-m", "stages.train", system]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=root, env=os.environ | ours | environment, stdout=pipe, stderr=pipe, text=True)


def finish(root: Path, system: str = SYSTEM, **environment: str) -> str:
    """Run the stage to its end, which is to be a good one; what it said."""
    process = start(root, system, **environment)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    return stderr


def outs(root: Path, system: str = SYSTEM) -> dict[str, bytes]:
    """Every file of the stage's outs, by its path."""
    out = root / "runs" / system / "train"
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def state_time(root: Path) -> int:
    """When the newest state of a training was written; 0 before the first."""
    for path in (root / "work").glob("train/*/state.safetensors"):
        with contextlib.suppress(FileNotFoundError):  # it may be renamed just now
            return path.stat().st_mtime_ns
    return 0


def start_and_save(root: Path, **environment: str) -> subprocess.Popen[str]:
    """Start a training; return once it has saved a state."""
    before = state_time(root)
    process = start(root, **environment)
    while state_time(root) <= before:
        assert process.poll() is None, process.communicate(timeout=300)
        time.sleep(0.001)
    return process


def stop(root: Path, *, by: signal.Signals = signal.SIGTERM, **environment: str) -> tuple[int, str]:
    """Have a training end as soon as it has saved once; its exit status and what it said."""
    process = start_and_save(root, **environment)
    process.send_signal(by)
    stderr = process.communicate(timeout=300)[1]
    return process.returncode, stderr
