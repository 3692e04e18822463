"""The engines give what `nmt translate` gives, by torch to the byte, by CTranslate2 for nearly all lines."""

from pathlib import Path

import pytest

from pipeline.packaging import loading
from pipeline.serving.engines import Engine
from tests.toys import packages

LINES = ["le chat noir", "dort", "le chat noir dort", "une pomme", "la maison blanche"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """A packaged Transformer and a packaged recurrent model."""
    with pytest.MonkeyPatch.context() as patch:
        root = tmp_path_factory.mktemp("project")
        patch.chdir(root)
        return {model: packages.build(root, model) for model in ("transformer_prenorm", "rnnsearch")}


@pytest.mark.parametrize("model", ["transformer_prenorm", "rnnsearch"])
def test_torch_gives_the_lines_of_nmt_translate(folders, model):
    answers = Engine(folders[model], "torch", 1).translate(LINES, 3)
    assert [best for (best, _), *_ in answers] == loading.load(folders[model]).translate(LINES)
    for ranked in answers:
        assert 0 < ranked[0][1] <= 1


def test_ctranslate2_finds_the_same(folders):
    exact, quick = (Engine(folders["transformer_prenorm"], kind, 1) for kind in ("torch", "ctranslate2"))
    texts = ([best for (best, _), *_ in engine.translate(LINES, 2)] for engine in (exact, quick))
    assert next(texts) == next(texts)


def test_int8_answers_every_line(folders):
    """Not the same: without instructions for int8, sums of this untrained model overflow (of trained ones, hardly)."""
    answers = Engine(folders["transformer_prenorm"], "ctranslate2-int8", 1).translate(LINES, 2)
    assert len(answers) == len(LINES)
    assert all(text and 0 < confidence <= 1 for (text, confidence), *_ in answers)


def test_a_recurrent_model_is_run_by_torch(folders):
    assert Engine(folders["rnnsearch"], "ctranslate2", 1).kind == "torch"


@pytest.mark.parametrize("kind", ["torch", "ctranslate2"])
def test_attention_is_of_the_best_translation(folders, kind):
    engine = Engine(folders["transformer_prenorm"], kind, 1)
    record, empty = engine.attention([LINES[0], ""])
    assert record["text"] == engine.translate(LINES[:1], 1)[0][0][0]
    assert len(record["weights"]["cross 1"][0]) == len(record["target"])
    assert empty["weights"] == {}
