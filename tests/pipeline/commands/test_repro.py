"""`nmt repro`, with a program in the place of DVC that notes how it was called; tests/test_repro.py has DVC itself."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from dvc.exceptions import DvcException
from ruamel.yaml import YAML

from pipeline.commands import repro
from pipeline.system import Build
from pipeline.training.launch import PROCESSES

DVC = """
import os, signal, sys, time
words = sys.argv[1:]
with open("called", "a") as file:
    file.write(" ".join(words) + "\\n")
for target in words:
    if target.startswith("score@"):
        print(f"Running stage '{target}':\\n\\nUpdating lock file", os.environ.get("OMP_NUM_THREADS"), flush=True)
        open("began-" + target, "w").close()
        if os.environ.get("WAIT"):
            signal.signal(signal.SIGTERM, lambda *_: (open("ended-" + target, "w").close(), sys.exit(1)))
            time.sleep(60)
        if os.environ.get("FAILS", "none") in target:
            sys.exit("error: broken")
"""
MODELS = ("rnn_encdec", "rnnsearch", "transformer_prenorm")
SYSTEMS = [f"phrasebook_fr_en-bpe_2k-{model}-tiny" for model in MODELS]


@pytest.fixture
def folder(project_root, tmp_path, monkeypatch):
    """A folder with three systems to build, on a machine of two cores."""
    text = (project_root / "params.yaml").read_text(encoding="utf-8")
    start = text.index("build:")
    head, rest = text[:start], text[start:]
    for model in ("gru_attention", "bilstm_attention", "transformer_postnorm"):
        rest = rest.replace(f"  - {model}\n", "", 1)
    (tmp_path / "params.yaml").write_text(head + rest, encoding="utf-8")
    shutil.copytree(project_root / "corpora", tmp_path / "corpora")
    (tmp_path / "fake_dvc.py").write_text(DVC)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(repro, "DVC", (sys.executable, str(tmp_path / "fake_dvc.py")))
    monkeypatch.setattr(repro, "cores", lambda: 2)
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


def test_each_line_stands_behind_the_name_of_its_system(folder, run):
    said = run("repro", "--jobs", "3")
    lines = [f"{model} | Running stage 'score@{system}':" for model, system in zip(MODELS, SYSTEMS, strict=True)]
    assert sorted(said.out.splitlines()) == lines


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_cores_are_shared_out(folder, run, monkeypatch, jobs):
    monkeypatch.setattr(repro, "REPEATED", ("Running",))
    said = run("repro", "--jobs", str(jobs))
    assert {line.split()[-1] for line in said.out.splitlines()} == ({"1"} if jobs == 2 else set())
    assert called() == ["repro"] if jobs == 1 else len(called()) == 5


def test_the_stages_of_a_system_are_those_of_dvc_yaml_in_their_order(project_root):
    stages = YAML(typ="safe").load(project_root / "dvc.yaml")["stages"]
    assert tuple(name for name, stage in stages.items() if "model" in stage.get("matrix", {})) == repro.STAGES


def test_where_all_is_built_nothing_is_run(folder, run, monkeypatch):
    monkeypatch.setattr(repro, "is_up_to_date", lambda: True)
    assert run("repro") == (0, "Data and pipelines are up to date.\n", "")
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


def test_what_fails_is_named_and_nothing_else_begins(folder, run, monkeypatch):
    monkeypatch.setenv("FAILS", MODELS[0])
    said = run("repro", "--jobs", "2")
    assert said.status == 1
    assert f"{MODELS[0]} | error: broken" in said.out.splitlines()
    assert said.err == f"error: {SYSTEMS[0]}: not built, as said above; `nmt repro` goes on from there\n"
    assert called()[-1] != "repro"


@pytest.mark.parametrize(("status", "expected"), [(3, 3), (-9, 137)])
def test_a_failure_of_dvc_is_passed_on(monkeypatch, status, expected):
    monkeypatch.setattr(repro.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], status))
    with pytest.raises(SystemExit) as caught:
        repro.run("repro")
    assert caught.value.code == expected


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
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert len(list(folder.glob("ended-*"))) == 2
    assert len(called()) == 3


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
    monkeypatch.setattr(repro, "cores", lambda: cores)
    assert repro.affordable(build) == expected


def test_a_gpu_and_a_number_of_processes_have_the_machine_for_themselves(folder, monkeypatch):
    build = Build.load("build")
    assert repro.affordable(build) == 2
    monkeypatch.setenv(PROCESSES, "2")
    assert repro.affordable(build) == 1
    monkeypatch.delenv(PROCESSES)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert repro.affordable(build) == 1


def test_the_cores_of_this_process():
    assert 1 <= repro.cores() <= (os.cpu_count() or 1)


def test_what_tells_systems_apart(folder):
    build = Build.load("build").model_copy(update={"sizes": ["tiny", "small"]})
    builds = repro.ParallelBuild(build, 2)
    assert builds.label(build.systems()[0]) == "rnn_encdec-tiny"
    one = build.model_copy(update={"models": ["rnnsearch"], "sizes": ["tiny"]})
    assert repro.ParallelBuild(one, 2).label(one.systems()[0]) == "rnnsearch"
