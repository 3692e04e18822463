"""What portable.json says that the results depend on, and which results it lists."""

import json
import shutil
from pathlib import Path

import pytest
from dvc.dependency.param import ParamsDependency
from dvc.repo import Repo

from pipeline.commands import portable_list
from pipeline.commands.portable_list import LIST
from pipeline.system import Build

SYSTEMS = ("toy-bpe-transformer_postnorm-tiny", "toy-bpe-transformer_prenorm-tiny")
SHARED = ["data/split/toy/train.source.txt", "data/vocabulary/toy-bpe/joint.model"]


@pytest.mark.usefixtures("shipped_params")
def test_the_list_was_made_with_the_present_parameters(project_root, monkeypatch):
    """Else renew it, with `nmt repro-portable --renew`, which takes as long as a build."""
    monkeypatch.chdir(project_root)
    portable_list.check_fits(portable_list.conditions(project_root))
    names = json.loads(LIST.read_text(encoding="utf-8"))["results"]
    for system in Build.load("build").systems():
        paths = (system.trained / "curves.csv", system.weights, system.decoded / "test.txt", system.metrics)
        assert {path.as_posix() for path in paths} <= names.keys()


def test_the_sections_are_those_that_dvc_knows(project_root, monkeypatch):
    monkeypatch.chdir(project_root)
    read = {
        (one.def_path, name)
        for stage in Repo(project_root).index.stages
        if stage.addressing.partition("@")[0] not in portable_list.UNLISTED
        for one in stage.deps
        if isinstance(one, ParamsDependency)
        for name in one.params
    }
    found = portable_list.sections(project_root, Build.load("build"))
    assert read
    assert {(file, name) for file, names in found.items() for name in names} == read


def test_teachers_and_further_seeds_are_of_the_list(project_root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(project_root / "dvc.yaml", tmp_path)
    text = (project_root / "tests/toys/params.yaml").read_text(encoding="utf-8")
    teacher = "teachers: {toy: {corpus: a, vocabulary: b, model: c, size: d}}"
    text = text.replace("teachers: {}", teacher).replace("more_seeds: []", "more_seeds: [2]")
    Path("params.yaml").write_text(text, encoding="utf-8")
    shutil.copytree(project_root / "tests/toys/corpora", tmp_path / "corpora")
    assert "distill.teachers.toy" in portable_list.sections(tmp_path, Build.load("build"))["params.yaml"]
    results = [*SHARED, *(path for system in SYSTEMS for path in of(system))]
    results += [path for system in SYSTEMS for path in of(f"{system}-2")]
    for name in results:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    assert list(portable_list.checksums(tmp_path)) == results


def of(system: str) -> list[str]:
    """The listed results of one training, in the order in which they are made."""
    trained = [f"runs/{system}/train/curves.csv", f"runs/{system}/average/model.safetensors"]
    return [*trained, f"data/decode/{system}/test.txt", f"metrics/{system}.json"]
