"""The choice in params.yaml becomes systems, in the order of the lists."""

import re

import pytest
from pydantic import ValidationError

from pipeline.system import Build, System, corpus_file

LISTS = {"corpora": ["b", "a"], "vocabularies": ["bpe_2k"], "models": ["m", "n"], "sizes": ["tiny"], "more_seeds": []}


def faults(**lists):
    return list(Build.faults(LISTS | lists, "build"))


def test_systems_are_every_combination_in_order():
    build = Build(**LISTS)
    ids = ["b-bpe_2k-m-tiny", "b-bpe_2k-n-tiny", "a-bpe_2k-m-tiny", "a-bpe_2k-n-tiny"]
    assert [system.id for system in build.systems()] == ids
    assert build.systems()[1] == System("b", "bpe_2k", "n", "tiny")
    assert build.more_systems() == []


def test_further_seeds_are_the_same_systems_once_more():
    build = Build(**LISTS | {"corpora": ["a"], "more_seeds": [3, 2]})
    ids = ["a-bpe_2k-m-tiny-3", "a-bpe_2k-n-tiny-3", "a-bpe_2k-m-tiny-2", "a-bpe_2k-n-tiny-2"]
    assert [system.id for system in build.more_systems()] == ids
    assert [system.id for system in build.systems()] == ["a-bpe_2k-m-tiny", "a-bpe_2k-n-tiny"]


@pytest.mark.parametrize("seed", ["", "2", "10"])
def test_an_id_is_read_back(seed):
    system = System("a", "bpe_2k", "rnnsearch", "tiny", seed)
    assert System.parse(system.id) == system


def test_a_size_may_be_a_number():
    assert System.parse("a-b-c-4") == System("a", "b", "c", "4")
    assert System.parse("a-b-c-4-2") == System("a", "b", "c", "4", "2")


def test_a_further_seed_has_stages_of_its_own():
    system = System("a", "b", "c", "d")
    assert (system.stage("train"), system.axes) == (
        "train@a-b-c-d",
        {"corpus": "a", "vocabulary": "b", "model": "c", "size": "d"},
    )
    again = system._replace(seed="2")
    assert (again.stage("train"), again.axes) == ("train_seed@a-b-c-d-2", system.axes)


@pytest.mark.parametrize(
    "text",
    ["", "a", "a-b-c", "a-b-c-d-e", "a-b-c-d-0", "a-b-c-d-02", "a-b-c-d-2-3", "a--c-d", "../a-b-c-d", "a-b-c-d\n"],
)
def test_what_is_no_id(text):
    said = f"must be <corpus>-<vocabulary>-<model>-<size>[-<seed>], got {text!r}"
    with pytest.raises(ValueError, match=re.escape(said)):
        System.parse(text)


def test_every_path_holds_the_id_or_a_part_of_it():
    system = System("a", "b", "c", "d")
    of_corpus = {system.split: "a", system.vocabulary_folder: "a-b", system.encoded: "a-b"}
    built = {system.trained, system.averaged, system.decoded, system.scored, system.attended}
    paths = built | {system.metrics, system.log}
    assert all(path.name == name for path, name in of_corpus.items())
    assert all("a-b-c-d" in path.as_posix() for path in paths)
    assert len(paths) == 7
    assert (system.weights.parent, system.training_summary.parent) == (system.averaged, system.trained)
    assert corpus_file("a").as_posix() == "corpora/a.yaml"


def test_name_of_other_characters():
    assert faults(models=["gru-2", "a b", ""]) == [
        "params.yaml: build.models.0: should be letters, digits and underscores, got 'gru-2'",
        "params.yaml: build.models.1: should be letters, digits and underscores, got 'a b'",
        "params.yaml: build.models.2: should be letters, digits and underscores, got ''",
    ]


def test_name_ending_in_a_newline():
    with pytest.raises(ValidationError):
        Build(**LISTS | {"sizes": ["tiny\n"]})


def test_name_given_twice():
    assert faults(models=["m", "n", "m"]) == ["params.yaml: build.models: must name each once, got m more than once"]


def test_number_for_a_name():
    assert faults(sizes=[1]) == ["params.yaml: build.sizes.0: should be a valid string, got 1"]


def test_seeds():
    assert faults(more_seeds=[2, 3, 2]) == ["params.yaml: build.more_seeds: must name each once, got 2 more than once"]
    assert faults(more_seeds=[0]) == ["params.yaml: build.more_seeds.0: should be greater than 0, got 0"]
    assert faults(more_seeds=["2"]) == ["params.yaml: build.more_seeds.0: should be a valid integer, got '2'"]


def test_empty_list():
    assert faults(sizes=[]) == ["params.yaml: build.sizes: should have at least 1 of them, got []"]
