"""Models of OPUS-MT become packages that translate alike, and what we cannot do is refused by its key."""

import random

import pytest
import torch
from safetensors.torch import load_file

from pipeline.common import files
from pipeline.compute import ids
from pipeline.packaging import loading, opus_mt
from tests.toys import marian


def build(folder, tag=None, pair=None):
    """The folder of the package of the model in a folder."""
    with files.new_folder(folder.parent / "package") as out:
        opus_mt.build(out, folder, "hub/opus-mt-fr-en", name="toy", tag=tag, pair=pair)
    return folder.parent / "package"


@pytest.fixture
def folder(tmp_path):
    marian.lay_out(tmp_path / "model")
    return tmp_path / "model"


def lines(number):
    draw = random.Random(1)
    return [" ".join(draw.choices(marian.SENTENCES["source"].split(), k=draw.randint(1, 8))) for _ in range(number)]


@pytest.mark.parametrize("activation", ["swish", "relu", "gelu"])
def test_every_piece_has_the_score_that_it_has_there(tmp_path, activation):
    config = marian.lay_out(
        tmp_path / "model",
        activation_function=activation,
        d_model=12,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
    )
    theirs = load_file(tmp_path / "model/model.safetensors")
    order, _ = opus_mt.read_pieces(tmp_path / "model/vocab.json", config)
    translator = loading.load(build(tmp_path / "model"))
    for source, target in zip(*(translator.vocabulary.encode_source(lines(8)) for _ in range(2)), strict=True):
        given = torch.tensor([[*source, ids.EOS]]), torch.tensor([[ids.BOS, *reversed(target)]])
        ours = translator.model.logits(translator.model.hidden(*given))[0]
        expected = marian.logits(theirs, config, *([order[piece] for piece in row[0]] for row in given))
        torch.testing.assert_close(ours, expected[:, order], rtol=1e-5, atol=1e-5)


SHAPES = {
    "wide": {"d_model": 32, "encoder_attention_heads": 8, "decoder_attention_heads": 8},
    "relu": {"activation_function": "relu", "encoder_layers": 3, "decoder_layers": 1},
    "gelu": {"activation_function": "gelu", "encoder_ffn_dim": 40, "decoder_ffn_dim": 40},
    "tagged": {"tags": ("fra", "deu")},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("beam", [1, 4])
def test_transformers_gives_the_same_scores_and_lines(tmp_path, name, beam):
    """With probabilities of what may be written alone, as here; and without a length penalty, theirs is another."""
    transformers = pytest.importorskip("transformers", reason="no transformers: pip install transformers")
    folder, tag = tmp_path / "model", "deu" if name == "tagged" else None
    config = marian.lay_out(folder, **SHAPES[name])
    model, tokenizer = (
        transformers.MarianMTModel.from_pretrained(folder).eval(),
        transformers.MarianTokenizer.from_pretrained(folder),
    )
    translator, sources = loading.load(build(folder, tag)), lines(200)
    given = tokenizer([f">>{tag}<< {line}" if tag else line for line in sources], return_tensors="pt", padding=True)
    pad, unknown = config["pad_token_id"], 1
    with torch.no_grad():
        written = model.generate(
            **given,
            num_beams=beam,
            max_length=20,
            bad_words_ids=[[pad], [unknown]],
            renormalize_logits=True,
            length_penalty=0.0,
            early_stopping=False,
            do_sample=False,
            forced_eos_token_id=None,
        )
        expected = model(**given, decoder_input_ids=written).logits
    settings = translator.decoding.changed(beam_size=beam, length_penalty=0.0, patience=0.0, max_length_offset=19)
    assert translator.translate(sources, settings) == tokenizer.batch_decode(written, skip_special_tokens=True)
    order, _ = opus_mt.read_pieces(folder / "vocab.json", config)
    place = {number: at for at, number in enumerate(order) if at != ids.PAD}
    for number, row in enumerate(written.tolist()):
        [source] = translator.vocabulary.encode_source([sources[number]])
        target = [place[piece] for piece in row if piece != pad]
        ours = translator.model.logits(
            translator.model.hidden(torch.tensor([[*source, ids.EOS]]), torch.tensor([[ids.BOS, *target]]))
        )[0]
        torch.testing.assert_close(ours, expected[number, : len(ours)][:, order], rtol=1e-5, atol=1e-5)
