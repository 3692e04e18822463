"""What is unusual about translations, by small ones made up."""

import pytest

from pipeline.compute import ids
from pipeline.evaluation import diagnosis
from pipeline.evaluation.curves import NOTHING
from pipeline.evaluation.diagnosis import TrainingText
from tests.toys import samples

NAMES = ["Anne", "Paul", "Marie", "Luc", "Jean", "Rose", "Marc", "Julie", "Pierre", "Claire"]
VERBS = [("voit", "sees"), ("aime", "likes"), ("cherche", "looks for")]
SOURCES = [f"{name} {verb} le chat" for name in NAMES for verb, _ in VERBS]
TARGETS = [f"{name} {verb} the cat" for name in NAMES for _, verb in VERBS]
PAIRS = [*zip(SOURCES, TARGETS, strict=True)]
TRAINING = TrainingText.of(PAIRS)


def findings(sources=SOURCES, references=TARGETS, translations=TARGETS, pieces=None):
    """The findings, each up to its cure; by default a word is a piece."""
    pieces = pieces or [[4] * len(line.split()) for line in sources]
    return [line.partition(";")[0] for line in diagnosis.of_part(sources, references, translations, pieces, TRAINING)]


def test_words_of_every_bitext_are_known(tmp_path, monkeypatch):
    monkeypatch.setattr(diagnosis, "MOST_PAIRS", 2)
    samples.write_bitexts(tmp_path, own=[("un", "one"), ("deux", "two")], web=[("trois", "three")])
    assert TrainingText.read(tmp_path).source_words == {"un", "trois"}


def test_a_good_system_is_usual():
    assert findings() == [NOTHING]
    assert findings(SOURCES[:1], TARGETS[:1], [""]) == [NOTHING]  # one line says nothing


def test_few_lines_without_a_right_word_say_something():
    [finding] = findings(SOURCES[:3], TARGETS[:3], ["a dog"] * 3)
    assert finding == "references: 0 % of their words are in the translations"


@pytest.mark.parametrize(
    ("translations", "expected"),
    [
        ([*TARGETS[:-1], "Claire cat cat cat cat the"], ["repetition: 3 % of the translations loop"]),
        ([*TARGETS[:-1], "Claire ofofofofof the cat"], ["repetition: 3 % of the translations loop"]),
        ([*SOURCES[:3], *TARGETS[3:]], ["copies: 10 % of the translations are their source"]),
        (["", *TARGETS[1:]], ["empty: 3 % of the translations are empty"]),
        (
            [name[:4] for name in TARGETS],
            [
                "length: translations have 0.21 of the references' characters",
                "references: 14 % of their words are in the translations",
                "source ignored: 100 % of the translations are those of other sources too",
            ],
        ),
    ],
)
def test_translations(translations, expected):
    assert findings(translations=translations) == expected


def test_numbers_are_compared_where_the_references_keep_them():
    sources = [f"{line} {number}.000,50 €" for number, line in enumerate(SOURCES, 1)]
    references = [f"{line} € {number},000.50" for number, line in enumerate(TARGETS, 1)]
    swapped = [*references[1::-1], *references[2:]]
    for translations, expected in ((references, []), (swapped, ["numbers: 7 % of the lines with numbers get others"])):
        lines = filter(None, diagnosis.of_translations(sources, references, translations))
        assert [line.partition(";")[0] for line in lines] == expected


def test_sources_unlike_those_of_training():
    upper = diagnosis.of_part([line.upper() for line in SOURCES], TARGETS, TARGETS, [[4]] * 30, TRAINING)
    assert upper == [
        "vocabulary: 100 % of the source's words are not in the training part; "
        "write them in upper and lower case as training does"
    ]
    swapped = diagnosis.of_part(TARGETS, SOURCES, SOURCES, [[4]] * 30, TRAINING)
    assert "77 % of the source's words" in swapped[0]
    assert "are source and target swapped?" in swapped[0]
    longer = [f"{line}, {line}" for line in SOURCES]
    assert findings(longer) == ["length: sources are 2.11 times as long as in training"]
    both = TrainingText.of(PAIRS, [(line, line) for line in longer])
    for training in (both, None):
        assert diagnosis.of_part(longer, TARGETS, TARGETS, [[4]] * 30, training) == [NOTHING]


def test_pieces_of_the_sources():
    assert findings(pieces=[[4] * 16] * 30) == ["vocabulary: a word takes 4.0 pieces"]
    assert findings(pieces=[[4] * 9 + [ids.UNK]] * 30) == ["unknown: 10 % of the source's pieces"]


def test_source_words_that_no_step_attends_to():
    record = {"source": ["▁le", "▁ch", "at", "</s>"], "target": ["▁the", "▁cat"], "weights": {}}
    assert diagnosis.of_attention([record]) == ["none to look at"]
    matrix = [[1.0, 0.0, 0.0, 0.0], [0.9, 0.05, 0.02, 0.03]]
    weights = {"encoder 1": [[[0.25] * 4] * 4], "cross 1": [matrix, matrix]}
    [finding] = diagnosis.of_attention([record | {"weights": weights}] * 10)
    assert finding.startswith("attention: nothing attends to 50 % of the words")
    usual = {"cross 1": [[[0.5, 0.25, 0.25, 0.0]] * 2]}
    assert diagnosis.of_attention([record | {"weights": usual}] * 10) == [NOTHING]
