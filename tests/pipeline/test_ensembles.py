"""Section `ensembles`: which systems a pair is of."""

from pathlib import Path

import pytest

from pipeline.ensembles import Ensembles, Pair, decoded_folder, metrics_file

PAIR = {"corpus": "toy", "vocabulary": "bpe", "first": "rnnsearch-tiny", "second": "transformer_prenorm-small-2"}


def test_the_systems_of_a_pair():
    first, second = Pair.model_validate(PAIR).systems
    assert first == ("toy", "bpe", "rnnsearch", "tiny", "")
    assert second.id == "toy-bpe-transformer_prenorm-small-2"


@pytest.mark.parametrize("member", ["rnnsearch", "rnnsearch-tiny-0", "rnnsearch-tiny-2-3", "../x-tiny", "a-b-", ""])
def test_a_member_is_a_model_and_a_size_and_maybe_a_seed(member):
    assert len(list(Pair.faults(PAIR | {"second": member}, "ensembles.pairs.two"))) == 1


def test_its_files_are_named_by_it():
    assert (decoded_folder("two"), metrics_file("two")) == (Path("data/decode/two"), Path("metrics/two.json"))
    assert list(Ensembles.faults({"pairs": {"two": PAIR}}, "ensembles")) == []
    assert len(list(Ensembles.faults({"pairs": {"t/wo": PAIR}}, "ensembles"))) == 1
