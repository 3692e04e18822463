"""A package whose checksums are right may still be made to harm: each fault is one line, and nothing is computed."""

import shutil

import pytest
from safetensors.torch import load_file, save_file

from pipeline import files
from pipeline.decoding.translator import Translator
from pipeline.files import DataError
from pipeline.packaging import package
from tests.toys import packages


@pytest.fixture(scope="module")
def packaged(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        return packages.build(root)


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
