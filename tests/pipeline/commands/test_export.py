from pathlib import Path

import ctranslate2
import pytest

from pipeline.common.system import System
from pipeline.decoding.translator import Translator
from tests.toys import systems
from tests.toys.searches import DECODING
from tests.toys.systems import SYSTEM


def test_a_folder_that_ctranslate2_translates_with(run, project):
    """A line in pieces gives the pieces of `nmt translate`, by greedy search."""
    said = run("export", "--system", SYSTEM)
    assert (said.status, said.out, said.err) == (0, f"work/export/{SYSTEM}\n", "")
    line = "une pomme rouge"
    translator = Translator.built(System.parse(SYSTEM))
    source = translator.read(line, "sentence")
    pieces = translator.vocabulary.source_pieces(source)
    [found] = ctranslate2.Translator(f"work/export/{SYSTEM}").translate_batch(
        [pieces],
        beam_size=1,
        max_decoding_length=int(1.5 * len(pieces)) + 5,
        min_decoding_length=0,
        suppress_sequences=[["<pad>"], ["<unk>"], ["<s>"]],
    )
    [[(expected, _)]] = translator.search(
        [source], DECODING.changed(beam_size=1, max_length_factor=1.5, max_length_offset=5), 1
    )
    assert found.hypotheses[0] == translator.vocabulary.target_pieces(expected)


def test_quantized_into_a_folder_of_ones_own_twice(run, project):
    sizes = []
    for quantization in ("float32", "int8"):
        said = run("export", "--system", SYSTEM, "--out", "a/model", "--quantization", quantization)
        assert (said.status, said.out) == (0, "a/model\n")
        sizes.append(Path("a/model/model.bin").stat().st_size)
        assert ctranslate2.Translator("a/model").translate_batch([["▁"]])
    assert sizes[1] < sizes[0]
    assert [path.name for path in Path("a").iterdir()] == ["model"]


@pytest.mark.parametrize("out", [".", "mine"])
def test_files_of_others_are_not_replaced(fails, project, out):
    (project / "mine").mkdir()
    (project / "mine/letter.txt").write_text("dear")
    assert fails("export", "--system", SYSTEM, "--out", out) == (
        f"--out: holds something else, got {out!r}; expected a new folder, or an exported model"
    )
    assert (project / "mine/letter.txt").read_text() == "dear"
    assert (project / "params.yaml").exists()


def test_a_recurrent_model_says_so_and_leaves_nothing(fails, project):
    system = systems.lay_out(project, "rnn_encdec")
    assert fails("export", "--system", system) == (
        "ctranslate2: runs Transformers only, got rnn_encdec; expected a Transformer"
    )
    assert not list((project / "work/export").iterdir())


def test_a_packaged_system_is_exported_anywhere(run, packaged, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("export", "--model", str(packaged), "--format", "argos")
    assert (said.status, said.out) == (0, f"work/export/{packaged.name}.argosmodel\n")
    assert run("export").err == (
        "error: --system, --model: must be one of the two; expected a system built here, or a packaged folder\n"
    )
