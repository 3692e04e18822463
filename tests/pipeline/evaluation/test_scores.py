"""Scores against the sacrebleu command, and by hand where a hand can do it."""

import json
import math
import subprocess
import sys

import pytest

from pipeline.common.params import ParamsError
from pipeline.evaluation.bleu import bleu, tokenizer
from pipeline.evaluation.scores import corpus_details, scores_by_length, without_unknown
from pipeline.evaluation.settings import FLORES, Scoring

HYPOTHESES = ["The cat sat on the mat .", "", "Où est-ce qu'il habite, « ici » ?", "It costs 3.50 $, I think."]
REFERENCES = ["The cat sat on a mat.", "Nothing at all.", "Où est-ce qu'il habite, ici ?", "I think it costs $3.50."]
OTHERS = ["A cat sat on the mat.", "Nothing.", "Où habite-t-il, ici ?", "It costs $3.50, I think."]
SECTION = {
    "metrics": ["bleu", "chrf", "ter"],
    "tokenize": "13a",
    "references": {},
    "external": {},
    "length_buckets": [2, 4],
    "bootstrap_samples": 100,
    "seed": 1,
}


def scoring(**changes):
    return Scoring.model_validate(SECTION | changes)


def sacrebleu(tmp_path, *options):
    """What the command answers."""
    for name, lines in (("hypotheses", HYPOTHESES), ("references", REFERENCES), ("others", OTHERS)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", *options, "-i", "hypotheses", "-w", "4"]
    return subprocess.check_output(command, cwd=tmp_path, text=True)


@pytest.mark.parametrize("tokenize", ["13a", "none"])
def test_scores_and_signatures_are_those_of_the_sacrebleu_command(tmp_path, tokenize):
    answers = json.loads(sacrebleu(tmp_path, "references", "-m", "bleu", "chrf", "ter", "-tok", tokenize))
    details = corpus_details(HYPOTHESES, [REFERENCES], scoring(tokenize=tokenize))
    assert [(one["score"], one["signature"]) for one in details.values()] == [
        (answer["score"], answer["signature"]) for answer in answers
    ]
    assert bleu(HYPOTHESES, REFERENCES, tokenize) == details["bleu"]["score"]  # that of validation


def test_several_references_and_chrf_with_words_are_those_of_the_sacrebleu_command(tmp_path):
    answers = json.loads(sacrebleu(tmp_path, "references", "others", "-m", "bleu", "chrf", "--chrf-word-order", "2"))
    details = corpus_details(HYPOTHESES, [REFERENCES, OTHERS], scoring(metrics=["bleu", "chrfpp"]))
    assert [(one["score"], one["signature"]) for one in details.values()] == [
        (answer["score"], answer["signature"]) for answer in answers
    ]


def test_intervals_are_those_of_the_sacrebleu_command(tmp_path, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", "1")
    answers = json.loads(
        sacrebleu(tmp_path, "references", "-m", "bleu", "chrf", "--confidence", "--confidence-n", "100")
    )
    details = corpus_details(HYPOTHESES, [REFERENCES], scoring(metrics=["bleu", "chrf"]))
    for detail, answer in zip(details.values(), answers, strict=True):
        mean, margin = answer["confidence_mean"], answer["confidence_var"]
        assert detail["interval"] == pytest.approx([mean - margin, mean + margin], abs=2e-4)


def test_one_sentence_has_no_interval():
    assert corpus_details(["x"], [["x"]], scoring(metrics=["bleu"]))["bleu"]["interval"] is None


def test_chrf_that_is_0_for_some_resamples_only_has_no_interval():
    """A mean of 0.0 and float32 is a TypeError in sacreBLEU."""
    hypotheses, references = ["", "the cat", ""], ["a dog", "the cat", "an owl"]
    chrf = corpus_details(hypotheses, [references], scoring(metrics=["chrf"], bootstrap_samples=50))["chrf"]
    assert chrf["score"] > 0
    assert chrf["interval"] is None


def test_an_interval_stays_within_the_scale():
    details = corpus_details(["a b c d e", "zzzz"], [["a b c d e", "qq"]], scoring())
    assert details["bleu"]["interval"][1] == 100
    assert details["ter"]["interval"][0] == 0


@pytest.mark.parametrize(
    ("language", "text"),
    [("zh-TW", "猫在花园里。"), ("ja", "猫は寝ている。"), ("tha", "แมวดำนอนหลับ"), ("fr", "le chat dort .")],
)
def test_a_perfect_translation_scores_100_in_every_script(language, text):
    """A sentence without spaces is one word to 13a: no group of four matches, and every system has 0."""
    assert bleu([text], [text], tokenizer(language)) == 100
    of_parts = scoring(tokenize={"test": "intl"})
    assert (of_parts.of("test", language).tokenize, of_parts.of("other", language).tokenize) == (
        "intl",
        tokenizer(language),
    )


def test_brevity_by_hand():
    # every word of the translation is right, but the reference has 8 words to its 6
    detail = corpus_details(["a b c d e f"], [["a b c d e f g h"]], scoring(metrics=["bleu"]))["bleu"]
    assert detail["precisions"] == [100, 100, 100, 100]
    assert detail["score"] == pytest.approx(100 * math.exp(1 - 8 / 6), abs=1e-4)
    assert (detail["hypothesis_tokens"], detail["reference_tokens"]) == (6, 8)


def test_ter_by_hand():
    detail = corpus_details(["a b x d"], [["a b c d e"]], scoring(metrics=["ter"]))["ter"]
    assert (detail["edits"], detail["reference_words"], detail["score"]) == (2, 5, 40)  # one replaced, one added


def test_each_sentence_falls_into_the_bucket_of_its_source():
    sources = ["", "one two", "one two three", "一只黑猫在睡觉。", "1 2 3 4 5 6"]
    texts = ["a b c d", "a b c d", "a b c d", "x", "a b c d"]
    rows = scores_by_length("test", sources, texts, [["a b c d"] * 5], scoring())
    assert [(row["bucket"], row["lower"], row["upper"], row["sentences"]) for row in rows] == [
        ("1-2", 1, 2, 2),
        ("3-4", 3, 4, 2),
        ("5+", 5, "", 1),
    ]
    assert [row["bleu"] for row in rows] == [100, bleu(texts[2:4], ["a b c d"] * 2, "13a"), 100]
    [row] = scores_by_length("test", ["1 2 3 4 5"], ["a"], [["a"]], scoring())  # a bucket without any has no row
    assert row["bucket"] == "5+"


def test_sentences_without_unknown_words_are_scored_alone():
    section = scoring(metrics=["bleu"])
    expected = {"bleu_without_unknown": bleu(HYPOTHESES, REFERENCES, "13a"), "sentences_without_unknown": 4}
    assert without_unknown(HYPOTHESES, [REFERENCES], section) == expected
    assert without_unknown([], [[]], section) == {"sentences_without_unknown": 0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"metrics": ["bleu", "comet"]},
            "score.metrics.1: should be 'bleu', 'chrf', 'chrfpp', 'spbleu' or 'ter', got 'comet'",
        ),
        (
            {"tokenize": "ja-mecab"},
            "score.tokenize: needs the package MeCab, got 'ja-mecab'; expected auto, or the package installed",
        ),
        (
            {"tokenize": {"test": "flores200"}},
            f"score.tokenize: needs {FLORES}, got 'flores200'; `echo x | sacrebleu <(echo x) --tokenize flores200` "
            "fetches it",
        ),
        ({"tokenize": "chrf"}, "score.tokenize: unknown tokeniser, got 'chrf'; nearest is 'char'"),
        ({"tokenize": {"test": "13b"}}, "score.tokenize: unknown tokeniser, got '13b'; nearest is '13a'"),
        ({"external": {"ter": {"command": "x"}}}, "score.external: must have names of their own, got ter"),
        ({"metrics": ["bleu", "bleu"]}, "score.metrics: must name each once, got bleu more than once"),
        (
            {"length_buckets": [10, 30, 20]},
            "score.length_buckets: must be ascending, got [10, 30, 20]; "
            "expected the longest source of each bucket, in words",
        ),
    ],
)
def test_a_fault_of_the_section_is_named(tmp_path, changes, message):
    path = tmp_path / "params.yaml"
    path.write_text(json.dumps({"score": SECTION | changes}))
    with pytest.raises(ParamsError) as error:
        Scoring.load(f"{path}:score")
    assert str(error.value) == f"{path}: {message}"
