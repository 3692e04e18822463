import math

import pytest
import torch

from pipeline import device, ids
from pipeline.decoding import beam, greedy
from pipeline.decoding.search import mask_pieces
from pipeline.models import transformer_postnorm, transformer_prenorm
from tests.toys import networks

SOURCES = [[5, 4, 6], [4], [], [6, 6, 5, 4, 7], [7, 5]]


def every_hypothesis(model, source, longest, alpha):
    """(score, pieces) of every possible hypothesis, the best first, by enumeration."""
    found = []

    def grow(prefix, log_p):
        log_probabilities = mask_pieces(model.scores([*source, ids.EOS], [ids.BOS, *prefix])[None])[0].log_softmax(0)
        length = len(prefix) + 1
        for piece, log_q in enumerate(log_probabilities.tolist()):
            if log_q == -math.inf:
                continue
            score = (log_p + log_q) / ((5 + length) / 6) ** alpha
            if piece == ids.EOS:
                found.append((score, prefix))
            elif length == longest:
                found.append((score, [*prefix, piece]))
            else:
                grow([*prefix, piece], log_p + log_q)

    grow([], 0.0)
    return sorted(found, reverse=True)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize(("vocabulary", "longest"), [(5, 4), (6, 4), (6, 5), (7, 3)])
def test_a_beam_wide_enough_is_exhaustive(drawn, padded, vocabulary, longest, alpha):
    beam_size = max((vocabulary - 4) ** longest, 2)  # all prefixes, however long
    for seed in range(4):
        model = drawn(vocabulary, seed=seed, spread=2.0)
        found = beam.decode(model, padded(SOURCES), [longest] * len(SOURCES), beam_size=beam_size, alpha=alpha)
        for source, hypotheses in zip(SOURCES, found, strict=True):
            score, pieces = every_hypothesis(model, source, longest, alpha)[0]
            assert hypotheses[0].ids == pieces
            assert hypotheses[0].score == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize("beam_size", [1, 2, 3, 5])
