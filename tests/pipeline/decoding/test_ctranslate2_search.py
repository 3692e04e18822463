"""The same translations and scores as the search by torch, for both Transformers, however their matrices are tied."""

import itertools
import math
import random

import pytest
import torch

from pipeline import ctranslate2_export, ids
from pipeline.decoding.ctranslate2_search import Engine, Found, first_limit, positions, search, together, translate
from pipeline.decoding.search import FORBIDDEN
from pipeline.decoding.translate import Decoding, n_best
from pipeline.decoding.translate import translate as translate_by_torch
from pipeline.vocabularies.vocabulary import Vocabulary
from tests.toys import networks

CPU = torch.device("cpu")
SIZE = 40  # of both vocabularies
SECTION = {
    "engine": "ctranslate2",
    "beam_size": 5,
    "length_penalty": 0.6,
    "patience": None,
    "max_length_factor": 1.5,
    "max_length_offset": 10,
    "tokens_per_batch": 300,
}
DRAW = random.Random(1)
SOURCES = [[], *([DRAW.randrange(4, SIZE) for _ in range(DRAW.randrange(1, 16))] for _ in range(60)), [ids.UNK, 5], []]
MODELS = [(f"transformer_{kind}norm", tied) for kind in ("pre", "post") for tied in ("none", "output", "all")]
ENDS = (-1.0, 1.0, 3.0, 5.0, 7.0)  # nats by which EOS is likelier: translations of any length


class Numbered:
    """One side of a vocabulary whose pieces mean nothing."""

    whole_words = False

    def __init__(self, name, size):
        self.name, self.size = name, size

    def piece(self, piece):
        return f"{self.name}{piece}"


def decoding(**changed):
    return Decoding.model_validate(SECTION | changed)


def network(name="transformer_prenorm", end=0.0, size=SIZE, **changed):
    """A random Transformer."""
    model = networks.build(name, source_size=size, target_size=size, **changed)
    model.embeddings.bias.data[ids.EOS] += end
    return model


def export(model, folder, size=SIZE):
    """A folder with the model."""
    folder.mkdir(exist_ok=True)
    vocabulary = Vocabulary(Numbered("s", size), Numbered("t", size))
    ctranslate2_export.save(model, vocabulary, folder, quantization="float32", positions=100)
    return folder


@pytest.mark.parametrize(("name", "tied"), MODELS)
def test_same_lines_and_scores_by_beam_search(tmp_path, name, tied):
    said, left = [], set()
    for end in ENDS:
        model = network(name, end, tied_embeddings=tied)
        expected = [best for [best, *_] in n_best(model, SOURCES, decoding(), CPU, 1)]
        found = search(export(model, tmp_path), SOURCES, decoding())
        assert [one.ids for one in found] == [one.ids for one in expected]
        assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-4)
        said += [one.ids for one in found]
        left |= {decoding().max_length(len(source)) - len(one.ids) for one, source in zip(found, SOURCES, strict=True)}
    assert len(set(map(tuple, said))) > 15, "translations differ"
    assert 0 in left, "some are cut off at their maximum length"
    assert len(left) > 2, "others end by themselves"


@pytest.mark.parametrize(("name", "tied"), MODELS)
def test_same_lines_by_greedy_search(tmp_path, name, tied):
    steered = decoding(beam_size=1)
    for end in ENDS:
        model = network(name, end, tied_embeddings=tied)
        expected = translate_by_torch(model, SOURCES, steered, CPU)
        assert translate(export(model, tmp_path), SOURCES, steered) == expected


@pytest.mark.parametrize(
    "changed",
    [
        {"length_penalty": 0.0},
        {"length_penalty": 2.0},
        {"beam_size": 2},
        {"max_length_factor": 0.0, "max_length_offset": 1},
        {"max_length_factor": 1.0, "max_length_offset": 50},
        {"tokens_per_batch": 1},
        {"tokens_per_batch": 5000},
        {"patience": 0.2},
        {"patience": 0.5, "length_penalty": 0.0},
        {"patience": 3.0},
        {"patience": 100.0},
        {"patience": 1.0, "beam_size": 1},
    ],
    ids=str,
)
def test_same_lines_however_it_is_steered(tmp_path, changed):
    model, steered, sources = network(), decoding(**changed), SOURCES[:20]
    assert translate(export(model, tmp_path), sources, steered) == translate_by_torch(model, sources, steered, CPU)


