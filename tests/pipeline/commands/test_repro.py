"""`nmt repro`, with a program in the place of DVC that notes how it was called; tests/test_repro.py has DVC itself."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from dvc.exceptions import DvcException
from ruamel.yaml import YAML

from pipeline.commands import repro
from pipeline.system import SEED, Build
from pipeline.training.launch import PROCESSES

DVC = """
import json, os, signal, sys, time
words = sys.argv[1:]
with open("called", "a") as file:
    file.write(" ".join(words) + "\\n")
with open("threads-alone" if words[0] == "repro" else "threads-beside-others", "a") as file:
    print(os.environ.get("OMP_NUM_THREADS"), file=file)
def event(kind, **values):
    print("\\x1e" + json.dumps({"kind": kind, "stage": target, **values}), flush=True)
for target in words:
    if target.startswith(("score@", "score_seed@")):
        assert os.environ["NMT_EVENTS"]
        print(f"Running stage '{target}':\\n> python -m stages.score\\n\\nUpdating lock file", flush=True)
        print("threads", os.environ.get("OMP_NUM_THREADS"), flush=True)
        event("began")
        signal.signal(signal.SIGTERM, lambda *_: (open("ended-" + target, "w").close(), sys.exit(1)))
        open("began-" + target, "w").close()
        time.sleep(60 if os.environ.get("WAIT") else 0)
        broken = os.environ.get("FAILS", "none") in target
        event("ended", ok=not broken, seconds=62.4)
        if broken:
            print("error: broken", flush=True)
            sys.exit(f"ERROR: failed to reproduce '{target}': exited with 1")
if os.environ.get("STATUS_OF") in words:
    sys.exit(5)
if words == ["repro"] and os.environ.get("STATUS"):
    os.kill(os.getpid(), 9) if os.environ["STATUS"] == "-9" else sys.exit(int(os.environ["STATUS"]))
