import json
import math
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from pipeline import device, files, ids
from pipeline.decoding.invariant import InvariantSearch
from pipeline.decoding.translate import translate
from pipeline.decoding.translator import SourceLine, Translator, nested
from pipeline.files import DataError
from pipeline.kernels.prepacked import can_prepack
from pipeline.packaging import package
from pipeline.params import flatten
from pipeline.preparation.seen_words import SeenWords
from pipeline.system import System
from pipeline.vocabularies.vocabulary import Vocabulary
from pipeline.vocabularies.words import WordList
from tests.toys import networks, searches, systems
from tests.toys.processors import needs_bf16_products

DECODING = searches.DECODING.changed(max_length_factor=1.5, max_length_offset=5)
LINES = ["le chat noir", "", "une pomme rouge", "le chat dort"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a built system, to which the test goes."""
    systems.lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def translator(project):
    return Translator.built(System.parse(systems.SYSTEM))


def test_translates_as_its_network_does(project, translator):
    pieces = Vocabulary.load(project / "data/vocabulary/toy-bpe_toy")
    sources = pieces.encode_source(LINES)
    expected = translate(translator.model, sources, DECODING, torch.device("cpu"))
    found = translator.search(translator.read(LINES), DECODING)
    assert [hypotheses[0].ids for hypotheses in found] == expected
    assert [translator.text(hypotheses[0].ids) for hypotheses in found] == pieces.decode_target(expected)
    assert len({tuple(one) for one in expected}) == len(LINES)  # a network that tells sources apart
    assert not translator.model.training


def test_the_network_is_that_of_the_files(project, translator):
    weights = load_file(project / "runs" / systems.SYSTEM / "average/model.safetensors")
    assert all(torch.equal(weights[name], tensor) for name, tensor in translator.model.state_dict().items())


def test_what_was_trained_counts_whatever_params_yaml_says_now(project, translator):
    (project / "params.yaml").unlink()
    before = translator.search(translator.read(LINES), DECODING)
    assert Translator.built(System.parse(systems.SYSTEM)).search(translator.read(LINES), DECODING) == before


def test_a_memory_is_of_the_training_pairs(project, translator):
    decoding, sources = DECODING.changed(memory_pairs=4), translator.read(LINES)
    found, plain = translator.search(sources, decoding), translator.search(sources, DECODING)
    assert found != plain
    assert translator.search(sources, decoding) == found
    assert translator.search(sources, decoding.changed(memory_weight=0.0))[0][0].ids == plain[0][0].ids
    alike = Translator.ensemble([translator, Translator.built(System.parse(systems.SYSTEM))]).search(sources, decoding)
    assert [[one.ids for one in some] for some in alike] == [[one.ids for one in some] for some in found]


def test_a_memory_of_searches_that_mix_lengths_is_another(project, translator):
    """Its hidden vectors may be rounded otherwise; what depends on a line alone reads none of them."""
    decoding, sources = DECODING.changed(memory_pairs=4), translator.read(LINES)
    assert len(translator.translate(LINES, decoding, "toy", unknown=False)) == len(LINES)
    assert (len(translator.mixed_pairs.kept) > 0, len(translator.pairs.kept)) == (True, 0)
    found = translator.search(sources, decoding)
    assert found == Translator.built(System.parse(systems.SYSTEM)).search(sources, decoding)
    mixed, alone = translator.mixed_pairs.kept[0][0].hidden, translator.pairs.kept[0][0].hidden
    assert mixed.data_ptr() != alone.data_ptr()


def test_searches_of_several_threads_wait_for_each_other(project, translator, monkeypatch, set_threads):
    """Each takes all of torch's threads, whose number it changes meanwhile."""
    under_way, most, search = [], [], InvariantSearch.search

    def watched(*given):
        under_way.append(given)
        time.sleep(0.05)
        most.append(len(under_way))
        try:
            return search(*given)
        finally:
            under_way.pop()

    monkeypatch.setattr(InvariantSearch, "search", watched)
    set_threads(3)
    sources = translator.read(LINES)
    alone = translator.search(sources, DECODING)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: translator.search(sources, DECODING), range(8))) == [alone] * 8
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: torch.get_num_threads(), range(8))) == {3}
    assert set(most) == {1}