@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_the_n_best_are_different_ordered_and_truly_scored(drawn, padded, beam_size, alpha):
    model = drawn(8, spread=2.0)
    for source, hypotheses in zip(
        SOURCES, beam.decode(model, padded(SOURCES), [5] * 5, beam_size=beam_size, alpha=alpha), strict=True
    ):
        assert 1 <= len(hypotheses) <= beam_size
        assert len({tuple(hypothesis.ids) for hypothesis in hypotheses}) == len(hypotheses)
        assert [one.score for one in hypotheses] == sorted((one.score for one in hypotheses), reverse=True)
        truth = {tuple(pieces): score for score, pieces in every_hypothesis(model, source, 5, alpha)}
        for pieces, score in hypotheses:
            assert score == pytest.approx(truth[tuple(pieces)], abs=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_n_best_gives_as_many_and_the_same_best(drawn, padded, alpha):
    for seed in range(5):
        model = drawn(8, seed=seed, spread=2.0)
        one = beam.decode(model, padded(SOURCES), [5] * 5, beam_size=4, alpha=alpha)
        for n_best in (2, 4):
            found = beam.decode(model, padded(SOURCES), [5] * 5, beam_size=4, alpha=alpha, n_best=n_best)
            assert all(len(hypotheses) >= n_best for hypotheses in found)
            assert [hypotheses[0] for hypotheses in found] == [hypotheses[0] for hypotheses in one]
    assert {len(hypotheses) for hypotheses in one} != {4}  # of which few would do


def test_the_n_best_of_a_beam_wide_enough_are_exact(drawn, padded):
    model = drawn(6, spread=2.0)
    found = beam.decode(model, padded(SOURCES), [4] * 5, beam_size=16, alpha=0.6, n_best=5)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        expected = every_hypothesis(model, source, 4, 0.6)[:5]
        assert [one.ids for one in hypotheses[:5]] == [pieces for _, pieces in expected]


def test_a_beam_wider_than_all_hypotheses_finds_them_all(scripted, padded):
    model = scripted({(): {4: 0.7, ids.EOS: 0.3}, (4,): {4: 0.9, ids.EOS: 0.1}})
    [hypotheses] = beam.decode(model, padded([[4]]), [2], beam_size=6, alpha=0.0)
    assert [one.ids for one in hypotheses] == [[4, 4], [], [4]]


def test_beam_one_without_length_penalty_is_greedy(drawn, padded):
    limits = [3 * len(source) + 2 for source in SOURCES]
    for seed in range(10):
        model = drawn(9, seed=seed)
        found = beam.decode(model, padded(SOURCES), limits, beam_size=1, alpha=0.0)
        assert [hypotheses[0].ids for hypotheses in found] == greedy.decode(model, padded(SOURCES), limits)


def test_finds_what_greedy_misses(scripted, padded):
    model = scripted({(): {4: 0.6, 5: 0.4}, (4,): {ids.EOS: 0.5, 6: 0.5}, (5,): {ids.EOS: 0.9, 6: 0.1}})
    assert greedy.decode(model, padded([[4]]), [2]) == [[4]]
    [[first, second]] = beam.decode(model, padded([[4]]), [2], beam_size=2, alpha=0.0)
    assert (first.ids, second.ids) == ([5], [4])
    assert first.score == pytest.approx(math.log(0.4 * 0.9))
    assert second.score == pytest.approx(math.log(0.6 * 0.5))


@pytest.mark.parametrize(("alpha", "pieces", "score"), [(0.0, [], math.log(0.4)), (1.0, [4] * 6, math.log(0.3) / 2)])
def test_length_penalty_prefers_the_longer_by_hand(scripted, padded, alpha, pieces, score):
    """EOS at once has |Y| = 1 and penalty 1; six pieces and EOS have |Y| = 7 and penalty 12 / 6."""
    always = {(4,) * length: {4: 1.0} for length in range(1, 6)}
    model = scripted({(): {ids.EOS: 0.4, 4: 0.3, 5: 0.3}, **always})
    [[best, *_]] = beam.decode(model, padded([[4]]), [7], beam_size=3, alpha=alpha)
    assert best.ids == pieces
    assert best.score == pytest.approx(score)


def test_finished_hypotheses_do_not_occupy_beam_slots(scripted, padded):
    """Two prefixes go on beside EOS, which ranks first: the best translation grows from the lower one."""
    model = scripted({(): {ids.EOS: 0.36, 4: 0.33, 5: 0.31}, (4,): {ids.EOS: 0.5, 6: 0.5}, (5,): {6: 1.0}})
    [[best, *_]] = beam.decode(model, padded([[4]]), [3], beam_size=2, alpha=1.0)
    assert best.ids == [5, 6]
    assert best.score == pytest.approx(math.log(0.31) * 6 / 8)


def test_a_sentence_that_cannot_be_improved_leaves_the_batch(scripted, padded):
    model = scripted({(): {ids.EOS: 0.8, 4: 0.1, 5: 0.1}})
    assert beam.decode(model, padded([[4], [5]]), [9, 9], beam_size=2, alpha=0.6)[1][0].ids == []
    assert model.rows == [2]  # the first step has one prefix per sentence, and there is no second step


@pytest.mark.parametrize(("max_finished", "pieces", "steps"), [(1, [], 1), (2, [4], 2), (3, [4, 4], 3)])
def test_max_finished_ends_a_search_though_better_ones_follow(scripted, padded, max_finished, pieces, steps):
    """Each further piece is likelier than the end before it: [] 0.3, [4] 0.7 * 0.45, [4, 4] 0.7 * 0.55 ..."""
    model = scripted({(): {4: 0.7, ids.EOS: 0.3}, (4,): {4: 0.55, ids.EOS: 0.45}, (4, 4): {ids.EOS: 1.0}})
    [found] = beam.decode(model, padded([[4]]), [5], beam_size=3, alpha=0.0, max_finished=max_finished)
    assert found[0].ids == pieces
    assert len(found) == max_finished
    assert len(model.rows) == steps
    [best, *_] = beam.decode(model, padded([[4]]), [5], beam_size=3, alpha=0.0)[0]
    assert best.ids == [4, 4]


def test_rows_of_done_sentences_are_not_computed(scripted, padded):
    either = {4: 0.5, 5: 0.5}
    prefixes = [(), (4,), (5,), (4, 4), (4, 5), (5, 4), (5, 5)]
    model = scripted(dict.fromkeys(prefixes, either))
    found = beam.decode(model, padded([[4], [5], [6], [7]]), [3, 0, 1, 2], beam_size=2, alpha=0.0)
    assert [len(hypotheses[0].ids) for hypotheses in found] == [3, 0, 1, 2]
    assert model.rows == [3, 4, 2]


@pytest.mark.parametrize("settings", [{}, {"n_best": 3}, {"max_finished": 2}], ids=str)
@pytest.mark.parametrize("name", networks.NAMES)
def test_rows_that_are_kept_change_nothing_but_their_number(name, settings, padded, monkeypatch):
    """Each step then has as many rows as the first with all beams, whichever sentences there are."""
    model, limits = networks.build(name), [5, 12, 0, 20, 3]
    source = padded([[4, 5, 6], [7] * 9, [8], [9, 4] * 7, [5]])
    rows, step = [], type(model).step
    monkeypatch.setattr(
        type(model), "step", lambda net, state, tokens: rows.append(len(tokens)) or step(net, state, tokens)
    )
    usual = beam.decode(model, source, limits, beam_size=3, alpha=0.6, **settings)
    steps = len(rows)
    kept = beam.decode(model, source, limits, beam_size=3, alpha=0.6, keep_rows=True, **settings)
    assert rows[:steps] != rows[steps:] == [5] + [15] * (steps - 1)
    for ours, theirs in zip(kept, usual, strict=True):
        assert [one.ids for one in ours] == [one.ids for one in theirs]
        assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], abs=1e-5)


