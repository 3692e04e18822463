"""The stage `score`: the very command of dvc.yaml on a small corpus."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import files
from pipeline.evaluation.scores import Scoring, corpus_scores
from pipeline.vocabularies import subwords, words

ROOT = Path(__file__).parents[2]
SYSTEM = "toy-bpe-small_model-tiny"
PARAMS = "score: {metrics: [bleu, chrf], tokenize: 13a, length_buckets: [2, 4], bootstrap_samples: 40, seed: 1}\n"
SOURCES = ["un chat", "", "le chat dort sur le lit", "la souris mange du fromage"]
REFERENCES = ["a cat", "nothing", "the cat sleeps on the bed", "the mouse eats some cheese"]
HYPOTHESES = ["a cat", "", "the cat sleeps in the bed", "the mouse eats cheese"]
BPE = {"kind": "bpe", "size": 40, "joint": True, "byte_fallback": False, "character_coverage": 1.0}


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "params.yaml").write_text(PARAMS)
    for part in ("train", "validation", "test", "compositional"):
        write(tmp_path / f"data/split/toy/{part}.source.txt", SOURCES)
        write(tmp_path / f"data/split/toy/{part}.target.txt", REFERENCES)
    write(tmp_path / f"data/decode/{SYSTEM}/test.txt", HYPOTHESES)
    write(tmp_path / f"data/decode/{SYSTEM}/compositional.txt", REFERENCES)
    write(tmp_path / f"data/decode/{SYSTEM}/decode.json", [json.dumps({"beam_size": 5})])
    write(
        tmp_path / f"runs/{SYSTEM}/train/training.json",
        [json.dumps({"best": {"update": 4, "validation_loss": 1.25}, "num_parameters": 1234})],
    )
    files.write_json(tmp_path / "data/split/toy/languages.json", {"source_language": "fr", "target_language": "en"})
    with files.new_folder(tmp_path / "data/vocabulary/toy-bpe") as folder:
        section = subwords.Subwords.model_validate(BPE | {"sentences": 9, "seed": 1})
        subwords.train(section, *texts(tmp_path), folder, where="vocabularies.bpe")
    return tmp_path


def texts(project):
    return project / "data/split/toy/train.source.txt", project / "data/split/toy/train.target.txt"


def know(project, number):
    """Put a vocabulary of this many words in the place of the system's own."""
    with files.new_folder(project / "data/vocabulary/toy-bpe") as folder:
        section = words.Words(kind="word", words=number, sentences=9, seed=1)
        words.train(section, *texts(project), ("fr", "en"), folder, where="vocabularies.word")


def score(project):
    # a store that cannot be: the stage must not need one
    dead = {"MLFLOW_TRACKING_URI": "sqlite:////dev/null/mlflow.db", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "stages.score", *SYSTEM.split("-")]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, env=os.environ | dead, check=False)


def files_of(project):
    found = [project / f"metrics/{SYSTEM}.json", *(project / "data/score").rglob("*")]
    return {str(path.relative_to(project)): path.read_bytes() for path in found if path.is_file()}


def test_every_test_part_is_scored_as_the_sacrebleu_command_does(project):
    run = score(project)
    assert run.returncode == 0, run.stderr
    metrics = json.loads((project / f"metrics/{SYSTEM}.json").read_text())
    assert set(metrics) == {"validation", "test", "compositional"}
    assert metrics["validation"] == {"loss": 1.25}
    assert metrics["compositional"]["bleu"] == metrics["compositional"]["chrf"] == 100
    command = [sys.executable, "-m", "sacrebleu", project / "data/split/toy/test.target.txt"]
    command += ["-i", project / f"data/decode/{SYSTEM}/test.txt", "-m", "bleu", "chrf", "-w", "4"]
    for name, answer in zip(("bleu", "chrf"), json.loads(subprocess.check_output(command)), strict=True):
        assert metrics["test"][name] == answer["score"]
        details = json.loads((project / f"data/score/{SYSTEM}/scores.json").read_text())["test"][name]
        assert (details["score"], details["signature"]) == (answer["score"], answer["signature"])


def test_subwords_have_no_scores_without_unknown_words(project):
    assert score(project).returncode == 0
    metrics = json.loads((project / f"metrics/{SYSTEM}.json").read_text())
    assert list(metrics["test"]) == ["bleu", "chrf"]


