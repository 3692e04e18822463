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
    model, sources = networks.build("rnnsearch"), [[5, 6], [7], [8, 4, 9], [12, 11, 10, 4]]

    def behind_the_term(continuing):
        for source in sources:
            found = decode(model, source, [[9, 8]], 4, continuing=continuing)
            assert found
            for one in found:
                end = next(begin + 2 for begin in range(len(one.ids)) if one.ids[begin : begin + 2] == [9, 8])
                yield one.ids[end : end + 1]

    never = [piece for piece in range(4, 11) if piece != 7]
    assert all(piece in ([], [7]) for piece in behind_the_term(never))
    assert any(piece not in ([], [7]) for piece in behind_the_term(()))


def test_progress_by_hand():
    terms = RequiredTerms([[4, 5], [6], [6]])
    start = TermProgress((0, 1, 2))
    assert terms.wanted(start) == {4, 6}
    [half] = terms.after(start, 4)
    assert (half, terms.level(half)) == (TermProgress((0, 1, 2), 0, 1), 1)
    assert terms.wanted(half) == {5}
    [done] = terms.after(half, 5)
    assert (done, terms.level(done)) == (TermProgress((1, 2), just_ended=True), 2)
    assert terms.after(half, 7) == [TermProgress((0, 1, 2))]  # what was half-written is lost
    assert terms.after(half, 6) == [TermProgress((0, 2), just_ended=True)]  # of equal terms the first
    assert terms.after(half, 4) == [half]
    [once] = terms.after(done, 6)
    [twice] = terms.after(once, 6)
    assert terms.level(twice) == terms.num_pieces == 4


def test_a_piece_may_be_one_of_several_terms():
    terms = RequiredTerms([[4], [4, 5]])
    assert terms.after(TermProgress((0, 1)), 4) == [TermProgress((1,), just_ended=True), TermProgress((0, 1), 1, 1)]


def test_what_is_half_written_may_be_the_beginning_of_another_term():
    terms = RequiredTerms([[4, 5], [4, 6], [4, 4, 7]])
    first = TermProgress((0, 1, 2), 0, 1)
    assert terms.after(first, 6) == [TermProgress((0, 2), just_ended=True)]
    third = TermProgress((0, 1, 2), 2, 2)
    assert third in terms.after(third, 4)  # 4 4 4 ends in two of its pieces


@pytest.mark.parametrize("seed", range(40))
def test_progress_finds_every_way_to_hold_all_terms(seed):
    """Beside every placement of the terms, none inside another, tried out."""
    draw = random.Random(seed)
    terms = [draw.choices((4, 5, 6), k=draw.randrange(1, 4)) for _ in range(draw.randrange(1, 4))]
    given, counts = RequiredTerms(terms), [0, 0]
    for _ in range(60):
        pieces = draw.choices((4, 5, 6), k=draw.randrange(1, 9))
        under_way = {TermProgress(tuple(range(len(terms))))}
        for piece in pieces:
            under_way = {after for progress in under_way for after in given.after(progress, piece)}
        found = any(given.level(progress) == given.num_pieces for progress in under_way)
        assert found == can_hold(pieces, terms)
        counts[found] += 1
    assert all(counts) or sum(map(len, terms)) > 5


def can_hold(pieces, terms):
    """Whether all terms stand in the pieces, none inside another."""
    if not terms:
        return True
    size = len(terms[0])
    places = [begin for begin in range(len(pieces)) if pieces[begin : begin + size] == terms[0]]
    return any(can_hold([*pieces[:at], *[None] * size, *pieces[at + size :]], terms[1:]) for at in places)


def test_no_translation_is_found_twice():
    model, term = networks.build("rnnsearch"), [4]
    found = decode(model, [5, 6], [term, [4, 5]], 8, DECODING.changed(beam_size=30))
    texts = [tuple(one.ids) for one in found]
    assert len(set(texts)) == len(texts) == 8
    assert all(can_hold(list(text), [term, [4, 5]]) for text in texts)


def test_an_empty_limit_gives_an_empty_translation():
    decoding = DECODING.changed(max_length_offset=0)
    [found] = decode(networks.build("rnnsearch"), [5], [], decoding=decoding)
    assert found == ([], 0.0)
    [found] = decode(networks.build("rnnsearch"), [5], [[4, 6]], decoding=decoding)
    assert found.ids == [4, 6]