def test_same_lines_where_the_vocabulary_is_smaller_than_the_beam(tmp_path):
    model, sources = network(size=6), [[4], [5, 4], [4, 4, 5, 5], [5] * 9]
    expected = translate_by_torch(model, sources, decoding(), CPU)
    assert translate(export(model, tmp_path, size=6), sources, decoding()) == expected


def test_padding_unknown_and_bos_are_never_written(tmp_path):
    model = network()
    model.embeddings.bias.data[list(FORBIDDEN)] += 50
    for beam_size in (1, 5):
        steered = decoding(beam_size=beam_size)
        found = translate(export(model, tmp_path), SOURCES, steered)
        assert found == translate_by_torch(model, SOURCES, steered, CPU)
        assert not {*FORBIDDEN, ids.EOS} & {piece for pieces in found for piece in pieces}


def test_nothing_and_empty_sources_and_no_room(tmp_path):
    folder = export(network(), tmp_path)
    assert translate(folder, [], decoding()) == []
    assert translate(folder, [[], []], decoding()) == [[], []]
    assert translate(folder, [[4], [5, 5]], decoding(max_length_factor=0, max_length_offset=0)) == [[], []]


@pytest.fixture
def asked(monkeypatch):
    """The batches that an engine was asked for, each with its limit."""
    batches, known = [], Engine.search

    def watched(engine, sources, limit, steered):
        batches.append((sources, limit))
        return known(engine, sources, limit, steered)

    monkeypatch.setattr(Engine, "search", watched)
    return batches


def test_what_may_still_win_is_asked_for_again(tmp_path, asked):
    """Most are settled within their first length; the others are searched again for twice as long, none a third time
    for nothing."""
    steered = decoding(max_length_factor=1.0, max_length_offset=50)
    sources = [source for source in SOURCES if len(source)]
    translate(export(network(end=2.0), tmp_path), sources, steered)
    single = [(tuple(source), limit) for batch, limit in asked for source in batch]
    by_source = {source: [limit for other, limit in single if other == source] for source, _ in single}
    assert {len(limits) for limits in by_source.values()} > {1}
    for source, limits in by_source.items():
        longest = steered.max_length(len(source))
        first = first_limit(len(source), longest)
        assert limits == [min(first * 2**turn, longest) for turn in range(len(limits))]


def test_with_a_patience_only_what_was_cut_short_is_asked_for_again(tmp_path, asked):
    """A batch is first searched to the maximum length of its shortest source, what has not ended then to its own."""
    model, sources = network(end=-1.0), [source for source in SOURCES if len(source)]
    for changed in ({"patience": 1.0}, {"beam_size": 1}):
        steered = decoding(max_length_factor=2.0, max_length_offset=0, **changed)
        expected = translate_by_torch(model, sources, steered, CPU)
        asked.clear()
        assert translate(export(model, tmp_path), sources, steered) == expected
        searched = [([len(source) for source in batch], limit) for batch, limit in asked]
        first = [(lengths, limit) for lengths, limit in searched if len(set(lengths)) > 1]
        assert first, "batches hold sources of several lengths"
        assert all(limit == 2 * min(lengths) for lengths, limit in searched)
        assert len(sources) < sum(len(lengths) for lengths, _ in searched) < 2 * len(sources)


def test_with_a_patience_nearly_all_lines_are_the_same(tmp_path):
    """All but those where a step ended more than was enough, and the best was not among CTranslate2's best."""
    for name, end in itertools.product(("transformer_prenorm", "transformer_postnorm"), ENDS):
        model, steered = network(name, end), decoding(patience=1.0)
        expected = translate_by_torch(model, SOURCES, steered, CPU)
        found = translate(export(model, tmp_path), SOURCES, steered)
        assert sum(map(list.__eq__, found, expected)) >= 0.99 * len(SOURCES)


