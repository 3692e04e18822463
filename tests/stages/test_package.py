"""`python -m stages.package <corpus> <vocabulary> <model> <size>` with a random model."""

import os
import subprocess
import sys

import ctranslate2
import pytest

from pipeline import files
from pipeline.decoding.translator import Translator
from pipeline.packaging import package as packages
from pipeline.system import System
from stages import package
from tests.toys import packages as toys
from tests.toys import systems


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The folder with the built systems, to which the test goes."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_command(project, project_root):
    system = toys.lay_out(project)
    command = [sys.executable, "-m", "stages.package", *system.split("-")]
    dead = "sqlite:////dev/null/mlflow.db"
    environment = os.environ | {"PYTHONPATH": str(project_root), "MLFLOW_TRACKING_URI": dead}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["tracking"]  # the store is dead, said once
    out = project / "models" / system
    first = contents(out)
    assert sorted(first) == [
        "README.md",
        "checksums.json",
        "config.json",
        "ctranslate2/config.json",
        "ctranslate2/model.bin",
        "ctranslate2/shared_vocabulary.json",
        "model.safetensors",
        "vocabulary.seen_words.txt",
        "vocabulary/joint.model",
        "vocabulary/vocabulary.json",
    ]
    with toys.untracked():
        package.main(*system.split("-"))
    assert contents(out) == first


def test_what_config_json_says(project):
    folder = toys.build(project)
    config = packages.read(folder)
    assert config.system == systems.SYSTEM
    assert (config.corpus, config.vocabulary, config.model, config.size) == System.parse(systems.SYSTEM)[:4]
    assert (config.source_language, config.target_language, config.licence) == ("fr", "en", "CC0, mine")
    assert (config.max_source_pieces, config.num_parameters) == (systems.MAX_LENGTH - 1, 1234)
    assert config.decoding == toys.DECODING
    assert config.validation == {"validation_loss": 0.5, "validation_bleu": 81.5}
    assert config.scores == {"test": {"bleu": 41.26}}


@pytest.mark.parametrize("model", ["rnn_encdec", "transformer_postnorm"])
def test_it_translates_elsewhere_as_the_built_system_does(project, tmp_path_factory, monkeypatch, model):
    folder = toys.build(project, model)
    built = Translator.built(System.parse(folder.name))
    elsewhere = folder.rename(tmp_path_factory.mktemp("elsewhere") / "model")
    monkeypatch.chdir(elsewhere.parent)
    translator = Translator.load(elsewhere)
    lines = systems.PARTS["test"]
    found = built.search(built.read(lines), translator.decoding)
    assert translator.best(lines) == [built.text(hypotheses[0].ids) for hypotheses in found]
    assert (elsewhere / "ctranslate2").exists() == model.startswith("transformer")


def test_a_memory_takes_its_pairs_along(project, tmp_path_factory, monkeypatch):
    system = toys.lay_out(project)
    files.write_json(project / "data/decode" / system / "decode.json", toys.DECODING | {"memory_pairs": 2})
    with toys.untracked():
        package.main(*system.split("-"))
    built, lines = Translator.built(System.parse(system)), systems.PARTS["test"]
    elsewhere = (project / "models" / system).rename(tmp_path_factory.mktemp("elsewhere") / "model")
    assert "`memory/` holds the training pairs themselves" in (elsewhere / "README.md").read_text()
    translator = Translator.load(elsewhere)
    found = built.search(built.read(lines), translator.decoding)
    assert translator.decoding.memory_pairs == 2
    monkeypatch.chdir(elsewhere.parent)
    assert translator.best(lines) == [built.text(hypotheses[0].ids) for hypotheses in found]
    plain = translator.search(translator.read(lines), translator.decoding.changed(memory_pairs=0))
    assert translator.best(lines) != [built.text(hypotheses[0].ids) for hypotheses in plain]


def test_ctranslate2_can_read_its_form(project):
    folder = toys.build(project)
    translator = ctranslate2.Translator(str(folder / packages.CTRANSLATE2), compute_type="int8")
    assert translator.translate_batch([["▁le"]])
