"""Every script of benchmarks/ says what it can do, and those that need no hours run on toys."""

import contextlib
import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
from contextlib import chdir
from pathlib import Path

import pytest
import torch
from ruamel.yaml import YAML

from pipeline import device
from tests.toys import packages, systems, tiny_project, trainings

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


def test_no_script_hides_a_package_that_a_peer_looks_for():
    """A peer's Python finds this folder first. With a kernels.py here, transformers did not load."""
    looked_for = {"accelerate", "apex", "datasets", "kernels", "numpy", "optimum", "peft", "torch", "torchao", "triton"}
    assert not looked_for & {name.removesuffix(".py") for name in SCRIPTS}


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
        *("train_speed.py", "--data", "data/encode/toy-joint", "--positions", "200", "--stage-updates", "0"),
        *("--updates", "2", "--warm-up", "1", "--rounds", "1", "--threads", "1"),
    )
    rows = [line.split(" | ") for line in said.splitlines() if line.startswith("| fp32 | ")]
    assert [row[1] for row in rows] == ["pipeline", "torch"]
    assert all(int(row[2].replace(",", "")) > 0 for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "rungs", "reached"), [("0", ["0.02", "0.01"], r"0\.01 \| \d+\.\d"), ("101", ["0.02"], r"> 0\.02 \| -")]
)
def test_time_to_bleu_on_a_toy(encoded, target, rungs, reached):
    """Every try is said; then the ladder is halved until its first rung that is high enough is known."""
    options = ("--positions", "200", "--peak-rates", "1e-3,2e-3", "--tuning", "0.01", "--ladder", "0.02,0.01")
    more = ("--precision", "fp32", "--trial", "2", "--threads", "1", "--target", target)
    said = run(encoded, "time_to_bleu.py", "toy-joint", *options, *more)
    tries = re.findall(r"^pipeline, 200 positions, peak rate (\S+), [\d,]+ updates in (\S+) minutes: ", said, re.M)
    assert tries[:2] == [("0.001", "0.01"), ("0.002", "0.01")]
    assert [minutes for _, minutes in tries[2:]] == rungs
    assert re.search(rf"^\| pipeline \| 2 \| 200 \| 0\.00[12] \| [\d.]+ \| {reached} \|$", said, re.M)


