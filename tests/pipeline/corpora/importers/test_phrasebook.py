"""The bundled corpus: its parts, either direction, and no sentence in two parts."""

import pytest

from pipeline.common.files import DataError
from pipeline.corpora.importers import phrasebook

SIZES = {"train": 14_000, "validation": 500, "test": 500, "compositional": 500}


def test_parts_share_no_sentence_of_either_language():
    for languages in (("fr", "en"), ("en", "fr")):
        sources = [{pair[0] for pair in phrasebook.pairs(part, size, languages)} for part, size in SIZES.items()]
        assert sum(map(len, sources)) == len(set.union(*sources))


def test_the_first_pairs_in_either_direction():
    first = [*phrasebook.pairs("train", 2, ("fr", "en"))]
    assert first[0] == (
        b"La fille apprend l'anglais depuis deux semaines.",
        b"The girl has been learning English for two weeks.",
    )
    assert [pair[::-1] for pair in phrasebook.pairs("train", 2, ("en", "fr"))] == first


def test_a_part_has_only_so_many():
    with pytest.raises(DataError, match=r"^phrasebook test: num_pairs must be at most 500, got 501$"):
        list(phrasebook.pairs("test", 501, ("fr", "en")))