"""
MODELS = ("rnn_encdec", "rnnsearch", "transformer_prenorm")
SYSTEMS = [f"phrasebook_fr_en-bpe_2k-{model}-tiny" for model in MODELS]


@pytest.fixture
def folder(project_root, shipped_params, tmp_path, monkeypatch):
    """A folder with three systems to build, on a machine of two cores and much memory."""
    text = (project_root / "params.yaml").read_text(encoding="utf-8")
    start = text.index("build:")
    head, rest = text[:start], text[start:]
    for model in ("gru_attention", "bilstm_attention", "transformer_postnorm"):
        rest = rest.replace(f"  - {model}\n", "", 1)
    (tmp_path / "params.yaml").write_text(head + rest, encoding="utf-8")
    shutil.copytree(project_root / "corpora", tmp_path / "corpora")
    shutil.copy(project_root / "dvc.yaml", tmp_path)
    (tmp_path / "fake_dvc.py").write_text(DVC)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(repro, "DVC", (sys.executable, str(tmp_path / "fake_dvc.py")))
    monkeypatch.setattr(repro.cores, "count", lambda: 2)
    monkeypatch.setattr(repro.psutil, "virtual_memory", lambda: SimpleNamespace(available=2**40))
    monkeypatch.setattr(repro, "is_up_to_date", lambda: False)
    monkeypatch.delenv(PROCESSES, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [system.id for system in Build.load("build").systems()] == SYSTEMS
    return tmp_path


def called() -> list[str]:
    return Path("called").read_text().splitlines()


def lane(system: str) -> str:
    stages = " ".join(f"{stage}@{system}" for stage in repro.STAGES)
    return f"--wait-for-lock repro --single-item {stages}"


def test_what_they_share_comes_first_and_the_report_last(folder, run):
    assert run("repro").status == 0
    shared, *builds, last = called()
    assert (shared, last) == ("repro encode@phrasebook_fr_en-bpe_2k", "repro")
    assert sorted(builds) == [lane(system) for system in SYSTEMS]


def test_further_seeds_are_built_beside_the_systems(folder, run):
    text = (folder / "params.yaml").read_text(encoding="utf-8")
    (folder / "params.yaml").write_text(text.replace("more_seeds: []", "more_seeds: [2]"), encoding="utf-8")
    said = run("repro")
    assert said.status == 0
    stages = ("train_seed", "average_seed", "decode_seed", "score_seed")
    seeds = [" ".join(f"{stage}@{system}-2" for stage in stages) for system in SYSTEMS]
    assert sorted(called()[1:-1]) == sorted(
        [*map(lane, SYSTEMS), *(f"--wait-for-lock repro --single-item {names}" for names in seeds)]
    )
    width = len("transformer_prenorm-tiny-2")
    assert f"score       {'rnnsearch-tiny-2':{width}}     1:02" in said.out.splitlines()


def test_a_stage_is_a_line_and_the_routine_of_dvc_none(folder, run):
    """What else is said stands behind the name of its system."""
    said = run("repro", "--jobs", "3")
    lines = said.out.splitlines()
    width = len("transformer_prenorm-tiny")
    assert sorted(line for line in lines if line.startswith("score ")) == [
        f"score       {f'{model}-tiny':{width}}     1:02" for model in MODELS
    ]
    assert sorted(line for line in lines if "threads" in line) == [f"{model}-tiny | threads 1" for model in MODELS]
    assert not [line for line in lines if "Running" in line or "> " in line or "Updating" in line]
    assert lines[6].startswith("stages: 3 ran in 0:0")
    assert lines[6].endswith("; 23 unchanged or from DVC's cache")
    assert lines[7:] == ["", "all runs   make ui"]
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_cores_are_shared_out(folder, run, jobs):
    said = run("repro", "--jobs", str(jobs))
    threads = {line.split()[-1] for line in said.out.splitlines() if "threads" in line}
    assert threads == ({"1"} if jobs == 2 else set())
    assert called() == ["repro"] if jobs == 1 else len(called()) == 5
    assert set(Path("threads-alone").read_text().split()) == {"None"}
    assert jobs == 1 or set(Path("threads-beside-others").read_text().split()) == {"1"}


def test_the_stages_of_a_system_are_those_of_dvc_yaml_in_their_order(project_root):
    stages = YAML(typ="safe").load(project_root / "dvc.yaml")["stages"]
    of_systems = {name: stage["matrix"] for name, stage in stages.items() if "model" in stage.get("matrix", {})}
    assert tuple(name for name, axes in of_systems.items() if "seed" not in axes) == repro.STAGES
    assert tuple(name for name, axes in of_systems.items() if "seed" in axes) == tuple(
        f"{name}{SEED}" for name in repro.SEED_STAGES
    )


def test_where_all_is_built_nothing_is_run(folder, run, monkeypatch):
    monkeypatch.setattr(repro, "is_up_to_date", lambda: True)
    assert run("repro") == (0, "Data and pipelines are up to date.\n\nall runs   make ui\n", "")
    assert not Path("called").exists()


@pytest.mark.parametrize(("changed", "expected"), [({}, True), ({"clean@toy": []}, False), (None, False)])
def test_dvc_says_what_is_up_to_date(monkeypatch, changed, expected):
    class Repo:
        def status(self):
            if changed is None:
                raise DvcException("busy")
            return changed

    monkeypatch.setattr("dvc.repo.Repo", Repo)
    assert repro.is_up_to_date() is expected


def test_a_fault_of_params_comes_first(folder, fails):
    (folder / "params.yaml").write_text("")
    assert fails("repro") == "params.yaml: must be a mapping of sections, got nothing"
    assert not Path("called").exists()


def test_make_repro_is_no_more(project_root):
    lines = (project_root / "Makefile").read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("repro:"))
    assert lines[start + 1 : start + 3] == ["\t@nmt repro", ""]


@pytest.mark.parametrize("status", [0, 3])
def test_make_ui_ends_with_the_status_of_the_server(project_root, tmp_path, status):
    shutil.copy(project_root / "Makefile", tmp_path)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    for name in ("requirements.lock", "torch.lock", "pyproject.toml", ".venv/.installed"):
        (tmp_path / name).touch()
    server = tmp_path / ".venv/bin/mlflow"
    server.write_text(f"#!/bin/sh\necho 'Registry store URI: x' >&2\necho \"$MLFLOW_LOGGING_LEVEL\"\nexit {status}\n")
    server.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "PORT"))}
    environment = kept | {"LC_ALL": "C"}  # in which make says "Error"
    said = subprocess.run(["make", "ui"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert said.stdout.splitlines() == ["http://127.0.0.1:5000 in a few seconds; Ctrl-C ends it", "ERROR"]
    assert said.returncode == (2 if status else 0)  # of make, which says the server's
    assert ("Error 3" in said.stderr) == (status == 3)


def test_what_fails_is_named_and_nothing_else_begins(folder, run, monkeypatch):
    monkeypatch.setenv("FAILS", MODELS[0])
    said = run("repro", "--jobs", "2")
    assert said.status == 1
    lines = said.out.splitlines()
    where = lines.index(f"{MODELS[0]}-tiny | error: broken")
    ended = [line for line in lines[where + 1 :] if MODELS[0] in line]
    assert [line.split() for line in ended] == [
        ["score", f"{MODELS[0]}-tiny", "failed,", "as", "said", "above"],
        ["repeat", "it", "with:", "dvc", "repro", f"score@{SYSTEMS[0]}"],
    ]
    assert said.err == f"error: {MODELS[0]}-tiny: not built, as said above; `nmt repro` goes on from there\n"
    assert called()[-1] != "repro"


def test_what_was_just_started_is_waited_for_when_another_fails(folder, monkeypatch):
    build = Build.load("build")

    def start(*arguments, **options):
        process = popen(*arguments, **options)
        builder.ended = True
        return process

    with repro.Board(build) as board:
        builder, popen = repro.Builder(board, build, 2), subprocess.Popen
        monkeypatch.setattr(repro.subprocess, "Popen", start)
        assert builder.dvc("", "repro", f"score@{SYSTEMS[0]}") == 0
        assert builder.dvc("", "repro", f"score@{SYSTEMS[1]}") == 0
    assert called() == [f"repro score@{SYSTEMS[0]}"]  # and the second was not begun


def test_without_what_the_systems_share_none_is_begun(folder, run, monkeypatch):
    monkeypatch.setenv("STATUS_OF", "encode@phrasebook_fr_en-bpe_2k")
    assert run("repro", "--jobs", "2").status == 5
    [only] = called()
    assert "encode@phrasebook_fr_en-bpe_2k" in only


@pytest.mark.parametrize(("status", "expected"), [("3", 3), ("-9", 137)])
def test_a_failure_of_dvc_is_passed_on(folder, run, monkeypatch, status, expected):
    monkeypatch.setenv("STATUS", status)
    assert run("repro", "--jobs", "1").status == expected


def test_sigterm_ends_what_is_under_way(folder):
    script = """if True:
        import sys
        from pipeline.commands import nmt, repro
        repro.DVC, repro.is_up_to_date = (sys.executable, "fake_dvc.py"), lambda: False
        sys.argv = ["nmt", "repro", "--jobs", "2"]
        nmt.app()
    """
    root = str(Path(repro.__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=os.environ | {"WAIT": "1", "PYTHONPATH": root}, stdout=subprocess.DEVNULL
    )
    while len(list(folder.glob("began-*"))) < 2 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert len(list(folder.glob("ended-*"))) == 2
    assert len(called()) == 3


def test_where_nothing_can_be_shown_any_more_what_runs_is_ended(folder, monkeypatch):
    """As after `nmt repro | head`: no stage goes on unseen."""
    monkeypatch.setenv("WAIT", "1")

    def say(self, text):
        raise BrokenPipeError

    board = repro.Board(Build.load("build"))
    monkeypatch.setattr(repro.Board, "say", say)
    builder, began = repro.Builder(board, board.build, 2), time.monotonic()
    with pytest.raises(BrokenPipeError):
        builder.run_systems()
    assert not builder.running
    assert 1 <= len(called()) <= 2  # the second may have been ended before it began, and no third was started
    assert time.monotonic() - began < 30  # of the 60 s that each would take


def test_the_stages_have_the_python_of_nmt(folder, monkeypatch):
    """Whatever `python` the user's path has, such as none: dvc.yaml says only that."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/ours/python")
    board = repro.Board(Build.load("build"))
    assert repro.Builder(board, board.build, 1).environment["PATH"] == "/ours:/nowhere"


