"""Recipes build on the packages of the project, whose own graph does not know them."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline.common import files, parts
from pipeline.packaging import loading
from tests.toys.project import ROOT, SYSTEMS, create, stages_run

STUDENT = "taught-bpe-transformer_prenorm-toy-1"
TEACHER = {"corpus": "toy", "vocabulary": "bpe", "model": "transformer_postnorm", "size": "toy", "seed": 1}


@pytest.mark.slow
def test_a_student_learns_from_the_translations_of_its_teacher(built, tmp_path):
    project, recipe = built.copy(tmp_path / "copy"), tmp_path / "copy/recipes/student"
    toys = YAML(typ="safe").load(project.root / "params.yaml")
    params = {name: toys[name] for name in ("training", "average", "decode", "score")}
    params["teacher"] = TEACHER | {"keep_references": True}
    params["student"] = {"models": ["transformer_prenorm"], "sizes": ["toy"], "seeds": [1]}
    YAML(typ="safe").dump(params, recipe / "params.yaml")
    shutil.copytree(project.root / "configs", recipe / "configs", dirs_exist_ok=True)

    stages = stages_run(project.dvc("--cd", "recipes/student", "repro"))
    systems = [f"{stage}@{STUDENT}" for stage in ("train", "average", "decode", "score", "package")]
    assert stages == ["distill", "encode", *systems]
    assert stages_run(project.dvc("--cd", "recipes/student", "repro")) == project.repro() == []

    split, taught = project.root / "data/split/toy", recipe / "data/split/taught"
    sources, references = map(list, zip(*parts.read(split, parts.TRAIN), strict=True))
    teacher = loading.load(project.root / "models" / SYSTEMS[0])
    taught_pairs = [*zip(sources, teacher.translate(sources), strict=True), *zip(sources, references, strict=True)]
    assert list(parts.read(taught, parts.TRAIN)) == taught_pairs
    assert (taught / "test.target.txt").read_bytes() == (split / "test.target.txt").read_bytes()
    student = loading.load(recipe / "models" / STUDENT)
    assert student.vocabulary.digest == teacher.vocabulary.digest
    assert not any((recipe / "work/shards").iterdir())


@pytest.mark.slow
def test_two_nodes_under_slurm_build_what_one_machine_does(tmp_path, monkeypatch):
    """Stand-ins for Slurm's commands run every job here; the first training is asked to stop, and queued again."""
    project, spool, system = create(tmp_path / "clone"), tmp_path / "spool", SYSTEMS[1]
    spool.mkdir()
    files.write_lines(project.root / ".venv/bin/activate", [f"PATH={Path(sys.executable).parent}:$PATH"])
    monkeypatch.setenv("PATH", f"{ROOT / 'tests/toys/slurm'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_SPOOL", str(spool))
    monkeypatch.setenv("TRAIN_PROCESSES", "1")
    project.edit("build.models", ["transformer_prenorm"])
    project.edit("training.updates", 200)
    project.dvc("repro", "download@toy")
    submitted = project.run("bash", "recipes/slurm/submit.sh", "--nodes=2", system)
    logs = {path.name: path.read_text() for path in (project.root / "work/slurm").iterdir()}
    assert (submitted.returncode, submitted.stdout) == (0, "Submitted batch job 3\n"), submitted.stderr + str(logs)
    assert [(spool / job).read_text() for job in "123"] == ["0"] * 3, logs
    assert "asked to stop, saved at update " in logs["train-2.log"]
    assert "goes on from update " in logs["train-2.log"]
    assert {stage.partition("@")[0] for stage in stages_run(logs["finish-3.log"])} == {
        "average",
        "decode",
        "score",
        "attend",
        "package",
        "report",
    }
    assert project.repro() == []
    lock = project.lock()
    shutil.rmtree(project.root / "work/train")
    project.dvc("repro", "--single-item", "--force", f"train@{system}")
    assert project.lock() == lock
