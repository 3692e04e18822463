"""The stage `score` on a small corpus."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import files
from pipeline.evaluation.scores import Scoring, corpus_scores
from pipeline.files import DataError
from pipeline.vocabularies import subwords, words
from stages import score

ROOT = Path(__file__).parents[2]
SYSTEM = "toy-bpe-small_model-tiny-1"
PARAMS = "score: {metrics: [bleu, chrf], tokenize: 13a, length_buckets: [2, 4], bootstrap_samples: 40, seed: 1}\n"
SOURCES = ["un chat", "", "le chat dort sur le lit", "la souris mange du fromage"]
REFERENCES = ["a cat", "nothing", "the cat sleeps on the bed", "the mouse eats some cheese"]
HYPOTHESES = ["a cat", "", "the cat sleeps in the bed", "the mouse eats cheese"]
BPE = {"kind": "bpe", "size": 40, "joint": True, "byte_fallback": False, "character_coverage": 1.0}
TEXTS = Path("data/split/toy/train.source.txt"), Path("data/split/toy/train.target.txt")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with the translations of two test parts, to which the test goes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////dev/null/mlflow.db")  # the stage must not need a store
    Path("params.yaml").write_text(PARAMS)
    for part in ("train", "validation", "test", "compositional"):
        files.write_lines(Path(f"data/split/toy/{part}.source.txt"), SOURCES)
        files.write_lines(Path(f"data/split/toy/{part}.target.txt"), REFERENCES)
    files.write_json(Path("data/split/toy/languages.json"), {"source_language": "fr", "target_language": "en"})
    decoded = Path("data/decode", SYSTEM)
    files.write_lines(decoded / "test.txt", HYPOTHESES)
    files.write_lines(decoded / "compositional.txt", REFERENCES)
    files.write_json(decoded / "decode.json", {"beam_size": 5})
    training = {"best": {"update": 4, "validation_loss": 1.25}, "num_parameters": 1234}
    files.write_json(Path("runs", SYSTEM, "train/training.json"), training)
    with files.new_folder(Path("data/vocabulary/toy-bpe")) as folder:
        section = subwords.Subwords.model_validate(BPE | {"sentences": 9, "seed": 1})
        subwords.train(section, *TEXTS, folder, where="vocabularies.bpe")
    return tmp_path


def metrics():
    return files.read_json(Path("metrics", f"{SYSTEM}.json"))


def test_the_command_scores_every_test_part_as_sacrebleu_does(project):
    command = [sys.executable, "-m", "stages.score", SYSTEM]
    subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)
    assert list(metrics()) == ["validation", "test", "compositional"]
    assert metrics()["validation"] == {"loss": 1.25}
    assert metrics()["compositional"] == {"bleu": 100, "chrf": 100}
    command = [sys.executable, "-m", "sacrebleu", "data/split/toy/test.target.txt", "-m", "bleu", "chrf", "-w", "4"]
    answers = json.loads(subprocess.check_output([*command, "-i", f"data/decode/{SYSTEM}/test.txt"]))
    details = files.read_json(Path("data/score", SYSTEM, "scores.json"))["test"]
    for name, answer in zip(("bleu", "chrf"), answers, strict=True):
        assert metrics()["test"][name] == details[name]["score"] == answer["score"]
        assert details[name]["signature"] == answer["signature"]


def test_scores_by_length_stand_beside(project):
    score.main(SYSTEM)
    with Path("data/score", SYSTEM, "by_length.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["part"] == "test"]
    assert [(row["bucket"], row["sentences"]) for row in rows] == [("1-2", "2"), ("5+", "2")]


def test_sentences_without_unknown_words_are_scored_beside_all(project):
    """The frequent words are chat dort du fromage la le lit, and the a bed cat cheese eats mouse: of the four
    sentences only the empty source has none that is unknown, and its reference has one; in `news` there are others."""
    with files.new_folder(Path("data/vocabulary/toy-bpe")) as folder:
        section = words.Words(kind="word", words=7, sentences=9, seed=1)
        words.train(section, *TEXTS, ("fr", "en"), folder, where="vocabularies.word")
    references, decoded = ["the cat", "the bed", "a cat", "the dog"], Path("data/decode", SYSTEM)
    files.write_lines(Path("data/split/toy/news.source.txt"), ["le chat dort", "le lit", "un chat", "le chat"])
    files.write_lines(Path("data/split/toy/news.target.txt"), references)
    files.write_lines(decoded / "news.txt", ["the UNK", "UNK", "a cat", "the dog"])
    for part, lines in {"news": ["the cat", "the cat"], "test": [], "compositional": []}.items():
        files.write_lines(decoded / "without_unknown" / f"{part}.txt", lines)
    score.main(SYSTEM)
    expected = corpus_scores(["the cat", "the cat"], references[:2], Scoring.load("score"))
    assert metrics()["news"] == metrics()["news"] | {
        "bleu_without_unknown": expected["bleu"],
        "chrf_without_unknown": expected["chrf"],
        "sentences_without_unknown": 2,
    }
    assert metrics()["test"]["sentences_without_unknown"] == 0


def test_translations_of_fewer_sentences_are_named(project):
    files.write_lines(Path("data/decode", SYSTEM, "test.txt"), HYPOTHESES[:3])
    with pytest.raises(DataError) as error:
        score.main(SYSTEM)
    message = f"data/decode/{SYSTEM}/test.txt has 3 lines, data/split/toy/test.target.txt 4: "
    assert str(error.value) == message + "the two files must be parallel"
    assert not Path("metrics").exists()