def test_sentences_without_unknown_words_are_scored_beside_all(project):
    """The frequent words are chat dort du fromage la le lit, and the a bed cat cheese eats mouse: of the four
    sentences only the empty source has none that is unknown, and its reference has one; in `news` there are others."""
    know(project, 7)
    sources, references = ["le chat dort", "le lit", "un chat", "le chat"], ["the cat", "the bed", "a cat", "the dog"]
    write(project / "data/split/toy/news.source.txt", sources)
    write(project / "data/split/toy/news.target.txt", references)
    write(project / f"data/decode/{SYSTEM}/news.txt", ["the UNK", "UNK", "a cat", "the dog"])
    write(project / f"data/decode/{SYSTEM}/without_unknown/news.txt", ["the cat", "the cat"])
    for part in ("test", "compositional"):
        write(project / f"data/decode/{SYSTEM}/without_unknown/{part}.txt", [])
    run = score(project)
    assert run.returncode == 0, run.stderr
    metrics = json.loads((project / f"metrics/{SYSTEM}.json").read_text())
    expected = corpus_scores(["the cat", "the cat"], references[:2], Scoring.load("score", project / "params.yaml"))
    assert metrics["news"] == metrics["news"] | {
        "bleu_without_unknown": expected["bleu"],
        "chrf_without_unknown": expected["chrf"],
        "sentences_without_unknown": 2,
    }
    assert list(metrics["test"]) == ["bleu", "chrf", "sentences_without_unknown"]
    assert metrics["test"]["sentences_without_unknown"] == 0
    logged = json.loads((project / f"work/logs/{SYSTEM}/score.jsonl").read_text())
    assert logged["news/chrf_without_unknown"] == expected["chrf"]


def test_details_and_scores_by_length_stand_beside(project):
    assert score(project).returncode == 0
    details = json.loads((project / f"data/score/{SYSTEM}/scores.json").read_text())
    assert details["test"]["bleu"]["hypothesis_tokens"] == 12
    assert details["test"]["bleu"]["reference_tokens"] == 14
    with (project / f"data/score/{SYSTEM}/by_length.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["part"] == "test"]
    assert [(row["bucket"], row["lower"], row["upper"], row["sentences"]) for row in rows] == [
        ("1-2", "1", "2", "2"),
        ("5+", "5", "", "2"),
    ]


def test_again_gives_the_same_bytes_and_logs_the_scores(project):
    assert score(project).returncode == 0
    first = files_of(project)
    assert len(first) == 3
    assert score(project).returncode == 0
    assert files_of(project) == first
    logged = json.loads((project / f"work/logs/{SYSTEM}/score.jsonl").read_text())
    assert logged["compositional/bleu"] == 100


def test_a_part_without_translation_is_named(project):
    (project / f"data/decode/{SYSTEM}/compositional.txt").unlink()
    run = score(project)
    assert run.returncode == 1
    assert run.stderr == (
        f"error: data/decode/{SYSTEM}: must hold a translation of each test part of data/split/toy, got test; "
        "expected compositional, test\n"
    )
    assert not (project / "metrics").exists()


def test_a_translation_too_few_is_named(project):
    write(project / f"data/decode/{SYSTEM}/test.txt", HYPOTHESES[:3])
    run = score(project)
    assert run.returncode == 1
    assert run.stderr == (
        f"error: data/decode/{SYSTEM}/test.txt has 3 lines, data/split/toy/test.target.txt 4: "
        "the two files must be parallel\n"
    )
    assert not (project / "metrics").exists()
    assert not (project / "data/score").exists()


def test_an_unknown_metric_is_named(project):
    (project / "params.yaml").write_text(PARAMS.replace("chrf", "meteor"))
    run = score(project)
    assert run.returncode == 1
    assert run.stderr == "error: params.yaml: score.metrics.1: should be 'bleu', 'chrf' or 'ter', got 'meteor'\n"


def test_translations_of_other_sentences_than_those_without_unknown_words_are_named(project):
    know(project, 7)
    for part in ("test", "compositional"):
        write(project / f"data/decode/{SYSTEM}/without_unknown/{part}.txt", ["the cat"])
    run = score(project)
    assert run.returncode == 1
    assert run.stderr == (
        f"error: data/decode/{SYSTEM}/without_unknown/compositional.txt: must have a line for each sentence of "
        "compositional without unknown words, got 1; expected 0\n"
    )
    assert not (project / "metrics").exists()


def test_settings_of_the_search_that_are_none_are_named(project):
    path = f"data/decode/{SYSTEM}/decode.json"
    write(project / path, ['["beam_size"]'])
    run = score(project)
    assert run.returncode == 1
    assert run.stderr.startswith(f"error: {path}: should be a valid dictionary, got ['beam_size']; expected what")
    assert run.stderr.count("\n") == 1
    assert not (project / "metrics").exists()
    assert not (project / "data/score").exists()
