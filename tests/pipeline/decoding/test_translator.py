import json
import math
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from pipeline.common import files
from pipeline.common.files import DataError
from pipeline.common.system import System
from pipeline.compute import device, ids
from pipeline.decoding.glossary import Glossary
from pipeline.decoding.search import search
from pipeline.decoding.translator import Translator
from pipeline.layers.kernels.prepacked import can_prepack
from pipeline.packaging import loading, package, sealed
from pipeline.vocabularies.vocabulary import Vocabulary
from tests.toys import networks, searches, systems
from tests.toys.networks import needs_bf16_products

DECODING = searches.DECODING.changed(max_length_factor=1.5, max_length_offset=5)
LINES = ["le chat noir", "", "une pomme rouge", "le chat dort"]
CPU = torch.device("cpu")
SYSTEM = System.parse(systems.SYSTEM)
BUILD = f"what `dvc repro average@{SYSTEM.id}` builds"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a built system, to which the test goes."""
    systems.lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def translator(project):
    return Translator.built(SYSTEM)


def test_translates_as_its_network_does(project, translator):
    pieces = Vocabulary.load(SYSTEM.vocabulary_folder)
    expected = ["" for _ in LINES]
    for index, [best] in search(translator.model, pieces.encode_source(LINES), DECODING, CPU):
        [expected[index]] = pieces.decode_target([best.ids])
    assert translator.translate(LINES, DECODING) == expected
    assert len(set(expected)) == len(LINES)  # a network that tells sources apart


def test_what_was_trained_counts_whatever_params_yaml_says_now(project, translator):
    (project / "params.yaml").unlink()
    weights = load_file(SYSTEM.weights)
    again = Translator.built(SYSTEM).model.state_dict()
    assert all(torch.equal(weights[name], tensor) for name, tensor in again.items())


def test_a_longer_line_than_was_trained_on_is_translated_in_parts(translator, capsys):
    parts = ["une pomme rouge avec", "un chat noir et blanche"]
    line = " ".join(parts)
    [whole] = translator.vocabulary.encode_source([line])
    assert translator.read(line, "here") == whole[: systems.MAX_LENGTH - 1]
    assert capsys.readouterr().err.startswith(f"warning: here: longer than in training, got {len(whole)} pieces; only")
    assert translator.translate([line], DECODING) == [" ".join(translator.translate(parts, DECODING))]
    best, second = translator.ranked([line], DECODING, 2)[0]
    assert best[1] > second[1]


def test_what_no_piece_spells_comes_back(translator):
    said = translator.translate(["42 …", "ξένος", "😀 le chat", "le chat"], DECODING)
    assert said == ["42 …", "ξένος", f"😀 {said[3]}", said[3]]


def test_a_tag_costs_no_word(translator):
    plain, tagged, *rest = translator.translate(["le chat noir", "<b>le</b> chat {x} noir", "<i>", "le <b>"], DECODING)
    assert tagged.count("<b>") == tagged.count("</b>") == tagged.count("{x}") == 1
    words = tagged.replace("<b>", "").replace("</b>", "").replace("{x}", " ").split()
    assert "".join(words) == plain.replace(" ", "")
    assert (rest[0], rest[1].count("<b>")) == ("<i>", 1)
    assert translator.read("<b>le</b> chat {x} noir", "here") == translator.read("le chat noir", "here")


@pytest.mark.parametrize("names", [["transformer_prenorm"], ["rnn_encdec"], ["rnn_encdec", "transformer_prenorm"]])
def test_a_term_is_there_once_and_lines_without_one_stay(project, names):
    systems.lay_out(project, "rnn_encdec")
    members = [Translator.built(System.parse(f"toy-bpe_toy-{name}-tiny-1")) for name in names]
    translator = members[0] if len(names) == 1 else Translator.ensemble(members)
    lines = [*LINES, "le <b>chien</b> {x} dort", "ξένος", "😀 le Chat"]
    plain = translator.translate(lines, DECODING)
    (project / "terms.tsv").write_text("chien\tQQ\nchat\tZZ\nami\tXX\n")
    translator.glossary = Glossary(project / "terms.tsv")
    said = translator.translate([*lines, "ami", "le chat et un ami"], DECODING)
    for before, after, term in zip(plain, said, ["ZZ", "", "", "ZZ", "QQ", "", ""], strict=False):
        assert after.count(term) == 1 if term else after == before
    assert said[4].count("{x}") == said[4].count("<b>") == said[4].count("</b>") == 1
    assert (said[-2], said[-1].count("ZZ"), said[-1].count("XX")) == ("XX", 1, 1)


def test_attention_is_a_record_of_the_pieces_read_and_written(translator):
    source = translator.read("le chat", "here")
    [pieces] = translator.vocabulary.encode_target(["un ami"])
    record = translator.attention(7, source, [*pieces, ids.EOS])
    assert (record["line"], record["text"]) == (7, "un ami")
    assert record["source"] == [*translator.vocabulary.source_pieces(source), "</s>"]
    assert record["target"] == [*translator.vocabulary.target_pieces(pieces), "</s>"]
    heads = record["weights"]["cross 1"]
    assert (len(heads), len(heads[0]), len(heads[0][0])) == (4, len(record["target"]), len(record["source"]))
    assert math.isclose(sum(heads[0][0]), 1, abs_tol=0.002)
    assert json.loads(json.dumps(record)) == record


@pytest.mark.parametrize("name", networks.NAMES)
def test_every_model_is_built_from_its_record(tmp_path, monkeypatch, name):
    system = systems.lay_out(tmp_path, name)
    monkeypatch.chdir(tmp_path)
    assert len(Translator.built(System.parse(system)).translate(LINES, DECODING)) == len(LINES)


@pytest.mark.skipif(not can_prepack(torch.empty(1, 1)), reason="torch is built without oneDNN")
@pytest.mark.parametrize("has_bf16", [pytest.param(True, marks=needs_bf16_products), False])
def test_what_was_trained_in_bf16_translates_in_it_where_it_is_quick(project, translator, monkeypatch, has_bf16):
    """And each line on its own as among others."""
    training = files.read_json(SYSTEM.training_summary)
    files.write_json(SYSTEM.training_summary, training | {"precision": "bf16"})
    monkeypatch.setattr(device, "has_bf16", lambda where: has_bf16)
    again = Translator.built(SYSTEM)
    assert (translator.precision, again.precision) == ("fp32", "bf16" if has_bf16 else "fp32")
    sources = translator.vocabulary.encode_source(LINES)
    expected, found = (one.search(sources, DECODING) for one in (translator, again))
    assert (found == expected) is not has_bf16
    assert [one.score for (one,) in found] == pytest.approx([one.score for (one,) in expected], rel=0.1)
    assert [again.search([source], DECODING)[0] for source in sources] == found


def test_an_ensemble_shares_a_vocabulary_and_reads_no_more_than_any_member(project, translator):
    other = Translator.built(System.parse(systems.lay_out(project, "rnn_encdec")))
    other.max_pieces -= 2
    both = Translator.ensemble([translator, other])
    assert len(both.read(systems.WORDS, "here")) == other.max_pieces < translator.max_pieces
    assert both.translate(LINES, DECODING) != translator.translate(LINES, DECODING)
    other.vocabulary.digest = "another"
    with pytest.raises(DataError, match="an ensemble must share one vocabulary, got different ones; expected systems"):
        Translator.ensemble([translator, other])


@pytest.mark.parametrize("path", [SYSTEM.weights, SYSTEM.training_summary, SYSTEM.vocabulary_folder])
def test_what_is_missing_is_named(project, path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(DataError) as caught:
        Translator.built(SYSTEM)
    assert str(caught.value) == f"{path}: no such file; expected {BUILD}"


def test_a_vocabulary_of_another_training_is_named(project):
    path = SYSTEM.vocabulary_folder / "joint.model"
    path.write_bytes(path.read_bytes().replace(b"g", b"q"))
    with pytest.raises(DataError) as caught:
        Translator.built(SYSTEM)
    what = f"not the vocabulary that {SYSTEM.id} was trained with"
    assert str(caught.value) == f"{SYSTEM.vocabulary_folder}: {what}; expected {BUILD}"


def test_a_network_of_an_earlier_version_is_named(project):
    path = SYSTEM.training_summary
    path.write_text(path.read_text().replace('"heads": 4', '"hats": 4'))
    with pytest.raises(DataError) as caught:
        Translator.built(SYSTEM)
    assert str(caught.value).startswith(f"{path}: arch.heads: is missing; {path}: arch.hats: unknown key;")


def with_config(key, **values):
    """A forgery: other values of a key of config.json."""

    def forge(folder):
        config = files.read_json(folder / sealed.CONFIG)
        files.write_json(folder / sealed.CONFIG, config | {key: config[key] | values})

    return forge


def with_weights(change):
    """A forgery: other weights."""

    def forge(folder):
        weights = load_file(folder / sealed.WEIGHTS)
        change(weights)
        save_file(weights, folder / sealed.WEIGHTS)

    return forge


def with_another_model(folder):
    config = files.read_json(folder / sealed.CONFIG)
    files.write_json(folder / sealed.CONFIG, config | {"model": "interface"})


BIAS = "decoder.0.cross_attention.project_in.bias"


@pytest.mark.parametrize(
    ("forge", "what"),
    [
        (with_another_model, "config.json: unknown model, got 'interface'; expected a model of this version"),
        (with_config("decoding", beam_size=10**9), "config.json: decoding.beam_size: should be less than or equal to "),
        (with_config("arch", width=65536), f"model.safetensors: weights of another network than this code's, {BIAS} "),
        (with_config("arch", encoder_layers=10**6), "config.json: arch.encoder_layers: should be less than or equal "),
        (with_weights(lambda all_: all_[BIAS].fill_(float("nan"))), f"model.safetensors: {BIAS} holds a number that "),
        (with_weights(lambda all_: all_.pop(BIAS)), "model.safetensors: weights of another network than this code's, "),
    ],
)
def test_a_forged_package_with_right_checksums_is_refused_in_one_line(packaged, tmp_path, forge, what):
    folder = shutil.copytree(packaged, tmp_path / "model")
    forge(folder)
    package.seal(folder)
    with pytest.raises(DataError) as refused:
        loading.load(folder)
    assert str(refused.value).startswith(f"{folder}/{what}")
    assert "\n" not in str(refused.value)
