"""The choice in params.yaml becomes systems, in the order of the lists."""

import pytest
from pipeline.build import Build
from pydantic import ValidationError

LISTS = {"corpora": ["b", "a"], "vocabularies": ["bpe_2k"], "models": ["m", "n"], "sizes": ["tiny"]}


def faults(**lists):
    return list(Build.faults(LISTS | lists, "build"))


def test_systems_are_every_combination_in_order():
    build = Build(**LISTS)
    assert build.systems() == ["b-bpe_2k-m-tiny", "b-bpe_2k-n-tiny", "a-bpe_2k-m-tiny", "a-bpe_2k-n-tiny"]
    assert build.combinations()[1] == ("b", "bpe_2k", "n", "tiny")


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


def test_empty_list():
    assert faults(sizes=[]) == ["params.yaml: build.sizes: should have at least 1 of them, got []"]
