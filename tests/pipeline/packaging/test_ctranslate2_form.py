import json
import random

import ctranslate2
import pytest
import torch

from pipeline.compute import ids
from pipeline.console import cli
from pipeline.decoding.search import search
from pipeline.packaging.ctranslate2_form import FILES, ExportError, save, tokens
from pipeline.vocabularies.vocabulary import Vocabulary
from tests.toys import networks, searches


class Side:
    """One side of a vocabulary."""

    whole_words, spells_all, characters = False, False, frozenset[str]()

    def __init__(self, pieces):
        self.pieces, self.size = pieces, len(pieces)

    def piece(self, piece):
        return self.pieces[piece]


SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
SOURCE, TARGET = ([*SPECIAL, *(f"{side}{n}" for n in range(4, size))] for side, size in (("s", 13), ("t", 11)))
MODELS = ["transformer_prenorm", "transformer_postnorm", "transformer_modern"]
DECODING = searches.DECODING.changed(length_penalty=1.0, tokens_per_batch=40)


def export(model, folder, quantization="float32", positions=20):
    folder.mkdir(exist_ok=True)
    save(model, Vocabulary(Side(SOURCE), Side(TARGET)), folder, quantization=quantization, positions=positions)
    return folder


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tied", ["none", "output"])
def test_every_piece_has_the_probability_it_has_here(tmp_path, name, tied):
    """Those of our translations by beam search, and those of targets drawn from the whole vocabulary."""
    model, draw = networks.build(name, tied_embeddings=tied), random.Random(1)
    sources = [draw.choices(range(4, 13), k=1 + number % 14) for number in range(60)]
    found = sorted(search(model, sources[:30], DECODING, torch.device("cpu"), unknown=True))
    targets = [best.ids for _, [best] in found]
    targets += [draw.choices([ids.UNK, *range(4, 11)], k=number % 17) for number in range(30)]
    translator = ctranslate2.Translator(str(export(model, tmp_path)), compute_type="float32")
    scored = translator.score_batch(
        [[SOURCE[piece] for piece in source] for source in sources],
        [[TARGET[piece] for piece in target] for target in targets],
        max_batch_size=7,
    )
    for source, target, found in zip(sources, targets, scored, strict=True):
        hidden = model.hidden(torch.tensor([[*source, ids.EOS]]), torch.tensor([[ids.BOS, *target]]))
        expected = model.logits(hidden)[0].log_softmax(dim=1)[range(len(target) + 1), [*target, ids.EOS]]
        assert found.log_probs == pytest.approx(expected.tolist(), abs=1e-4)


def test_the_settings_are_ours(tmp_path):
    folder = export(networks.build("transformer_prenorm"), tmp_path)
    assert {path.name for path in folder.iterdir()} == FILES - {"shared_vocabulary.json"}
    assert json.loads((folder / "config.json").read_text()) == {
        "add_source_bos": False,
        "add_source_eos": True,
        "bos_token": "<s>",
        "decoder_start_token": "<s>",
        "eos_token": "</s>",
        "layer_norm_epsilon": 1e-6,
        "multi_query_attention": False,
        "unk_token": "<unk>",
    }
    assert json.loads((folder / "source_vocabulary.json").read_text()) == SOURCE
    assert json.loads((folder / "target_vocabulary.json").read_text()) == TARGET


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model = networks.build("transformer_postnorm")
    folders = [export(model, tmp_path / name) for name in "ab"]
    assert len({tuple(path.read_bytes() for path in sorted(folder.iterdir())) for folder in folders}) == 1


@pytest.mark.parametrize("name", MODELS)
def test_int8_is_smaller_and_runs(tmp_path, name):
    model = networks.build(name, width=64, feed_forward=128)
    sizes = {}
    for quantization in ("float32", "float16", "int8"):
        folder = export(model, tmp_path / quantization, quantization)
        sizes[quantization] = (folder / "model.bin").stat().st_size
        translator = ctranslate2.Translator(str(folder))
        assert translator.compute_type == {"int8": "int8_float32"}.get(quantization, "float32")
        [found] = translator.translate_batch([SOURCE[4:9]], max_decoding_length=9)
        assert 0 < len(found.hypotheses[0]) <= 9
        assert set(found.hypotheses[0]) <= set(TARGET)
    assert sizes["int8"] < 0.4 * sizes["float32"]
    assert sizes["float16"] < 0.6 * sizes["float32"]


@pytest.mark.parametrize("quantization", ["int16", "int8"])
def test_the_model_stays_as_it_was(tmp_path, quantization):
    """CTranslate2 multiplies what it is given in place before it rounds."""
    model = networks.build("transformer_prenorm")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    export(model, tmp_path, quantization)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_tied_matrices_are_stored_once(tmp_path):
    """Fifty times as many pieces as the rest of the network has rows."""
    side = Side([*SPECIAL, *map(str, range(1996))])
    sizes = {}
    for tied in ("none", "output", "all"):
        model = networks.build("transformer_prenorm", source_size=2000, target_size=2000, tied_embeddings=tied)
        folder = tmp_path / tied
        folder.mkdir()
        save(model, Vocabulary(side, side), folder, quantization="float32", positions=20)
        sizes[tied] = (folder / "model.bin").stat().st_size
        assert (folder / "shared_vocabulary.json").exists()
    matrix = 2000 * 16 * 4
    assert sizes["none"] - sizes["output"] == pytest.approx(matrix, abs=200)
    assert sizes["output"] - sizes["all"] == pytest.approx(matrix, abs=200)


def test_tokens_are_unique_and_the_special_ones_have_their_names():
    expected = [*SPECIAL, "a", "</s>#5", "a#6", "a#6#7", "</s>#5#8"]
    assert tokens([*SPECIAL, "a", "</s>", "a", "a#6", "</s>#5"]) == expected
    assert tokens(["PAD", "UNK", "BOS", "EOS", "PAD"]) == [*SPECIAL, "PAD"]


def test_recurrent_models_are_refused(tmp_path):
    with pytest.raises(ExportError) as error:
        export(networks.build("rnnsearch"), tmp_path)
    assert cli.mistake(error.value) == "ctranslate2: runs Transformers only, got rnnsearch; expected a Transformer"


def test_an_unknown_type_is_named(tmp_path):
    with pytest.raises(ExportError, match=r"^quantization: unknown type, got 'int08'; nearest is 'int8'$"):
        export(networks.build("transformer_prenorm"), tmp_path, "int08")