def test_without_training_pairs_there_is_no_memory(project, translator):
    shutil.rmtree(project / "data/encode")
    with pytest.raises(DataError) as error:
        translator.search(translator.read(LINES), DECODING.changed(memory_pairs=4))
    assert str(error.value) == (
        "data/encode/toy-bpe_toy/train: no training pairs to remember; "
        "expected `memory_pairs` 0, or a system that was packaged with more"
    )


def test_a_memory_needs_a_pair(project, translator):
    folder = project / "data/encode/toy-bpe_toy/train"
    for side in ("source", "target"):
        np.save(folder / f"{side}.ids.npy", np.empty(0, np.uint16))
        np.save(folder / f"{side}.offsets.npy", np.zeros(1, np.int64))
    with pytest.raises(DataError) as error:
        translator.search(translator.read(LINES), DECODING.changed(memory_pairs=4))
    where, most = "data/encode/toy-bpe_toy/train", systems.MAX_LENGTH - 1
    assert str(error.value) == f"{where}: no pair of 1 to {most} pieces; expected the training pairs"


def test_no_more_is_read_than_was_trained_on(translator):
    line = " ".join(["une pomme rouge"] * 9)
    [whole] = translator.vocabulary.encode_source([line])
    [source] = translator.read([line])
    assert source.is_cut
    assert source == SourceLine(whole[: systems.MAX_LENGTH - 1], len(whole))
    [short] = translator.read(["le chat"])
    assert not short.is_cut
    assert short.num_pieces == len(short.ids)


def test_unknown_is_what_has_no_known_piece(translator):
    known = {line: translator.knows(translator.read([line])[0]) for line in ("ξένος", "ξέ νος ξ", "le ξ", "", "x", "a")}
    assert known == {"ξένος": False, "ξέ νος ξ": False, "le ξ": True, "": False, "x": False, "a": True}


def test_unknown_words_are_told_too():
    words = WordList("fr", ["le", "chat"])
    translator = Translator(None, None, Vocabulary(words, words), SeenWords(), max_pieces=9, where=torch.device("cpu"))
    known = {line: translator.knows(translator.read([line])[0]) for line in ("chien noir", "le chien", "")}
    assert known == {"chien noir": False, "le chien": True, "": False}


def test_attention_is_a_record_of_the_pieces_read_and_written(translator):
    [source] = translator.read(["le chat"])
    [pieces] = translator.vocabulary.encode_target(["un ami"])
    record = translator.attention(7, source, [*pieces, ids.EOS])
    assert list(record) == ["line", "source", "target", "text", "weights"]
    assert (record["line"], record["text"]) == (7, "un ami")
    assert record["source"] == [*translator.vocabulary.source_pieces(source.ids), "</s>"]
    assert record["target"] == [*translator.vocabulary.target_pieces(pieces), "</s>"]
    heads = record["weights"]["cross 1"]
    assert (len(heads), len(heads[0]), len(heads[0][0])) == (4, len(record["target"]), len(record["source"]))
    assert math.isclose(sum(heads[0][0]), 1, abs_tol=0.002)
    assert json.loads(json.dumps(record)) == record


def test_the_likeliest_fits_the_length(translator):
    [source] = translator.read(["le chat"])
    assert len(translator.likeliest(source, 1)) == 1
    assert len(translator.likeliest(source, 4)) <= 4


@pytest.mark.parametrize("name", networks.NAMES)
def test_every_model_is_built_from_its_record(tmp_path, monkeypatch, name):
    system = systems.lay_out(tmp_path, name)
    monkeypatch.chdir(tmp_path)
    translator = Translator.built(System.parse(system))
    assert len(translator.search(translator.read(LINES), DECODING)) == len(LINES)


