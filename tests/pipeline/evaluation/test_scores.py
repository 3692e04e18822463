"""Scores against the sacrebleu command, and by hand where a hand can do it."""

import json
import math
import subprocess
import sys

import pytest

from pipeline.evaluation.bleu import bleu
from pipeline.evaluation.scores import Scoring, corpus_details, corpus_scores, scores_by_length, without_unknown
from pipeline.params import ParamsError

HYPOTHESES = ["The cat sat on the mat .", "", "Où est-ce qu'il habite, « ici » ?", "It costs 3.50 $, I think."]
REFERENCES = ["The cat sat on a mat.", "Nothing at all.", "Où est-ce qu'il habite, ici ?", "I think it costs $3.50."]
SECTION = {
    "metrics": ["bleu", "chrf", "ter"],
    "tokenize": "13a",
    "length_buckets": [2, 4],
    "bootstrap_samples": 100,
    "seed": 1,
}


def scoring(**changes):
    return Scoring.model_validate(SECTION | changes)


def fault(tmp_path, **changes):
    path = tmp_path / "params.yaml"
    path.write_text(json.dumps({"score": SECTION | changes}))
    with pytest.raises(ParamsError) as error:
        Scoring.load("score", path)
    return str(error.value).removeprefix(f"{path}: ")


