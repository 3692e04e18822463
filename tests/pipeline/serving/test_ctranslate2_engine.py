import shutil
import subprocess
import sys

import pytest
from pipeline.decoding.minimum_bayes_risk import ranking

from pipeline import files
from pipeline.files import DataError
from pipeline.packaging import package
from pipeline.serving import ctranslate2_engine, engines


def test_its_numbers_are_those_of_torch_for_the_same_translation(folders):
    ours = engines.load(folders["transformer_prenorm"], "torch", 1)
    theirs = engines.load(folders["transformer_prenorm"], "ctranslate2", 1)
    compared = 0
    for source in ours.vocabulary.encode_source(["le chat noir", "une pomme rouge", "dort", "la maison"]):
        [known], [found] = ours.search([source], 3), theirs.search([source], 3)
        scores = [one.log_p / theirs.decoding.penalty(one.length) for one in found]
        assert scores == sorted(scores, reverse=True)
        log_p = {tuple(one.ids): one for one in known}
        for one in found:
            if tuple(one.ids) in log_p:
                compared += 1
                assert one.length == log_p[tuple(one.ids)].length
                assert one.log_p == pytest.approx(log_p[tuple(one.ids)].log_p, abs=1e-3)
    assert compared >= 4


def test_greedily_its_numbers_are_those_of_torch(folders):
    """CTranslate2 has another search for a beam of 1; what torch does for it has the same beam."""
    ours, theirs = (engines.load(folders["transformer_prenorm"], kind, 1, None, 1) for kind in ("torch", "ctranslate2"))
    for source in ours.vocabulary.encode_source(["le chat noir", "une pomme rouge", "dort", "la maison"]):
        [[known]], [[found]] = ours.search([source], 1), theirs.search([source], 1)
        assert (found.ids, found.length) == (known.ids, known.length)
        assert found.log_p == pytest.approx(known.log_p, abs=1e-3)
    assert theirs.torch_engine.decoding == ours.decoding


def test_with_a_temperature_it_ranks_by_expected_bleu(folders):
    engine = engines.load(folders["transformer_prenorm"], "ctranslate2", 1)
    [source] = engine.vocabulary.encode_source(["le chat noir"])
    [plain] = engine.search([source], 3)
    scores = [one.log_p / engine.decoding.penalty(one.length) for one in plain]
    changed = []
    for temperature in (1e-3, 0.3, 100.0):
        engine.decoding = engine.decoding.changed(mbr_temperature=temperature)
        order = ranking([one.ids for one in plain], scores, temperature)
        [found] = engine.search([source], 3)
        assert [one.ids for one in found] == [plain[index].ids for index in order]
        assert [one.ids for one in engine.search([source], 1)[0]] == [found[0].ids]
        changed.append(order)
    assert changed[0] == [0, 1, 2] != changed[2]


def test_it_says_that_it_has_no_memory(folders, tmp_path, caplog):
    folder = shutil.copytree(folders["transformer_prenorm"], tmp_path / "model")
    config = files.read_json(folder / package.CONFIG)
    files.write_json(folder / package.CONFIG, config | {"decoding": config["decoding"] | {"memory_pairs": 4}})
    package.seal(folder)
    engines.load(folder, "ctranslate2", 1)
    assert caplog.messages == [f"{config['system']}: CTranslate2 has no memory of training pairs; expect lower scores"]


def test_a_line_that_may_have_no_piece_spoils_no_other(folders):
    """As torch does, it gets an empty translation."""
    engine = engines.load(folders["transformer_prenorm"], "ctranslate2", 1)
    short, long = engine.vocabulary.encode_source(["la", "une pomme rouge et le chat noir"])
    engine.decoding = engine.decoding.changed(max_length_factor=0.9 / len(short), max_length_offset=0)
    found = engine.search([short, long], 1)
    assert found[0] == [engines.Found([], 0.0, 0)]
    assert found[1][0].length > 0


def test_faults_of_its_files_are_one_line(folders, tmp_path):
    folder = shutil.copytree(folders["transformer_prenorm"], tmp_path / "model")
    config = files.read_json(folder / package.CONFIG)
    files.write_json(folder / package.CONFIG, config | {"decoding": config["decoding"] | {"beam_size": 0}})
    package.seal(folder)
    with pytest.raises(DataError, match=r"decoding\.beam_size: .*got 0; expected what the stage `package` wrote"):
        engines.load(folder, "ctranslate2", 1)
    path = tmp_path / "source_vocabulary.json"
    path.write_text('{"a": 1}')
    with pytest.raises(DataError) as caught:
        ctranslate2_engine.read_tokens(tmp_path, "source")
    assert str(caught.value) == f"{path}: is no list of tokens; expected what the stage `package` wrote"


def test_without_a_vocabulary_it_is_one_line(tmp_path):
    with pytest.raises(DataError) as caught:
        ctranslate2_engine.read_tokens(tmp_path, "source")
    expected = "got no shared_vocabulary.json or source_vocabulary.json; expected what the stage `package` wrote"
    assert str(caught.value) == f"{tmp_path}: has no vocabulary, {expected}"


def test_recurrent_models_are_refused(folders):
    folder = folders["rnnsearch"]
    with pytest.raises(DataError) as error:
        engines.load(folder, "ctranslate2-int8", 1)
    assert str(error.value) == f"{folder}: no form for CTranslate2, got rnnsearch; expected a Transformer, or torch"


def test_torch_is_not_loaded_for_it(folders, project_root):
    code = (
        "import sys; from pathlib import Path; from pipeline.serving import engines; "
        f"engine = engines.load(Path({str(folders['transformer_prenorm'])!r}), 'ctranslate2', 1); "
        "assert engine.translate(['le chat'], 1)[0][0].text; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project_root, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
