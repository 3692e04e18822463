"""`nmt dag`, against what DVC makes of the same dvc.yaml."""

import shutil
from collections import Counter

import pytest
from dvc.repo import Repo
from ruamel.yaml import YAML

from pipeline.commands import dag
from pipeline.system import Build


@pytest.fixture
def at_root(project_root, monkeypatch):
    monkeypatch.chdir(project_root)


def kind(stage) -> str:
    return stage.addressing.partition("@")[0]


@pytest.mark.usefixtures("at_root")
def test_kinds_counts_and_order_are_those_of_dvc(project_root):
    index = Repo(project_root).index
    edges = {(kind(reader), kind(writer)) for reader, writer in index.graph.edges}
    found = dag.kinds(Build.load("build"))
    assert {kind.name: kind.number for kind in found} == Counter(kind(stage) for stage in index.stages)
    assert {(kind.name, before) for kind in found for before in kind.after} == edges
    names = [kind.name for kind in found]
    assert all(names.index(reader) > names.index(writer) for reader, writer in edges)


@pytest.mark.usefixtures("shipped_params", "dvc_leaves_nothing_behind")
def test_further_seeds_and_ensembles_are_kinds_of_their_own(project_root, tmp_path, monkeypatch, run):
    """Again against DVC; and the report's line has the names of further seeds in one word."""
    monkeypatch.chdir(tmp_path)
    params = YAML(typ="safe").load(project_root / "params.yaml")
    params["build"]["more_seeds"] = [2, 3]
    params["ensembles"]["pairs"] = {
        "two": {
            "corpus": "phrasebook_fr_en",
            "vocabulary": "bpe_2k",
            "first": "rnnsearch-tiny",
            "second": "rnnsearch-tiny-3",
        }
    }
    YAML(typ="safe").dump(params, tmp_path / "params.yaml")
    shutil.copy(project_root / "dvc.yaml", tmp_path)
    shutil.copytree(project_root / "corpora", tmp_path / "corpora")
    Repo.init(str(tmp_path), no_scm=True).close()
    test_kinds_counts_and_order_are_those_of_dvc(tmp_path)
    lines = {line.split()[0]: line for line in run("dag").out.splitlines()}
    assert lines["train_seed"].split(maxsplit=2)[1:] == ["12", "a further seed   after split, vocabulary, encode"]
    assert lines["average_seed"].endswith("after train_seed")
    assert lines["ensemble"].split(maxsplit=2)[1:2] == ["1"]
    assert "an ensemble" in lines["ensemble"]
    assert lines["report"].endswith(", decode, score, attend, ensemble, ..._seed")


def test_a_taught_corpus_waits_for_its_teacher(project_root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(project_root / "dvc.yaml", tmp_path)
    teacher = {"corpus": "a", "vocabulary": "words", "model": "rnnsearch", "size": "tiny"}
    build = {
        "corpora": ["a", "b"],
        "vocabularies": ["words"],
        "models": ["rnnsearch"],
        "sizes": ["tiny"],
        "more_seeds": [],
    }
    distill = {"teachers": {"b": teacher}, "keep_references": []}
    params = {"build": build, "distill": distill, "ensembles": {"pairs": {}}}
    YAML(typ="safe").dump(params, tmp_path / "params.yaml")
    found = {kind.name: kind for kind in dag.kinds(Build.load("build"))}
    assert found["distill"][1:] == (1, "a taught corpus", ("check", "split", "vocabulary", "train", "average"))
    assert "distill" in found["encode"].after


@pytest.mark.usefixtures("at_root")
def test_it_fits_a_terminal(run):
    said = run("dag")
    lines = said.out.splitlines()
    assert said.status == 0
    assert lines[0].split() == ["check", "1"]
    assert lines[3].split(maxsplit=2) == ["clean", "1", "a corpus         after download"]
    assert next(line for line in lines if line.startswith("train ")).split()[1:4] == ["6", "a", "system"]
    assert lines[-1].split()[1] == "stages"
    assert max(map(len, lines)) <= 100


def test_elsewhere_is_named(fails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert fails("dag") == f"{tmp_path}: has no params.yaml; expected the project's folder, which nmt runs in"