def command(tmp_path, *options):
    """What `sacrebleu` itself answers."""
    for name, lines in (("hypotheses", HYPOTHESES), ("references", REFERENCES)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    call = [sys.executable, "-m", "sacrebleu", "references", "-i", "hypotheses", "-w", "4", *options]
    return subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("tokenize", ["13a", "none"])
def test_scores_and_signatures_are_those_of_the_sacrebleu_command(tmp_path, tokenize):
    found = corpus_details(HYPOTHESES, REFERENCES, scoring(tokenize=tokenize))
    answers = json.loads(command(tmp_path, "-m", "bleu", "chrf", "ter", "-tok", tokenize))
    assert set(found) == {"bleu", "chrf", "ter"}
    for metric, answer in zip(("bleu", "chrf", "ter"), answers, strict=True):
        assert (found[metric]["score"], found[metric]["signature"]) == (answer["score"], answer["signature"])
    scores = {metric: detail["score"] for metric, detail in found.items()}
    assert corpus_scores(HYPOTHESES, REFERENCES, scoring(tokenize=tokenize)) == scores


def test_intervals_are_those_of_the_sacrebleu_command(tmp_path, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", "1")
    answers = json.loads(command(tmp_path, "-m", "bleu", "chrf", "--confidence", "--confidence-n", "100"))
    found = corpus_details(HYPOTHESES, REFERENCES, scoring(metrics=["bleu", "chrf"]))
    for metric, answer in zip(("bleu", "chrf"), answers, strict=True):
        mean, margin = answer["confidence_mean"], answer["confidence_var"]
        assert found[metric]["interval"] == pytest.approx([mean - margin, mean + margin], abs=2e-4)


def test_one_sentence_has_no_interval():
    assert corpus_details(["x"], ["x"], scoring(metrics=["bleu"]))["bleu"]["interval"] is None


def test_chrf_that_is_0_for_some_resamples_only_has_no_interval():
    """A mean of 0.0 and float32 is a TypeError in sacreBLEU."""
    hypotheses, references = ["", "the cat", ""], ["a dog", "the cat", "an owl"]
    found = corpus_details(hypotheses, references, scoring(metrics=["bleu", "chrf"], bootstrap_samples=50))
    assert found["chrf"]["score"] > 0
    assert found["chrf"]["interval"] is None


def test_ter_without_words_in_some_resamples_only_has_no_interval():
    found = corpus_details(["a b c d e", "c d"], ["a b c d e", ""], scoring(metrics=["ter"], bootstrap_samples=50))
    assert found["ter"]["interval"] is None


def test_an_interval_stays_within_the_scale():
    hypotheses, references = ["a b c d e", "zzzz"], ["a b c d e", "qq"]
    found = corpus_details(hypotheses, references, scoring())
    assert found["bleu"]["interval"][1] == 100
    assert found["ter"]["interval"][0] == 0


def test_brevity_by_hand():
    # every word of the translation is right, but the reference has 8 words to its 6
    detail = corpus_details(["a b c d e f"], ["a b c d e f g h"], scoring(metrics=["bleu"]))["bleu"]
    assert detail["precisions"] == [100, 100, 100, 100]
    assert detail["brevity_penalty"] == pytest.approx(math.exp(1 - 8 / 6), abs=1e-4)
    assert detail["score"] == pytest.approx(100 * math.exp(1 - 8 / 6), abs=1e-4)
    assert (detail["hypothesis_tokens"], detail["reference_tokens"]) == (6, 8)


def test_ter_by_hand():
    detail = corpus_details(["a b x d"], ["a b c d e"], scoring(metrics=["ter"]))["ter"]
    assert (detail["edits"], detail["reference_words"]) == (2, 5)  # one word replaced, one added
    assert detail["score"] == 40


def test_only_the_metrics_asked_for_are_there():
    found = corpus_scores(["a"], ["a"], scoring(metrics=["chrf"]))
    assert set(found) == {"chrf"}


def test_empty_translations_score_zero():
    found = corpus_scores(["", ""], ["a b", "c d"], scoring(metrics=["bleu", "chrf"]))
    assert found["bleu"] == found["chrf"] == 0


def test_each_sentence_falls_into_the_bucket_of_its_source():
    sources = ["", "one two", "one two three", "1 2 3 4", "1 2 3 4 5 6"]
    texts = ["a b c d", "a b c d", "a b c d", "x", "a b c d"]
    rows = scores_by_length("test", sources, texts, ["a b c d"] * 5, scoring())
    assert [(row["bucket"], row["lower"], row["upper"], row["sentences"]) for row in rows] == [
        ("1-2", 1, 2, 2),
        ("3-4", 3, 4, 2),
        ("5+", 5, "", 1),
    ]
    assert {row["part"] for row in rows} == {"test"}
    assert [row["bleu"] for row in rows] == [100, bleu(texts[2:4], ["a b c d"] * 2), 100]


def test_a_bucket_without_sentences_has_no_row():
    rows = scores_by_length("test", ["1 2 3 4 5"], ["a"], ["a"], scoring())
    assert [row["bucket"] for row in rows] == ["5+"]


def test_sentences_without_unknown_words_are_scored_alone():
    chosen = [HYPOTHESES[0], HYPOTHESES[3]], [REFERENCES[0], REFERENCES[3]]
    expected = corpus_scores(*chosen, scoring())
    assert without_unknown(*chosen, scoring()) == {
        "bleu_without_unknown": expected["bleu"],
        "chrf_without_unknown": expected["chrf"],
        "ter_without_unknown": expected["ter"],
        "sentences_without_unknown": 2,
    }


def test_all_sentences_without_unknown_words_score_as_all():
    section = scoring(metrics=["bleu"])
    found = without_unknown(HYPOTHESES, REFERENCES, section)
    assert found == {"bleu_without_unknown": bleu(HYPOTHESES, REFERENCES), "sentences_without_unknown": 4}


def test_no_sentence_without_unknown_words_has_no_score():
    found = without_unknown([], [], scoring())
    assert found == {"sentences_without_unknown": 0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": ["bleu", "comet"]}, "score.metrics.1: should be 'bleu', 'chrf' or 'ter', got 'comet'"),
        ({"tokenize": "14a"}, "score.tokenize: should be '13a', 'intl', 'char', 'zh' or 'none', got '14a'"),
        ({"metrics": ["bleu", "bleu"]}, "score.metrics: must name each metric once, got ['bleu', 'bleu']"),
        (
            {"length_buckets": [10, 30, 20]},
            "score.length_buckets: must be ascending, got [10, 30, 20]; "
            "expected the longest source of each bucket, in words",
        ),
        ({"length_buckets": [0, 10]}, "score.length_buckets.0: should be greater than 0, got 0"),
    ],
)
def test_a_fault_of_the_section_is_named(tmp_path, changes, message):
    assert fault(tmp_path, **changes) == message