@pytest.mark.slow
def test_a_stopped_race_goes_on(encoded, tmp_path):
    """What stands in the notes is not measured again, and notes of other settings are refused."""
    notes = tmp_path / "notes.json"
    options = ("toy-joint", "--positions", "200", "--peak-rates", "1e-3", "--tuning", "0.01", "--ladder", "0.01")
    more = ("--precision", "fp32", "--trial", "2", "--threads", "1", "--notes", str(notes))
    first = run(encoded, "time_to_bleu.py", *options, *more, "--target", "0")
    found = json.loads(notes.read_text(encoding="utf-8"))
    [what] = [name for name in found["measured"] if name.startswith("pipeline, ")]
    assert re.fullmatch(r"pipeline, 200 positions, peak rate 0\.001, [\d,]+ updates", what)
    found["measured"][what] = [77.7, 1.0]
    notes.write_text(json.dumps(found), encoding="utf-8")
    again = run(encoded, "time_to_bleu.py", *options, *more, "--target", "0")
    assert (
        again.count(": 77.70 (they took 1.0)") == first.count(f"{what} in 0.01 minutes: ") == 2
    )  # the try, and the rung like it
    command = [sys.executable, str(ROOT / "benchmarks/time_to_bleu.py"), *options, *more, "--seed", "2"]
    done = subprocess.run(command, cwd=encoded, env=tiny_project.environment(), capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"{notes}: is about 1 as 'seed'; expected 2, or another file\n"
    (encoded / "data/encode/toy-joint/another").touch()
    command[-1] = "1"
    done = subprocess.run(command, cwd=encoded, env=tiny_project.environment(), capture_output=True, text=True)
    assert re.fullmatch(r".*: is about '\w{8}' as 'data'; expected '\w{8}', or another file\n", done.stderr)


@pytest.mark.slow
def test_a_race_that_is_stopped_leaves_nothing_running(encoded, tmp_path):
    """By SIGTERM: neither its training nor what that started."""
    options = ("toy-joint", "--positions", "200", "--peak-rates", "1e-3", "--tuning", "9", "--precision", "fp32")
    command = [sys.executable, str(ROOT / "benchmarks/time_to_bleu.py"), *options, "--trial", "100", "--threads", "1"]
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    race = subprocess.Popen(command, cwd=encoded, env=tiny_project.environment() | {"TMPDIR": str(jobs)})
    running = ["pgrep", "--full", f"pipeline_training.py {jobs}"]
    for _ in range(1200):
        if subprocess.run(running).returncode == 0:
            break
        time.sleep(0.1)
    race.terminate()
    assert race.wait(timeout=60) == 128 + signal.SIGTERM
    assert subprocess.run(running).returncode == 1


def test_time_to_bleu_knows_two_models(encoded):
    command = [sys.executable, str(ROOT / "benchmarks/time_to_bleu.py"), "toy-joint", "--model", "rnnsearch"]
    environment = tiny_project.environment()
    done = subprocess.run(command, cwd=encoded, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "--model: got 'rnnsearch'; expected transformer_modern or transformer_prenorm\n"


@pytest.mark.slow
def test_an_ablation_on_a_toy(encoded):
    """Each recipe trains with every seed; what stands in the notes is not measured again."""
    options = ("--size", "tiny", "--minutes", "0.001", "--seeds", "1,2", "--side-by-side", "2", "--trial", "4")
    chosen = ("toy-joint", "--recipes", "plain,lsi+less_dropout", "--folder", "ablation")
    said = run(encoded, "ablation.py", *chosen, *options)
    row = r"^(\S+), seed (\d), 20 updates, params \w{8}: loss (\d\.\d{3}), BLEU \d+\.\d\d, \d\.\d minutes$"
    each = re.findall(row, said, re.M)
    assert sorted(row[:2] for row in each) == [(name, seed) for name in ("lsi+less_dropout", "plain") for seed in "12"]
    assert len({row[2] for row in each}) == 4
    assert os.listdir(encoded / "ablation") == ["notes.json"]
    notes = encoded / "ablation/notes.json"
    found = json.loads(notes.read_text(encoding="utf-8"))
    plain = [what for what in found["measured"] if what.startswith("plain, seed ")]
    assert len(plain) == 2
    found["measured"] |= {what: [number, 70.0 + number, 3.0] for number, what in enumerate(sorted(plain), 1)}
    notes.write_text(json.dumps(found), encoding="utf-8")
    again = run(encoded, "ablation.py", *chosen, *options)
    assert re.search(
        r"^\| plain \| \d+\.\d\d \| 20 \| 3\.0 \| 1\.50 ± 0\.71 \| 71\.5 ± 0\.7 \| 71\.0, 72\.0 \|$", again, re.M
    )
    assert f"\n{said.splitlines()[-1]}\n" in again


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ("toy-joint", "--recipes", "plain+dropped"),
            "--recipes: got 'dropped'; expected some of plain, half_batch, .*",
        ),
        (("toy-joint",), r"params\.yaml: models\.transformer_prenorm\.small: missing; expected what 'plain' changes"),
        (("toy",), "data/encode/toy: no such folder; expected what `dvc repro encode` builds"),
        pytest.param(
            ("toy-joint", "--size", "tiny"),
            r"-m stages\.train toy joint .*: exit code 1 in .*data/encode/toy-joint/validation.*",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_ablation_that_cannot_be(encoded, options, expected):
    shutil.rmtree(encoded / "data/encode/toy-joint/validation")
    command = [sys.executable, str(ROOT / "benchmarks/ablation.py"), *options]
    done = subprocess.run(command, cwd=encoded, env=tiny_project.environment(), capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch(expected, done.stderr.strip(), re.S), done.stderr


@pytest.mark.slow
def test_an_ablation_that_is_stopped_goes_on(encoded):
    """SIGTERM reaches the trainings under way, which save; nothing else is started. The same command goes on."""
    options = ("toy-joint", "--size", "tiny", "--minutes", "0.5", "--trial", "4", "--folder", "ablation")
    command = [sys.executable, str(ROOT / "benchmarks/ablation.py"), *options, "--recipes", "plain,less_dropout"]
    started = subprocess.Popen(command, cwd=encoded, env=tiny_project.environment(), stderr=subprocess.PIPE, text=True)
    for _ in range(1200):
        if list(encoded.glob("ablation/plain-*/work/train/*/*.safetensors")):
            break
        time.sleep(0.1)
    started.terminate()
    started.communicate(timeout=120)
    assert started.returncode == 128 + signal.SIGTERM
    assert list(encoded.glob("ablation/plain-*/work/train/*/*.safetensors"))
    assert not list(encoded.glob("ablation/less_dropout-*"))
    [log] = encoded.glob("ablation/plain-*/work/logs/*/train-*.jsonl")
    before, begins = log.read_bytes().splitlines(), set()
    again = subprocess.Popen(command, cwd=encoded, env=tiny_project.environment(), stdout=subprocess.PIPE, text=True)
    while again.poll() is None and not list(encoded.glob("ablation/less_dropout-*")):
        with contextlib.suppress(FileNotFoundError):  # before the log is opened again, and after its folder is removed
            if len(lines := log.read_bytes().splitlines()) > len(before):
                begins.add(lines[0])
        time.sleep(0.05)
    again.terminate()
    said, _ = again.communicate(timeout=120)
    assert begins == set(before[:1])  # how quick the first update was is what it was at the first start
    assert re.search(r"^plain, seed 1, [\d,]+ updates, params \w{8}: loss ", said, re.M)


@pytest.mark.slow
def test_equal_time_on_a_toy(encoded):
    options = ("--part", "validation", "--minutes", "0.01", "--positions", "200", "--threads", "1")
    said = run(encoded, "equal_time.py", "toy-joint", *options, "--precision", "fp32")
    assert re.search(r"^\| pipeline \| [\d,]+ \| \d+ \| 0\.\d\d \| 0\.\d \| \d+\.\d \|$", said, re.M)


@pytest.mark.slow
def test_memory_on_a_toy(encoded):
    said = run(encoded, "memory.py", trainings.SYSTEM, "--updates", "8", "--every", "4", "--table", "samples.csv")
    assert re.search(r"^\| [\d,]+ \| \d\.\d\d \| \d\.\d\d \|$", said, re.MULTILINE)
    assert (encoded / "samples.csv").read_text().startswith("update,gib,peak_gib\n")


def test_a_student_beside_its_teacher(tmp_path):
    """Both are the same system here: in fp32 CTranslate2 scores what torch does, and the same for both."""
    student = teacher = systems.lay_out(tmp_path, "transformer_modern")
    options = ("validation", "--quantization", "float32", "--rounds", "1", "--threads", "1")
    said = run(tmp_path, "student.py", student, teacher, *options)
    rows = re.findall(r"^\| (.+) \| ([\d,]+) \| (\d+\.\d\d) \| (\d+\.\d\d) \|$", said, re.M)
    others = [f"{name}, float32, beam {number}" for name in ("teacher", "student") for number in (1, 2, 3)]
    assert [row[0] for row in rows] == ["teacher, torch, beam 3", *others]
    assert rows[0][2] == "1.00"
    assert rows[0][3] == rows[3][3]
    assert [row[3] for row in rows[1:4]] == [row[3] for row in rows[4:]]


@pytest.mark.parametrize("model", ["transformer_prenorm", pytest.param("transformer_postnorm", marks=pytest.mark.slow)])
def test_export_equality_on_a_toy(tmp_path, model):
    said = run(tmp_path, "export_equality.py", systems.lay_out(tmp_path, model))
    assert re.search(r"^\d+ log-probabilities of 6 lines differ by at most \d\.\de-0\d$", said, re.MULTILINE)


@pytest.mark.slow
def test_a_trained_system_is_the_same_model_in_ctranslate2(trained):
    """On a whole test part: the script fails if a log-probability differs by more than 1e-4."""
    said = run(trained, "export_equality.py", tiny_project.SYSTEM)
    found = re.search(r"^([\d,]+) of ([\d,]+) lines .* equal under each engine's own search$", said, re.MULTILINE)
    equal, lines = (int(number.replace(",", "")) for number in found.groups())
    assert lines == 200
    assert equal > 0.5 * lines


@pytest.mark.slow
def test_a_trained_student_scores_the_same_in_ctranslate2(trained):
    options = ("test", "--quantization", "float32", "--rounds", "1", "--threads", "1")
    said = run(trained, "student.py", tiny_project.SYSTEM, tiny_project.SYSTEM, *options)
    rows = re.findall(r"^\| (.+) \| [\d,]+ \| \d+\.\d\d \| (\d+\.\d\d) \|$", said, re.M)
    torch_, in_float32 = float(rows[0][1]), float(rows[-1][1])
    assert torch_ > 5
    assert in_float32 == pytest.approx(torch_, abs=2)


@pytest.mark.slow
@pytest.mark.parametrize("checkpoints", ["0", "3", "many"])
def test_more_checkpoints_than_there_are_cannot_be_averaged(trained, checkpoints):
    command = [sys.executable, str(ROOT / "benchmarks/choose_on_validation.py"), tiny_project.SYSTEM]
    done = subprocess.run(
        [*command, "--checkpoints", checkpoints],
        cwd=trained,
        env=tiny_project.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    folder = f"runs/{tiny_project.SYSTEM}/train/checkpoints"
    assert done.stderr == f"--checkpoints: got {checkpoints!r}; expected 1 to 2, which {folder} has\n"


@pytest.mark.slow
def test_averages_are_scored_as_the_stages_score_them(trained):
    said = run(trained, "choose_on_validation.py", tiny_project.SYSTEM, "--checkpoints", "1,2")
    rows = re.findall(r"^\| (\d) \| [\d.]+ \| [\d.]+\+\d+ \| (\d+\.\d\d) \|$", said, re.M)
    assert [row[0] for row in rows] == ["1", "2"]
    assert all(float(row[1]) > 5 for row in rows)


@pytest.mark.slow
def test_decode_speed_on_a_trained_system(trained):
    options = ("--beam", "2", "--batch", "200", "--sentences", "20", "--rounds", "1", "--threads", "1")
    said = run(trained, "decode_speed.py", tiny_project.SYSTEM, *options)
    names = [line.split(" | ")[1] for line in said.splitlines() if line.startswith("| 2 | ")]
    in_bf16 = ["pipeline, bf16"] if device.has_bf16(torch.device("cpu")) else []
    assert names == ["pipeline", *in_bf16, "pipeline, patience 1", "ctranslate2 float32", "ctranslate2 int8"]


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
