"""An .argosmodel holds what Argos Translate reads, and translates there as here."""

import json
import zipfile

import ctranslate2
import pytest
import sentencepiece

from pipeline.common.system import System
from pipeline.decoding.translator import Translator
from pipeline.packaging import argos, ctranslate2_form
from tests.toys import systems
from tests.toys.searches import DECODING


@pytest.fixture
def exported(tmp_path, monkeypatch):
    """The file of a random Transformer, and its translator."""
    monkeypatch.chdir(tmp_path)
    system = System.parse(systems.lay_out(tmp_path))
    translator = Translator.built(system)
    path = tmp_path / "toy.argosmodel"
    argos.save(translator.model, system.vocabulary_folder, path, source="fr", target="en")
    return path, translator


def test_it_has_the_parts_that_argos_reads(exported, tmp_path):
    path, translator = exported
    with zipfile.ZipFile(path) as zipped:
        zipped.extractall(tmp_path)
    [root] = tmp_path.glob("translate-fr_en*")
    metadata = json.loads((root / "metadata.json").read_text())
    assert (metadata["from_code"], metadata["to_name"]) == ("fr", "English")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(root / "sentencepiece.model"))
    network = ctranslate2.Translator(str(root / "model"))
    read = pieces.encode("le chat noir", out_type=str)
    never = [["<pad>"], ["<unk>"], ["<s>"]]
    [found] = network.translate_batch([read], beam_size=1, max_decoding_length=9, suppress_sequences=never)
    settings = DECODING.changed(beam_size=1, max_length_factor=0.0, max_length_offset=9)
    assert [pieces.decode(found.hypotheses[0])] == translator.translate(["le chat noir"], settings)


def test_what_argos_cannot_read_is_refused(exported, tmp_path):
    _, translator = exported
    with pytest.raises(ctranslate2_form.ExportError, match="one vocabulary of subwords for both languages"):
        argos.save(translator.model, tmp_path, tmp_path / "x.argosmodel", source="fr", target="en")


@pytest.mark.slow
def test_argos_translate_installs_it_and_translates(exported, tmp_path, monkeypatch):
    """With a splitter of our own: its own ones come from the network."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    translate = pytest.importorskip("argostranslate.translate", reason="no Argos Translate: pip install argostranslate")
    from argostranslate import package

    path, _ = exported
    package.install_from_path(path)
    [installed] = package.get_installed_packages()

    class OneSentence:
        def split_sentences(self, text):
            return [text]

    network = ctranslate2.Translator(str(installed.package_path / "model"))
    best, *_ = translate.apply_packaged_translation(installed, "le chat noir", network, OneSentence(), 2)
    assert best.value
