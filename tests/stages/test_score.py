"""Stages score and package: sacrebleu's numbers, lengths, unknown words; a package that translates elsewhere."""

import json
import subprocess
import sys
from pathlib import Path

import ctranslate2
import pytest

from pipeline.common import files, parts
from pipeline.common.files import DataError
from pipeline.common.system import System
from pipeline.evaluation.scores import UNMATCHABLE, caveats, without_unknown
from pipeline.evaluation.settings import Scoring
from pipeline.packaging import loading, sealed
from stages import score
from tests.toys.project import SYSTEMS

SYSTEM = System.parse(SYSTEMS[1])
SOURCES = ["un chat", "", "le chat dort sur le lit", "la souris mange du fromage"]
REFERENCES = ["a cat", "nothing", "the cat sleeps on the bed", "the mouse eats some cheese"]
HYPOTHESES = ["a cat", "", "the cat sleeps in the bed", "the mouse eats cheese"]


@pytest.fixture
def translated(project):
    """The project with four readable translations."""
    for path, lines in (
        (SYSTEM.split / "test.source.txt", SOURCES),
        (SYSTEM.split / "test.target.txt", REFERENCES),
        (SYSTEM.decoded / "test.txt", HYPOTHESES),
    ):
        files.write_lines(path, lines)
    return project


def test_scores_are_those_of_sacrebleu_with_its_signature(translated, capsys):
    score.main(SYSTEM.id)
    assert "diagnosis of training  " in capsys.readouterr().err
    command = [sys.executable, "-m", "sacrebleu", SYSTEM.split / "test.target.txt", "-m", "bleu", "chrf", "-w", "4"]
    answers = json.loads(subprocess.check_output([*command, "-i", SYSTEM.decoded / "test.txt"]))
    metrics, details = files.read_json(SYSTEM.metrics), files.read_json(SYSTEM.scored / "scores.json")["test"]
    assert list(metrics) == ["validation", "test", "compositional"]
    for name, answer in zip(("bleu", "chrf"), answers, strict=True):
        assert metrics["test"][name] == details[name]["score"] == answer["score"]
        assert details[name]["signature"] == answer["signature"]


def test_sentences_without_unknown_words_are_scored_beside_all(translated):
    """Of the four pairs only the first and the third have none."""
    known = {"source": "un chat le dort sur lit", "target": "a cat the sleeps on bed"}
    with files.new_folder(SYSTEM.vocabulary_folder) as folder:
        for (side, words), language in zip(known.items(), ("fr", "en"), strict=True):
            files.write_json(folder / f"{side}.words.json", {"language": language, "words": words.split()})
    translations = ["a cat", "the cat sleeps"]
    for part, lines in {"test": translations, "compositional": []}.items():
        files.write_lines(SYSTEM.decoded / "without_unknown" / f"{part}.txt", lines)
    score.main(SYSTEM.id)
    expected = without_unknown(translations, [REFERENCES[::2]], Scoring.load("score").of("test", "en"))
    assert expected.items() <= files.read_json(SYSTEM.metrics)["test"].items()
    assert expected["sentences_without_unknown"] == 2


def test_references_that_no_translation_can_equal_are_counted(translated):
    """A blank one, decomposed accents and a direction mark; the file stays as it was published."""
    files.write_lines(parts.paths(SYSTEM.split, "test")[1], ["", *REFERENCES[1:3], "the mouse e\u0301 \u200feats"])
    score.main(SYSTEM.id)
    scored = files.read_json(SYSTEM.metrics)
    assert scored["test"][UNMATCHABLE] == 2
    assert UNMATCHABLE not in scored["compositional"]
    reasons = files.read_json(SYSTEM.scored / "unmatchable.json")
    assert reasons == {"test": {"1": "blank", "4": "not in Unicode NFC"}, "compositional": {}}
    assert [caveat[:41] for caveat in caveats(scored)] == ["2 references of test cannot be matched by"]


def test_translations_of_fewer_sentences_are_named(translated):
    before = SYSTEM.metrics.read_bytes()
    files.write_lines(SYSTEM.decoded / "test.txt", HYPOTHESES[:3])
    with pytest.raises(DataError, match=r"/test.txt has 3 lines, data/split/toy/test.target.txt 4: the two files must"):
        score.main(SYSTEM.id)
    assert SYSTEM.metrics.read_bytes() == before


def test_a_package_translates_elsewhere_as_the_stage_did(project, tmp_path, monkeypatch):
    translations, sources = SYSTEM.decoded / "test.txt", list(files.read_lines(SYSTEM.split / "test.source.txt"))
    expected = list(files.read_lines(translations))
    config = sealed.read(SYSTEM.packaged)
    assert config.scores["test"]["bleu"] == files.read_json(SYSTEM.metrics)["test"]["bleu"]
    assert config.decoding == files.read_json(SYSTEM.decoded / "decode.json")
    elsewhere = SYSTEM.packaged.rename(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    assert loading.load(elsewhere).translate(sources) == expected
    form = ctranslate2.Translator(str(elsewhere / sealed.CTRANSLATE2), compute_type="int8")
    assert form.translate_batch([["▁le"]])
    assert Path("model/README.md").stat().st_size