def test_at_maximum_length_prefixes_are_finished_as_they_stand(scripted, padded):
    model = scripted({(): {4: 0.7, 5: 0.3}, (4,): {6: 0.9, ids.EOS: 0.1}, (5,): {6: 0.9, ids.EOS: 0.1}})
    [hypotheses] = beam.decode(model, padded([[4]]), [2], beam_size=3, alpha=0.0)
    assert [one.ids for one in hypotheses] == [[4, 6], [5, 6], [4]]
    assert [math.exp(one.score) for one in hypotheses] == pytest.approx([0.63, 0.27, 0.07])


def test_maximum_length_nought_is_an_empty_translation(drawn, padded):
    model = drawn(8)
    assert beam.decode(model, padded([[4], [5]]), [0, 0], beam_size=3, alpha=0.6) == [[([], 0.0)], [([], 0.0)]]
    assert model.rows == []


def test_of_equals_the_first_prefix_and_the_lower_piece(scripted, padded):
    quarter = {4: 0.25, 5: 0.25, 6: 0.25, 7: 0.25}
    model = scripted({(): quarter, (4,): quarter, (5,): quarter, (6,): quarter})
    [hypotheses] = beam.decode(model, padded([[4]]), [2], beam_size=3, alpha=0.6)
    assert [one.ids for one in hypotheses] == [[4, 4], [4, 5], [4, 6]]


