import itertools
import math
import random

import pytest
import torch

from pipeline import ids
from pipeline.decoding import constrained
from pipeline.decoding.constrained import RequiredTerms, TermProgress
from pipeline.decoding.search import mask_pieces
from pipeline.decoding.translate import n_best
from tests.toys import networks, searches

CPU = torch.device("cpu")
DECODING = searches.DECODING.changed(beam_size=4, length_penalty=0.0, max_length_factor=0.0, max_length_offset=5)


def decode(model, source, terms, number=1, decoding=DECODING, continuing=()):
    with torch.inference_mode():
        return constrained.decode(model, source, terms, decoding, CPU, number, continuing=continuing)


def holds(pieces, term):
    return any(pieces[begin : begin + len(term)] == term for begin in range(len(pieces)))


@pytest.mark.parametrize("name", networks.NAMES)
def test_without_terms_it_is_beam_search(name):
    model, draw = networks.build(name), random.Random(1)
    for number in range(12):
        source = draw.choices(range(4, 13), k=1 + number % 5)
        [expected] = n_best(model, [source], DECODING, CPU, 3)
        found = decode(model, source, [], 3)
        assert [one.ids for one in found] == [one.ids for one in expected]
        assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)


@pytest.mark.parametrize("name", ["rnnsearch", "transformer_prenorm"])
def test_every_term_is_written(name):
    model, draw = networks.build(name), random.Random(2)
    for number in range(20):
        source = draw.choices(range(4, 13), k=3)
        terms = [draw.choices(range(4, 11), k=draw.randrange(1, 4)) for _ in range(1 + number % 3)]
        found = decode(model, source, terms, 2)
        assert 1 <= len(found) <= 2
        for one in found:
            assert all(holds(one.ids, term) for term in terms)
            assert sum(map(len, terms)) <= len(one.ids) <= 5 + sum(map(len, terms))


def test_the_best_of_all_translations_that_hold_a_term():
    """A beam wider than the vocabulary finds what trying every translation finds."""
    model = networks.build("rnnsearch")
    source, term, decoding = [5, 8, 6], [9], DECODING.changed(beam_size=400, max_length_offset=2)
    best = (-math.inf, [])
    with torch.inference_mode():
        for size in (1, 2, 3):
            for pieces in itertools.product(range(4, 11), repeat=size):
                if 9 in pieces:
                    written = [*pieces, ids.EOS][:3]
                    target = torch.tensor([[ids.BOS, *written[:-1]]])
                    logits = model.logits(model.hidden(torch.tensor([[*source, ids.EOS]]), target))[0]
                    log_p = mask_pieces(logits).log_softmax(dim=1)[range(len(written)), written].sum().item()
                    best = max(best, (log_p, list(pieces)))
    [found] = decode(model, source, [term], decoding=decoding)
    assert found.ids == best[1]
    assert found.score == pytest.approx(best[0], abs=1e-4)


def test_no_word_goes_on_behind_a_term():
    model = networks.build("rnnsearch")
    never = [piece for piece in range(4, 11) if piece != 7]
    for one in decode(model, [5, 6], [[9, 8]], 4, continuing=never):
        end = next(begin + 2 for begin in range(len(one.ids)) if one.ids[begin : begin + 2] == [9, 8])
        assert one.ids[end : end + 1] in ([], [7])


def test_progress_by_hand():
    terms = RequiredTerms([[4, 5], [6], [6]])
    start = TermProgress((0, 1, 2))
    assert [piece for piece, _ in terms.wanted(start)] == [4, 6]  # of equal terms the first
    half = terms.after(start, 4)
    assert (half, terms.level(half)) == (TermProgress((0, 1, 2), 0, 1), 1)
    done = terms.after(half, 5)
    assert (done, terms.level(done)) == (TermProgress((1, 2), just_ended=True), 2)
    assert terms.after(half, 7) == TermProgress((0, 1, 2))  # what was half-written is lost
    assert terms.after(half, 6) == TermProgress((0, 2), just_ended=True)
    assert terms.after(half, 4) == half
    assert terms.level(terms.after(terms.after(done, 6), 6)) == terms.num_pieces == 4


def test_an_empty_limit_gives_an_empty_translation():
    decoding = DECODING.changed(max_length_offset=0)
    [found] = decode(networks.build("rnnsearch"), [5], [], decoding=decoding)
    assert found == ([], 0.0)
    [found] = decode(networks.build("rnnsearch"), [5], [[4, 6]], decoding=decoding)
    assert found.ids == [4, 6]
