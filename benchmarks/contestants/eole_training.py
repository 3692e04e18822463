"""eole's own command on the same sentences; its batches, its loop, its report of tokens a second."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from contestants.job import POOL_PAIRS, Job, answer, sentences
from contestants.pieces import EOS

# Of an update: its number, its target tokens, target tokens a second.
REPORT = re.compile(r"Step +(\d+)/.*?; +bsz: +\d+/ *(\d+)/.*?; +\d+/ *(\d+) tok/s")

given = Job.read()


def config(folder: Path) -> dict[str, Any]:
    """eole's configuration, written for the job."""
    train, dropout = given.updates + given.warm_up, [given.dropout]
    return {
        "seed": given.seed,
        "share_vocab": True,
        "src_vocab": str(folder / "vocabulary.txt"),
        "overwrite": True,
        "n_sample": 0,
        "report_every": 1,
        "data": {"train": {"path_src": str(folder / "source.txt"), "path_tgt": str(folder / "target.txt")}},
        "skip_empty_level": "silent",
        "training": {
            "model_path": given.save or str(folder / "model"),
            "compute_dtype": given.precision,
            "batch_size": given.positions,
            "bucket_size": POOL_PAIRS,
            "batch_type": "tokens",
            "normalization": "tokens",
            "num_workers": 0,
            "train_steps": train,
            "valid_steps": 10 * train,
            "save_checkpoint_steps": train if given.save else 10 * train,
            "optim": "adam",
            "adam_beta2": 0.98,
            "learning_rate": given.peak_rate or 2.0,
            "warmup_steps": given.warm_up_rate or 400,
            "decay_method": "cosine" if given.peak_rate else "noam",
            "max_grad_norm": 1.0,
            "label_smoothing": given.label_smoothing,
            "dropout": dropout,
            "attention_dropout": dropout,
            "param_init_method": "normal",
            "param_init": 0.02,
            "log_attention_entropy": False,
        },
        "model": {
            "architecture": "transformer",
            "layers": given.layers,
            "hidden_size": given.width,
            "transformer_ff": given.feed_forward,
            "heads": given.heads,
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "add_qkvbias": True,
            "add_ffnbias": True,
            "add_final_linear_bias": True,
            "mlp_activation_fn": "relu",
            "embeddings": {"word_vec_size": given.width, "position_encoding": True},
        },
    }


def write(folder: Path) -> None:
    """Vocabulary and sentences as text, every id a token."""
    words = (f"{number}\n" for number in range(EOS + 1, given.vocabulary))
    (folder / "vocabulary.txt").write_text("".join(words), encoding="utf-8")
    for side in ("source", "target"):
        rows = sentences(given.data, side)
        text = "".join(" ".join(map(str, row)) + "\n" for row in rows)
        (folder / f"{side}.txt").write_text(text, encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(config(folder)), encoding="utf-8")  # JSON is YAML


with tempfile.TemporaryDirectory() as name:
    write(Path(name))
    command = [str(Path(sys.executable).with_name("eole")), "train", "--config", str(Path(name, "config.json"))]
    said = subprocess.run(command, capture_output=True, text=True, cwd=name)
reports = [tuple(map(int, found)) for found in REPORT.findall(said.stderr + said.stdout)]
timed = [report for report in reports if report[0] > given.warm_up]
if said.returncode or len(timed) != given.updates:
    what = f"eole: got {len(timed)} reports of its speed; expected {given.updates}; it said:"
    sys.exit(f"{what}\n{(said.stderr + said.stdout)[-3000:]}")
seconds = sum(tokens / speed for _, tokens, speed in timed)
answer(sum(tokens for _, tokens, _ in timed), seconds, None)  # its reports do not count padding