@pytest.mark.skipif(not can_prepack(torch.empty(1, 1)), reason="torch is built without oneDNN")
@pytest.mark.parametrize("has_bf16", [pytest.param(True, marks=needs_bf16_products), False])
def test_what_was_trained_in_bf16_translates_in_it_where_it_is_quick(project, translator, monkeypatch, has_bf16):
    """And each line on its own as among others."""
    path = project / "runs" / systems.SYSTEM / "train/training.json"
    path.write_text(path.read_text().replace('"fp32"', '"bf16"'))
    monkeypatch.setattr(device, "has_bf16", lambda where: has_bf16)
    again = Translator.built(System.parse(systems.SYSTEM))
    assert (translator.precision, again.precision) == ("fp32", "bf16" if has_bf16 else "fp32")
    expected, found = (one.search(one.read(LINES), DECODING) for one in (translator, again))
    assert (found == expected) is not has_bf16
    for [hypothesis], [before] in zip(found, expected, strict=True):
        assert hypothesis.score == pytest.approx(before.score, rel=0.1)
    assert [again.search(again.read([line]), DECODING)[0] for line in LINES] == found


def test_nested_undoes_flatten():
    whole = {"a": {"b": 1, "c": {"d": [2]}}, "e": None}
    assert nested(flatten(whole)) == whole


BUILD = f"`dvc repro average@{systems.SYSTEM}` builds"


def test_files_that_are_missing_are_named(project):
    (project / "runs" / systems.SYSTEM / "average/model.safetensors").unlink()
    with pytest.raises(DataError, match=f"^runs/{systems.SYSTEM}/average/model.safetensors: no such file; expected "):
        Translator.built(System.parse(systems.SYSTEM))
    (project / "runs" / systems.SYSTEM / "train/training.json").unlink()
    with pytest.raises(DataError) as caught:
        Translator.built(System.parse(systems.SYSTEM))
    assert str(caught.value) == f"runs/{systems.SYSTEM}/train/training.json: no such file; expected what {BUILD}"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "[]",
            "should be a valid dictionary or instance of TrainingForTranslator, got []; expected what the stage writes",
        ),
        ("{}", "vocabulary: field required; expected what the stage writes"),
        ("{", "not valid JSON, got line 1 column 2; expected what an earlier stage writes"),
        (
            '{"vocabulary": "", "precision": "fp32", "params": 3}',
            "params: should be a valid dictionary, got 3; expected what the stage writes",
        ),
    ],
)
def test_a_summary_that_is_none_is_named(project, text, what):
    (project / "runs" / systems.SYSTEM / "train/training.json").write_text(text)
    with pytest.raises(DataError) as caught:
        Translator.built(System.parse(systems.SYSTEM))
    assert str(caught.value) == f"runs/{systems.SYSTEM}/train/training.json: {what}"


def test_a_vocabulary_of_another_training_is_named(project):
    name = "data/vocabulary/toy-bpe_toy"
    path = project / name / "joint.model"
    path.write_bytes(path.read_bytes().replace(b"g", b"q"))
    with pytest.raises(DataError) as caught:
        Translator.built(System.parse(systems.SYSTEM))
    what = f"not the vocabulary that {systems.SYSTEM} was trained with"
    assert str(caught.value) == f"{name}: {what}; expected what {BUILD}"


def test_a_missing_vocabulary_is_named(project):
    shutil.rmtree(project / "data/vocabulary/toy-bpe_toy")
    with pytest.raises(DataError) as caught:
        Translator.built(System.parse(systems.SYSTEM))
    assert str(caught.value) == f"data/vocabulary/toy-bpe_toy: no such folder; expected what {BUILD}"


def test_no_memory_is_taken_for_a_network_that_its_weights_do_not_fit(project):
    path = project / "runs" / systems.SYSTEM / "train/training.json"
    summary = json.loads(path.read_text())
    summary["params"] |= {"arch.width": 65536, "arch.feed_forward": 65536, "arch.encoder_layers": 500}
    path.write_text(json.dumps(summary))
    with pytest.raises(DataError, match="weights of another network than this code's"):
        Translator.built(System.parse(systems.SYSTEM))


@pytest.mark.parametrize("name", ["interface", "nothing"])
def test_a_model_that_is_none_is_named(project, name):
    path = project / "runs" / systems.SYSTEM / "train/training.json"
    system = System.parse(systems.SYSTEM)
    with pytest.raises(DataError) as caught:
        Translator.assembled(
            name,
            {},
            vocabulary=system.vocabulary_folder,
            path=system.weights,
            precision="fp32",
            max_pieces=10,
            training_pairs=project,
            origin=path,
            expected="another",
        )
    assert str(caught.value) == f"{path}: unknown model, got {name!r}; expected another"


