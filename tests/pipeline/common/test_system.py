"""The choice in params.yaml becomes systems, in the order of the lists."""

import re

import pytest

from pipeline.common.system import Build, System

LISTS = {"corpora": ["b", "a"], "vocabularies": ["v"], "models": ["m"], "sizes": ["tiny"], "seeds": [1, 3]}


def faults(**lists):
    return list(Build.faults(LISTS | lists, "build"))


def test_systems_are_every_combination_in_order():
    assert [system.id for system in Build(**LISTS).systems()] == [
        *("b-v-m-tiny-1", "a-v-m-tiny-1", "b-v-m-tiny-3", "a-v-m-tiny-3")
    ]


def test_an_id_is_read_back():
    system = System("a", "bpe_2k", "rnnsearch", "4", 12)
    assert system.id == "a-bpe_2k-rnnsearch-4-12"
    assert System.parse(system.id) == system
    assert system.stage("train") == "train@a-bpe_2k-rnnsearch-4-12"


@pytest.mark.parametrize("text", ["", "a-b-c-d", "a-b-c-d-0", "a-b-c-d-02", "a-b-c-d-e", "a-b-c-d-2-3", "../a-b-c-d-1"])
def test_what_is_no_id(text):
    expected = f"must be <corpus>-<vocabulary>-<model>-<size>-<seed>, got {text!r}"
    with pytest.raises(ValueError, match=re.escape(expected)):
        System.parse(text)


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"models": ["gru-2"]}, "models.0: should be letters, digits and underscores, got 'gru-2'"),
        ({"models": ["m", "n", "m"]}, "models: must name each once, got m more than once"),
        ({"sizes": [1]}, "sizes.0: should be a valid string, got 1"),
        ({"sizes": []}, "sizes: should have at least 1 of them, got []"),
        ({"seeds": [0]}, "seeds.0: should be greater than 0, got 0"),
        ({"seeds": ["2"]}, "seeds.0: should be a valid integer, got '2'"),
    ],
)
def test_a_wrong_list_is_named(lists, expected):
    assert faults(**lists) == [f"params.yaml: build.{expected}"]
