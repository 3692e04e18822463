"""The bundled corpus: every pattern and word is seen, parts share nothing, the same bytes come everywhere."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pipeline.files import DataError
from pipeline.phrasebook import sentences as phrasebook
from pipeline.phrasebook.patterns import PATTERNS
from pipeline.phrasebook.sentences import PARTS, Sentence, normalise, pairs, sentences
from pipeline.phrasebook.words import Expression

ROOT = Path(__file__).parents[3]


def test_there_are_many_patterns_and_words_and_each_is_seen_often(corpus: dict[str, list[Sentence]]) -> None:
    patterns = Counter(sentence.pattern for sentence in corpus["train"])
    words = Counter((type(word), word.french) for sentence in corpus["train"] for word in set(sentence.words))
    lemmas = {french for kind, french in words if kind is not Expression}
    assert set(patterns) == set(PATTERNS)
    assert len(patterns) >= 25
    assert max(patterns.values()) < 2 * min(patterns.values())  # drawn evenly, not by how many sentences each has
    assert len(lemmas) >= 300
    assert min(words.values()) >= 15


def test_parts_share_no_source_and_no_target(corpus: dict[str, list[Sentence]]) -> None:
    others = {part: sentences(part, 600, seed=2) for part in PARTS}
    homes: dict[str, str] = {}
    for part in PARTS:
        for sentence in (*corpus[part], *others[part]):
            for text in (sentence.french, sentence.english):
                assert homes.setdefault(normalise(text), part) == part, text


def test_a_source_has_one_translation_and_a_target_one_pattern(corpus: dict[str, list[Sentence]]) -> None:
    translations: dict[str, str] = {}
    patterns: dict[str, str] = {}
    for sentence in (sentence for part in PARTS for sentence in corpus[part]):
        assert translations.setdefault(normalise(sentence.french), sentence.english) == sentence.english
        assert patterns.setdefault(normalise(sentence.english), sentence.pattern) == sentence.pattern


def test_no_pair_stands_twice(corpus: dict[str, list[Sentence]]) -> None:
    for drawn in corpus.values():
        assert len({sentence.french for sentence in drawn}) == len(drawn)


def combinations(drawn: list[Sentence]) -> set[tuple[str, str]]:
    """Pattern and word of every sentence."""
    return {(sentence.pattern, word.key) for sentence in drawn for word in sentence.words}


def test_compositional_pairs_each_have_a_combination_never_seen_elsewhere(corpus: dict[str, list[Sentence]]) -> None:
    seen = combinations(corpus["train"] + corpus["validation"] + corpus["test"])
    for sentence in corpus["compositional"]:
        assert combinations([sentence]) - seen, sentence
    assert not any(map(phrasebook.reserved, corpus["train"]))


def test_compositional_words_and_patterns_are_all_known_from_training(corpus: dict[str, list[Sentence]]) -> None:
    new = combinations(corpus["compositional"])
    seen = combinations(corpus["train"])
    assert {pattern for pattern, _ in new} <= {pattern for pattern, _ in seen} == set(PATTERNS)
    assert {word for _, word in new} <= {word for _, word in seen}
    french = {word.french for sentence in corpus["train"] for word in sentence.words}
    assert {word.french for sentence in corpus["compositional"] for word in sentence.words} <= french


def test_the_largest_training_part_of_use_can_be_had() -> None:
    assert len(set(pairs("train", 20000, seed=1))) == 20000


@pytest.mark.parametrize("part", PARTS)
def test_more_pairs_leave_the_first_ones_as_they_are(part: str) -> None:
    assert pairs(part, 300, seed=3)[:250] == pairs(part, 250, seed=3)


def test_another_seed_gives_other_pairs() -> None:
    assert pairs("test", 50, seed=1) != pairs("test", 50, seed=2)


def test_every_process_writes_the_same_bytes() -> None:
    program = (
        "import hashlib; from pipeline.phrasebook.sentences import PARTS, pairs;"
        "print(hashlib.sha256(repr([pairs(part, 100, 7) for part in PARTS]).encode()).hexdigest())"
    )
    here = hashlib.sha256(repr([pairs(part, 100, 7) for part in PARTS]).encode()).hexdigest()
    for hash_seed in ("0", "1234"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", program]
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert answer.stdout.strip() == here


def test_sentences_are_clean_text(corpus: dict[str, list[Sentence]]) -> None:
    for sentence in corpus["train"]:
        for text in (sentence.french, sentence.english):
            assert text == " ".join(text.split())
            assert text[0].isupper()
            assert text[-1] in ".?!"
        words = f" {sentence.french.lower()} "
        for wrong in (
            " de le ",
            " de les ",
            " à le ",
            " à les ",
            " si il",
            " je a",
            " la é",
            " que il",
            " de a",
            " ne é",
        ):
            assert wrong not in words, sentence


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(DataError) as error:
        pairs("dev", 10, seed=1)
    assert str(error.value) == (
        "phrasebook: unknown part, got 'dev'; expected one of train, validation, test, compositional"
    )


def test_a_number_below_one_is_refused() -> None:
    with pytest.raises(DataError) as error:
        pairs("test", 0, seed=1)
    assert str(error.value) == "phrasebook test: num_pairs must be at least 1, got 0"


def test_more_pairs_than_there_are_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrasebook, "MOST_PER_PATTERN", 2)
    most = 2 * len(PATTERNS)
    assert len(pairs("train", most, seed=1)) == most
    with pytest.raises(DataError) as error:
        pairs("train", most + 1, seed=1)
    assert str(error.value) == f"phrasebook train: num_pairs must be at most {most} for seed 1, got {most + 1}"