def test_weights_that_do_not_fit_are_named(project):
    path = project / "runs" / systems.SYSTEM / "average/model.safetensors"
    save_file({"weight": torch.zeros(3)}, path)
    with pytest.raises(DataError) as caught:
        Translator.built(System.parse(systems.SYSTEM))
    name = f"runs/{systems.SYSTEM}/average/model.safetensors"
    assert str(caught.value) == (
        f"{name}: weights of another network than this code's, without decoder.0.cross_attention.project_in.bias; "
        f"expected what {BUILD}"
    )
    path.write_bytes(b"weights")
    with pytest.raises(DataError) as caught:
        Translator.built(System.parse(systems.SYSTEM))
    what = "not a whole file of weights (Error while deserializing header: header too small)"
    assert str(caught.value) == f"{name}: {what}; expected what {BUILD}"


def test_a_network_of_an_earlier_version_is_named(project):
    path = project / "runs" / systems.SYSTEM / "train/training.json"
    path.write_text(path.read_text().replace('"arch.heads": 4', '"arch.hats": 4'))
    with pytest.raises(DataError) as caught:
        Translator.built(System.parse(systems.SYSTEM))
    name = f"runs/{systems.SYSTEM}/train/training.json"
    assert str(caught.value).startswith(f"{name}: arch.heads: is missing; {name}: arch.hats: unknown key;")
    assert str(caught.value).endswith(f"; expected what {BUILD}")


def test_an_ensemble_reads_no_more_than_any_member(project, translator):
    systems.lay_out(project, "rnn_encdec")
    other = Translator.built(System.parse("toy-bpe_toy-rnn_encdec-tiny"))
    other.max_pieces = translator.max_pieces - 2
    both = Translator.ensemble([translator, other])
    [source] = both.read([" ".join(["une pomme rouge"] * 9)])
    assert len(source.ids) == other.max_pieces
    assert [len(list(member.parameters())) for member in both.model.members] == [
        len(list(translator.model.parameters())),
        len(list(other.model.parameters())),
    ]
    assert not both.model.training
    assert translator.max_pieces == systems.MAX_LENGTH - 1  # the member itself is as before


def with_config(key, **values):
    """A forgery: other values of a key of config.json."""

    def forge(folder):
        config = files.read_json(folder / package.CONFIG)
        files.write_json(folder / package.CONFIG, config | {key: config[key] | values})

    return forge


def with_weights(change):
    """A forgery: other weights."""

    def forge(folder):
        weights = load_file(folder / package.WEIGHTS)
        change(weights)
        save_file(weights, folder / package.WEIGHTS)

    return forge


def with_vocabulary_of_seven(folder):
    path = folder / package.VOCABULARY / "vocabulary.json"
    files.write_json(path, files.read_json(path) | {"source_size": 7, "target_size": 7})


BIAS = "decoder.0.cross_attention.project_in.bias"


@pytest.mark.parametrize(
    ("forge", "what"),
    [
        (with_config("decoding", beam_size=0), "config.json: decoding.beam_size: should be greater than 0, got 0; "),
        (with_config("decoding", beam_size=10**9), "config.json: decoding.beam_size: should be less than or equal to "),
        (with_config("arch", width=65536), f"model.safetensors: weights of another network than this code's, {BIAS} "),
        (with_config("arch", encoder_layers=10**6), "config.json: arch.encoder_layers: should be less than or equal "),
        (with_weights(lambda all_: all_[BIAS].fill_(float("nan"))), f"model.safetensors: {BIAS} holds a number that "),
        (with_weights(lambda all_: all_.pop(BIAS)), "model.safetensors: weights of another network than this code's, "),
        (
            with_vocabulary_of_seven,
            "vocabulary: must have 7 source and 7 target pieces as vocabulary.json says, ",
        ),
    ],
)
def test_a_forged_package_with_right_checksums_is_refused_in_one_line(packaged, tmp_path, forge, what):
    folder = shutil.copytree(packaged, tmp_path / "model")
    Translator.load(folder)
    forge(folder)
    package.seal(folder)
    with pytest.raises(DataError) as refused:
        Translator.load(folder)
    assert str(refused.value).startswith(f"{folder}/{what}")
    assert "\n" not in str(refused.value)
