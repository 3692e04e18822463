"""Outputs of the stages before `report` for a small corpus, its numbers chosen by hand."""

import csv
import json
from pathlib import Path

from pipeline.common import files
from pipeline.common.system import System

PARAMS = """
build:
  corpora: [toy]
  vocabularies: [bpe]
  models: [%s]
  sizes: [tiny]
  seeds: [%s]
report: {sentences: 3, extremes: 1, seed: 1}
"""
SCORING = {"metrics": ["bleu", "chrf"], "tokenize": "auto", "references": {}, "external": {}, "length_buckets": [3]}
SCORING |= {"bootstrap_samples": 40, "seed": 1}
SOURCES = ["Le chat <b> dort .", "Il mange une pomme verte .", "Oui !", "Où est la gare ?"]
REFERENCES = ["The cat <b> sleeps .", "He eats a green apple .", "Yes !", "Where is the station ?"]
TRANSLATIONS = {
    "good": ["The cat <b> sleeps .", "He eats an apple green .", "Yes !", "Where is the station ?"],
    "poor": ["The dog <b> sleeps .", "He has a green car .", "", "Where is a station now ?"],
}
WEIGHTS = {"encoder 1": [[[0.5, 0.5], [0.25, 0.75]]] * 2, "cross 1": [[[1.0, 0.0]]], "cross 2": [[[0.2, 0.8]]]}
ATTENDED = {"source": ["▁Oui", "</s>"], "target": ["</s>"], "text": "Yes !"}
FILES = {"train": [{"address": "my/x.fr", "sha256": "f00d", "bytes": 12}], "test": []}
DROPPED = {"empty": 3, "too_long": 0, "duplicate": 7}
LEAKS = {"exact_source": 1, "exact_target": 2, "near_source": 0, "near_target": 0, "dropped": 2}

OWN = {
    "read": 60,
    "cleaning": {"empty": 2, "too_long": 0, "duplicate": 5},
    "dropped": {"exact": 1, "near": 2},
    "pairs": 45,
}


def write_project(root: Path, scores: dict[str, list[float]]) -> Path:
    """Write the files of each system, by model, with these BLEU scores, one a seed, for the stage `report` to read."""
    seeds = len(next(iter(scores.values())))
    (root / "params.yaml").write_text(PARAMS % (", ".join(scores), ", ".join(map(str, range(1, seeds + 1)))))
    counts = {"train": 90, "test": 4}
    tokens = {"source_tokens": 500, "target_tokens": 450, "source_unknown": 1, "target_unknown": 0}
    cleaning = {"source_language": "fr", "target_language": "en", "read": 100, "kept": 90, "dropped": DROPPED}
    files.write_json(root / "data/clean/toy/clean.json", cleaning)
    split = {"files": FILES, "pairs": counts, "leakage": {"train/test": LEAKS}, "bitexts": {"own": OWN, "web": OWN}}
    files.write_json(root / "data/split/toy.json", split)
    files.write_json(
        root / "data/encode/toy-bpe/encode.json", {part: {"pairs": n, **tokens} for part, n in counts.items()}
    )
    files.write_lines(root / "data/split/toy/test.source.txt", SOURCES)
    files.write_lines(root / "data/split/toy/test.target.txt", REFERENCES)
    for model, bleu in scores.items():
        write_system(root, System("toy", "bpe", model, "tiny", 1), bleu[0])
        for seed, score in enumerate(bleu[1:], 2):
            path = root / System("toy", "bpe", model, "tiny", seed).metrics
            files.write_json(path, {"test": {"bleu": score, "chrf": 80.0}})
    return root


def write_system(root: Path, system: System, bleu: float) -> None:
    """Write the files of one system with one seed."""
    details = {"bleu": {"score": bleu, "signature": "tok:13a"}, "chrf": {"score": 80.0, "signature": "nc:6"}}
    files.write_json(root / system.scored / "scores.json", {"test": details})
    files.write_json(root / system.scored / "score.json", SCORING)
    files.write_json(root / system.metrics, {"validation": {"loss": 1.25}, "test": {"bleu": bleu, "chrf": 80.0}})
    rows = [("test", "1-3", 1, bleu, 80.0), ("test", "4+", 3, bleu - 10, 70.0)]
    diagnosis = {"training": ["nothing unusual"], "test": ["length: 9 % & more", "unknown: 1 %"]}
    files.write_json(root / system.scored / "unmatchable.json", {"test": {"3": "blank"}})
    files.write_json(root / system.scored / "diagnosis.json", diagnosis)
    write_csv(root / system.scored / "by_length.csv", ["part", "bucket", "sentences", "bleu", "chrf"], rows)
    curves = [(100, 4.0, "", 0.01), (200, 1.25, 60.0, 0.02)]
    columns = ["update", "validation_loss", "validation_bleu", "learning_rate"]
    write_csv(root / system.trained / "curves.csv", columns, curves)
    write_csv(root / system.trained / "train_loss.csv", ["update", "train_loss"], [(10, 7.5), (20, 6.25)])
    portion = {"pairs": 45, "weight": 1.0, "share": 0.25, "passes": 2.5}
    mixture = {"own": portion | {"weight": 3.0, "share": 0.75, "passes": 7.5}, "web": portion}
    training = {"mixture": mixture, "updates": 300, "stopped": "patience", "padding_share": 0.05}
    training |= {"best": {"update": 200, "validation_loss": 1.25, "validation_bleu": 60.0}, "num_parameters": 12345}
    files.write_json(root / system.training_summary, training)
    files.write_json(root / system.averaged / "average.json", {"checkpoints": ["a", "b"]})
    files.write_lines(root / system.decoded / "test.txt", TRANSLATIONS.get(system.model, TRANSLATIONS["good"]))
    weights = {} if system.model == "blind" else WEIGHTS
    (root / system.attended).mkdir(parents=True)
    (root / system.attended / "test.json").write_text(json.dumps([{"line": 3, **ATTENDED, "weights": weights}]))


def write_csv(path: Path, header: list[str], rows: list[tuple[object, ...]]) -> None:
    """Write a table."""
    with files.new_file(path) as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