def test_a_second_make_does_not_remove_what_the_first_installs(project_root, tmp_path):
    shutil.copy(project_root / "Makefile", tmp_path)
    for name in ("requirements.lock", "torch.lock", "pyproject.toml", ".venv/half-installed"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".venv.lock").mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    said = subprocess.run(["make", "install"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert said.returncode == 2
    assert said.stderr.splitlines()[0] == (
        "make: another make installs into .venv: wait for it; if there is none, run rmdir .venv.lock"
    )
    assert (tmp_path / ".venv/half-installed").exists()
    (tmp_path / ".venv.lock").rmdir()
    said = subprocess.run(
        ["make", "install", "PYTHON=false"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert said.returncode == 2
    assert said.stdout == "installing into .venv with false: this takes minutes\n"
    assert not (tmp_path / ".venv.lock").exists()


@pytest.mark.parametrize(
    ("threads", "cores", "expected"),
    [((1,), 2, 2), ((1,), 8, 8), ((2,), 8, 4), ((3, 1), 8, 2), ((0,), 8, 1), ((4,), 2, 1)],
)
def test_as_many_trainings_as_the_cores_are_enough_for(folder, monkeypatch, threads, cores, expected):
    build = Build.load("build").model_copy(update={"corpora": [str(number) for number in threads]})
    number = {f"training.{name}": threads[index] for index, name in enumerate(build.corpora)}
    training = repro.Training.load_all("training.default", "training.phrasebook_fr_en")
    monkeypatch.setattr(
        repro.Training, "load_all", lambda _, name: training.model_copy(update={"threads": number[name]})
    )
    monkeypatch.setattr(repro.cores, "count", lambda: cores)
    assert repro.affordable(build) == expected


@pytest.mark.parametrize(("gib", "expected"), [(1, 1), (2.9, 1), (3, 2), (8, 5), (100, 16)])
def test_as_many_trainings_as_memory_is_enough_for(folder, monkeypatch, gib, expected):
    monkeypatch.setattr(repro.cores, "count", lambda: 16)
    monkeypatch.setattr(repro.psutil, "virtual_memory", lambda: SimpleNamespace(available=int(gib * 2**30)))
    assert repro.affordable(Build.load("build")) == expected


def test_a_gpu_and_a_number_of_processes_have_the_machine_for_themselves(folder, monkeypatch):
    build = Build.load("build")
    assert repro.affordable(build) == 2
    monkeypatch.setenv(PROCESSES, "2")
    assert repro.affordable(build) == 1
    monkeypatch.delenv(PROCESSES)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert repro.affordable(build) == 1
