"""What suits a new corpus: it fits the page whatever the corpus's size, and grows with it."""

import pytest

from pipeline.commands import training_length
from pipeline.commands.training_length import Size
from pipeline.common.params import read_yaml
from pipeline.training.budget import Training


@pytest.mark.parametrize("words", [1, 8, 500])  # a pair
@pytest.mark.parametrize("pairs", [1, 9_999, 10_000, 99_999, 100_000, 1_000_000, 40_800_000])
def test_a_training_fits_the_page(project_root, pairs, words):
    page = read_yaml(project_root / "params.yaml")["training"]
    training = Training.model_validate(page | training_length.suggest(Size(pairs, pairs * words)))
    assert 10 <= training.updates <= training_length.LONGEST


@pytest.mark.parametrize(
    ("pairs", "words", "updates"),
    [
        (29_000, 12, 2_500),  # Multi30k
        (500, 5, 525),  # 500 * 5 * 1.4 tokens, 120 times, 800 an update
        (130_000, 6, 5_460),  # four times
        (4_500_000, 25, 25_200),
        (40_800_000, 30, 100_000),
    ],
)
def test_updates_by_hand(pairs, words, updates):
    assert training_length.suggest(Size(pairs, pairs * words))["updates"] == pytest.approx(updates, rel=0.05)


@pytest.mark.parametrize(("pairs", "share"), [(1, 0.1), (10_000, 0.1), (29_000, 0.034), (3_000_000, 0.00033)])
def test_a_thousand_of_many_are_held_out_and_a_tenth_of_few(pairs, share):
    assert training_length.held_out_share(Size(pairs, pairs)) == share


@pytest.mark.parametrize(
    ("pairs", "characters", "size", "vocabulary"),
    [
        (1_000, 100, "tiny", "bpe_2k"),
        (4_000, 3000, "tiny", "bpe_8k"),  # Chinese
        (10_000, 100, "small", "bpe_8k"),
        (29_000, 100, "small", "bpe_8k"),
        (29_000, 5000, "small", "bpe_32k"),
        (1_000_000, 100, "base", "bpe_32k"),
    ],
)
def test_more_text_has_a_larger_model_and_more_characters_more_pieces(pairs, characters, size, vocabulary):
    assert training_length.band(Size(pairs, pairs)).size == size
    assert training_length.vocabulary(Size(pairs, pairs, characters=characters)) == vocabulary


def test_every_band_is_of_the_shipped_files(project_root):
    sizes = read_yaml(project_root / "configs" / f"{training_length.MODEL}.yaml")
    assert {band.size for band in training_length.BANDS} <= sizes.keys()
    assert {*training_length.VOCABULARIES} <= read_yaml(project_root / "params.yaml")["vocabularies"].keys()


def test_minutes_by_hand(monkeypatch):
    monkeypatch.setattr(training_length.cores, "count", lambda: 2)
    size = Size(4_000, 4_000 * 12)
    tokens = training_length.suggest(size)["updates"] * 800
    assert training_length.minutes(["small"], size) == round(tokens / 1200 / 60)  # one thread
    assert training_length.minutes(["small", "small"], size) == round(tokens / 1200 / 60)  # two lanes
    assert training_length.minutes(["paper"], size) == 0  # not measured
