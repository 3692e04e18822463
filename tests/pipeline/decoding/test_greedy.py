import math

import pytest

from pipeline.compute import ids
from pipeline.decoding import beam, greedy
from tests.toys import networks


def test_takes_the_likeliest_piece_and_stops_at_eos(scripted, padded):
    model = scripted({(): {4: 0.6, 5: 0.4}, (4,): {ids.EOS: 0.4, 6: 0.6}, (4, 6): {ids.EOS: 0.9, 5: 0.1}})
    [best] = greedy.decode(model, padded([[4, 5]]), [10**15], alpha=1.0)  # memory does not follow the limit
    assert (best.ids, best.score) == ([4, 6], pytest.approx(math.log(0.6 * 0.6 * 0.9) * 6 / 8))
    assert model.rows == [1, 1, 1]


def test_forbidden_pieces_are_never_written_and_of_equals_the_lower_is(scripted, padded):
    special = {ids.PAD: 0.3, ids.UNK: 0.3, ids.BOS: 0.2}
    model = scripted({(): {**special, 5: 0.1, 4: 0.1}, (4,): {**special, ids.EOS: 0.2}})
    assert greedy.decode(model, padded([[4]]), [10])[0].ids == [4]
    assert greedy.decode(model, padded([[4]]), [10], unknown=True)[0].ids[0] == ids.UNK


def test_a_sentence_at_its_maximum_length_stays_as_it_stands(scripted, padded):
    model = scripted({(): {4: 0.9, 5: 0.1}, (4,): {5: 0.9, 4: 0.1}, (4, 5): {ids.EOS: 1.0}})
    found = greedy.decode(model, padded([[4], [5], [6], [7]]), [0, 1, 2, 3])
    assert [best.ids for best in found] == [[], [4], [4, 5], [4, 5]]
    assert model.rows == [3, 2, 1]  # nothing is computed for length 0, and rows leave as they end
    assert greedy.decode(model, padded([[4], [5]]), [0, 0]) == [([], 0.0), ([], 0.0)]


@pytest.mark.parametrize("no_repeat", [0, 2])
@pytest.mark.parametrize("name", networks.NAMES)
def test_is_a_beam_of_one(name, no_repeat):
    model, limits, settings = networks.build(name), [12, 9, 6], {"alpha": 2.0, "no_repeat": no_repeat}
    expected = [
        best for best, *_ in beam.decode(model, networks.SOURCE, limits, beam_size=1, max_finished=1, **settings)
    ]
    found = greedy.decode(model, networks.SOURCE, limits, **settings)
    assert [one.ids for one in found] == [one.ids for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)