def test_candidates_are_ranked_as_all_together_would_be(drawn):
    """Next to a log P of -1e6 sums of fp32 are 1/16 apart: many are equal, of one prefix as of two."""
    sentences, width, vocabulary, count = 70, 3, 60, 6
    torch.manual_seed(1)
    scores = torch.randn(sentences * width, vocabulary)
    before = -1e6 - torch.rand(sentences, width).sort(dim=1).values
    under_way = beam.Beam(
        state=None,
        pieces=torch.randint(4, vocabulary, (sentences, width, 2)),
        log_p=before,
        sentence=torch.arange(sentences),
        max_lengths=torch.full((sentences,), 9),
        best_scores=torch.full((sentences, 1), -math.inf),
        num_finished=torch.zeros(sentences, dtype=torch.int64),
        under_way=torch.ones(sentences, dtype=torch.bool),
    )
    pieces, parents, log_p = beam.candidates(under_way, drawn(vocabulary), scores, count)
    flat = (mask_pieces(scores.clone()).log_softmax(1).view(sentences, width, -1) + before[:, :, None]).flatten(1)
    expected = flat.argsort(dim=1, descending=True, stable=True)
    ranked = flat.gather(1, expected)
    assert (ranked[:, count - 1] == ranked[:, count]).sum() > sentences / 4
    assert torch.equal(log_p, ranked[:, :count])
    assert torch.equal(parents, expected[:, :count] // vocabulary)
    assert torch.equal(pieces[:, :, -1], expected[:, :count] % vocabulary)
    assert torch.equal(pieces[:, :, :-1], beam.take(under_way.pieces, parents))


@pytest.mark.parametrize("num_pieces", [5, 8, 11])
def test_rows_that_begin_alike_have_the_same_probabilities(num_pieces):
    logits = torch.randn(3, num_pieces, generator=torch.Generator().manual_seed(1))
    longer = beam.aligned(logits)
    assert longer.shape[1] % 4 == 0
    assert longer.shape[1] - num_pieces < 4
    expected = torch.log_softmax(logits, dim=1)
    torch.testing.assert_close(torch.log_softmax(longer, dim=1)[:, :num_pieces], expected)
    assert torch.equal(beam.log_probabilities(logits), expected)


@pytest.mark.gpu
def test_on_a_gpu_no_row_depends_on_its_place():
    row = torch.randn(10_001, generator=torch.Generator().manual_seed(1)).to(device.prepared())
    assert len(beam.log_probabilities(row.expand(8, -1).contiguous()).unique(dim=0)) == 1


def test_stable_topk_takes_the_first_of_equals():
    generator = torch.Generator().manual_seed(1)
    values = torch.randint(0, 30, (20, 400), generator=generator).float()
    values[3, 5:] = -math.inf
    for count in (1, 7, 50, 400):
        top, index = beam.stable_topk(values, count)
        assert torch.equal(index, values.argsort(dim=1, descending=True, stable=True)[:, :count])
        assert torch.equal(top, values.gather(1, index))


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_batch_mates_change_nothing(drawn, padded, alpha):
    limits = [2 * len(source) + 3 for source in SOURCES]
    for seed in range(3):
        model = drawn(9, seed=seed)
        together = beam.decode(model, padded(SOURCES), limits, beam_size=3, alpha=alpha)
        backwards = beam.decode(model, padded(SOURCES[::-1]), torch.tensor(limits[::-1]), beam_size=3, alpha=alpha)
        alone = [
            beam.decode(model, padded([source]), [limit], beam_size=3, alpha=alpha)[0]
            for source, limit in zip(SOURCES, limits, strict=True)
        ]
        assert together == alone == backwards[::-1]


@pytest.fixture(params=[transformer_postnorm, transformer_prenorm], ids=lambda module: module.__name__.split(".")[-1])
def transformer(request):
    sizes = {"encoder_layers": 1, "decoder_layers": 2, "width": 16, "heads": 2, "feed_forward": 32}
    torch.manual_seed(3)
    arch = request.param.Arch.model_validate(
        sizes
        | dict.fromkeys(("dropout", "attention_dropout", "feed_forward_dropout"), 0.5)
        | {"tied_embeddings": "none", "initialisation": {"kind": "xavier", "sublayer_gain": 1.0}}
    )
    return request.param.Model(arch, source_size=8, target_size=12).double().eval()


@torch.inference_mode()
def test_a_transformers_cached_search_scores_as_teacher_forcing_does(transformer, padded):
    """Wrong rows taken from the state, for any prefix at any step, would show."""
    limits = [2 * len(source) + 3 for source in SOURCES]
    found = beam.decode(transformer, padded(SOURCES), limits, beam_size=4, alpha=0.6)
    for source, limit, hypotheses in zip(SOURCES, limits, found, strict=True):
        for pieces, score in hypotheses:
            output = torch.tensor([[*pieces, ids.EOS]])[:, :limit]
            entered = torch.cat((torch.tensor([[ids.BOS]]), output[:, :-1]), dim=1)
            logits = transformer.logits(transformer.hidden(padded([source]), entered))[0]
            log_p = mask_pieces(logits).log_softmax(dim=1).gather(1, output.T).sum().item()
            assert score == pytest.approx(log_p / ((5 + output.shape[1]) / 6) ** 0.6, abs=1e-4)


def test_a_transformers_beam_one_is_greedy(transformer, padded):
    limits = [2 * len(source) + 3 for source in SOURCES]
    found = beam.decode(transformer, padded(SOURCES), limits, beam_size=1, alpha=0.0)
    assert [hypotheses[0].ids for hypotheses in found] == greedy.decode(transformer, padded(SOURCES), limits)


@pytest.mark.parametrize("unknown", [True, False])
def test_unknown_pieces_are_written_on_demand(scripted, padded, unknown):
    model = scripted({(): {ids.UNK: 0.9, 4: 0.1}, (ids.UNK,): {ids.EOS: 1.0}, (4,): {ids.EOS: 1.0}})
    [found] = beam.decode(model, padded([[5]]), [10], beam_size=2, alpha=0.0, unknown=unknown)
    assert [one.ids for one in found] == ([[ids.UNK], [4]] if unknown else [[4]])
