"""Every script of benchmarks/ says what it can do, and those that need no hours run on toys."""

import os
import re
import runpy
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest
import torch
from ruamel.yaml import YAML

from pipeline import device
from tests.toys import packages, tiny_project, trainings

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(path.name for path in ROOT.glob("benchmarks/*.py"))
AVERAGE = "average: {tiny: {checkpoints: 2}, small: {checkpoints: 2}}\n"
DECODE = (
    "decode: {beam_size: 2, length_penalty: 1.0, patience: null, mbr_temperature: null, "
    "memory_pairs: 0, memory_weight: 0.3, memory_temperature: 0.3, "
    "max_length_factor: 1.0, max_length_offset: 2, tokens_per_batch: 200}\n"
)


def run(folder: Path, name: str, *arguments: str) -> str:
    """What a script, run in a folder to a good end, prints."""
    said = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / name, *arguments],
        cwd=folder,
        env=tiny_project.environment(),
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stdout


@pytest.fixture
def encoded(tmp_path) -> Path:
    """A folder with an encoded corpus, and what a training on it reads."""
    trainings.lay_out(tmp_path)
    with (tmp_path / "params.yaml").open("a", encoding="utf-8") as file:
        file.write(AVERAGE + DECODE)
    (tmp_path / "corpora").mkdir(exist_ok=True)
    (tmp_path / "corpora/toy.yaml").write_text("decode: {}\n", encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """The tiny project trained for 600 updates, up to the averaged model, and 200 test sentences."""
    root = tmp_path_factory.mktemp("trained")
    tiny_project.lay_out(root)
    yaml, path, corpus = YAML(typ="safe"), root / "params.yaml", root / "corpora/toy.yaml"
    params, facts = yaml.load(path), yaml.load(corpus)
    facts["parts"]["train"]["num_pairs"] = 3000
    facts["parts"]["test"]["num_pairs"] = 200
    params["training"]["toy"] |= {"updates": 600, "validation_interval": 300, "checkpoint_interval": 300}
    yaml.dump(facts, corpus)
    yaml.dump(params, path)
    stages = tiny_project.stages()
    for name in ("local", "download", "clean", "split", "vocabulary", "encode", "train", "average"):
        tiny_project.run(stages[name], root)
    return root


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_says_what_it_can_do(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    monkeypatch.setattr(os, "environ", os.environ.copy())
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "benchmarks" / name), run_name="__main__")
    assert end.value.code == 0
    assert "--help" in capsys.readouterr().out


def test_train_speed_on_a_toy(encoded):
    said = run(
        encoded,
        *("train_speed.py", "--data", "data/encode/toy-joint", "--positions", "200"),
        *("--updates", "2", "--warm-up", "1", "--rounds", "1", "--threads", "1"),
    )
    rows = [line.split(" | ") for line in said.splitlines() if line.startswith("| fp32 | ")]
    assert [row[1] for row in rows] == ["pipeline", "torch"]
    assert all(int(row[2].replace(",", "")) > 0 for row in rows)


@pytest.mark.slow
def test_memory_on_a_toy(encoded):
    said = run(encoded, "memory.py", trainings.SYSTEM, "--updates", "8", "--every", "4")
    assert re.search(r"^\| [\d,]+ \| \d\.\d\d \| \d\.\d\d \|$", said, re.MULTILINE)


@pytest.mark.slow
def test_decode_speed_on_a_trained_system(trained):
    options = ("--beam", "2", "--batch", "200", "--sentences", "20", "--rounds", "1", "--threads", "1")
    said = run(trained, "decode_speed.py", tiny_project.SYSTEM, *options)
    names = [line.split(" | ")[1] for line in said.splitlines() if line.startswith("| 2 | ")]
    in_bf16 = ["pipeline, bf16"] if device.has_bf16(torch.device("cpu")) else []
    assert names == ["pipeline", *in_bf16, "ctranslate2 float32", "ctranslate2 int8"]


@pytest.mark.slow
def test_serving_on_a_toy(tmp_path):
    """Every answer of the server is the offline one, and none is lost."""
    with chdir(tmp_path):
        packages.build(tmp_path)
    options = ("--clients", "2", "--seconds", "2", "--sentences", "3", "--threads", "1")
    said = run(tmp_path, "serving.py", *options, "--engine", "ctranslate2", "--engine", "ctranslate2-int8")
    rows = [line.strip("| ").split(" | ") for line in said.splitlines() if " | sentence | " in line]
    assert [row[0] for row in rows] == [
        *("one line at a time, float32, 1 thread", "nmt serve, ctranslate2"),
        *("one line at a time, int8, 1 thread", "nmt serve, ctranslate2-int8"),
    ]
    assert [row[8:10] for row in rows] == [["0", "0"]] * 4