@pytest.fixture
def engine():
    """An engine without a model, whose tokens are the ids."""
    empty = Engine.__new__(Engine)
    empty.end, empty.ids = "3", {str(number): number for number in range(10)}
    return empty


def test_best_by_hand(engine):
    """|Y| of 1, 7 and 13 has the penalty 1, 2 and 3 at alpha 1."""
    short, long = Found(["3"], -2.0), Found([*"456789", "3"], -3.0)
    one, zero = decoding(length_penalty=1.0), decoding(length_penalty=0.0)
    assert engine.best([short, long], 7, 7, one) == ([4, 5, 6, 7, 8, 9], -1.5)
    assert engine.best([short, long], 7, 7, zero) == ([], -2.0)
    cut = Found([*"4567894"], -2.5)
    assert engine.best([short, long, cut], 7, 7, one) == ([4, 5, 6, 7, 8, 9, 4], -1.25)


def test_a_beginning_may_still_win_by_hand(engine):
    """log P of -4.5 over the penalty 3 at length 13 is -1.5: no better than what has ended."""
    ended, steered = Found([*"456789", "3"], -3.0), decoding(length_penalty=1.0)
    for log_p, best in ((-4.4, None), (-4.5, ([4, 5, 6, 7, 8, 9], -1.5)), (-math.inf, ([4, 5, 6, 7, 8, 9], -1.5))):
        assert engine.best([ended, Found([*"4567894"], log_p)], 7, 13, steered) == best
    assert engine.best([Found([*"4567894"], -9.0)], 7, 13, steered) is None
    for log_p, best in ((-4.4, None), (-4.5, ([4, 5, 6, 7, 8, 9], -1.5))):  # of the last step, all ended: the least
        assert engine.best([ended, Found([*"456788", "3"], log_p)], 7, 13, steered) == best


def test_enough_have_ended_by_hand(engine):
    """With a patience of 1 and a beam of 2 two must have ended, or the maximum length be reached."""
    steered = decoding(patience=1.0, beam_size=2, length_penalty=1.0)
    ended, other, cut = Found([*"456789", "3"], -3.0), Found(["3"], -2.0), Found([*"4567894"], -1.0)
    assert engine.best([ended, other], 7, 13, steered) == ([4, 5, 6, 7, 8, 9], -1.5)
    assert engine.best([ended, cut], 7, 13, steered) is None
    assert engine.best([ended], 7, 13, steered) is None
    assert engine.best([ended, cut], 7, 7, steered) == ([4, 5, 6, 7, 8, 9, 4], -0.5)


def test_first_limits_are_few_and_no_longer_than_the_longest():
    assert [first_limit(length, 100) for length in (1, 5, 6, 10, 11, 60)] == [8, 12, 12, 16, 20, 80]
    assert first_limit(6, 11) == 11


def test_positions_hold_the_longest_source_and_translation():
    assert positions([], decoding()) == 1
    assert positions([[4] * 3, [], [5] * 20], decoding()) == 40
    assert positions([[4] * 20], decoding(max_length_factor=0.5)) == 21


def test_batches_have_one_limit():
    limits, lengths = {0: 8, 1: 16, 2: 8, 3: 8, 5: 16}, [1, 9, 3, 2, 99, 10]
    assert together(limits, lengths, 100) == [(16, [5, 1]), (8, [2, 3, 0])]
    assert together(limits, lengths, 8) == [(16, [5]), (16, [1]), (8, [2, 3]), (8, [0])]


def test_unknown_pieces_are_written_where_they_are_allowed(tmp_path):
    model = network(end=3.0)
    model.embeddings.bias.data[ids.UNK] += 4
    folder = export(model, tmp_path)
    for unknown in (True, False):
        found = translate(folder, SOURCES, decoding(), unknown=unknown)
        assert found == translate_by_torch(model, SOURCES, decoding(), CPU, unknown=unknown)
        assert any(ids.UNK in pieces for pieces in found) == unknown
