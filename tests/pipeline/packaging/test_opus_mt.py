"""Models of OPUS-MT become packages that translate alike, and what we cannot do is refused by its key."""

import json
import random
import re

import pytest
import torch
from safetensors.torch import load_file, save_file

from pipeline.common import files
from pipeline.common.files import DataError
from pipeline.compute import ids
from pipeline.packaging import loading, opus_mt, sealed
from pipeline.packaging.opus_mt_config import MarianConfig
from pipeline.training.batching import GlobalBatch, Position, collate
from pipeline.training.loop import train
from pipeline.training.ranks import Ranks
from tests.toys import marian, samples

EXPECTED = "expected a model of OPUS-MT, as the Hugging Face hub has it"


def build(folder, tag=None, pair=None):
    """The folder of the package of the model in a folder."""
    with files.new_folder(folder.parent / "package") as out:
        opus_mt.build(out, folder, "hub/opus-mt-fr-en", name="toy", tag=tag, pair=pair)
    return folder.parent / "package"


def lines(number):
    draw, words = random.Random(1), marian.SENTENCES["source"].split()
    return [" ".join(draw.choices(words, k=draw.randint(1, 8))) for _ in range(number)]


def edit(path, **changed):
    path.write_text(json.dumps(files.read_json(path) | changed))


def order(folder):
    """Their ids in our order."""
    return opus_mt.read_pieces(folder / "vocab.json", MarianConfig.read(folder))[0]


def scores(translator, source, target):
    """The logits of every piece: PAD's own are left out."""
    given = torch.tensor([[*source, ids.EOS]]), torch.tensor([[ids.BOS, *target]])
    return translator.model.logits(translator.model.hidden(*given))[0, :, 1:]


@pytest.fixture
def folder(tmp_path):
    marian.lay_out(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("activation", ["swish", "relu", "gelu"])
def test_every_piece_has_the_score_that_it_has_there(tmp_path, activation):
    config = marian.lay_out(tmp_path / "model", activation_function=activation)
    theirs = load_file(tmp_path / "model/model.safetensors")
    ids_there, translator = order(tmp_path / "model"), loading.load(build(tmp_path / "model"))
    for source in translator.vocabulary.encode_source(lines(8)):
        target = source[::-1]
        expected = marian.logits(
            theirs, config, *([ids_there[at] for at in row] for row in ([*source, 3], [2, *target]))
        )
        torch.testing.assert_close(scores(translator, source, target), expected[:, ids_there[1:]], rtol=1e-5, atol=1e-5)


def test_config_and_card_say_what_the_files_say(folder):
    config = sealed.read(build(folder))
    assert (config.source_language, config.target_language, config.licence) == ("fr", "en", "cc-by-4.0")
    assert (config.decoding["beam_size"], config.decoding["max_length_offset"], config.max_source_pieces) == (3, 63, 63)
    assert (
        "trained by others, and imported from `hub/opus-mt-fr-en`." in (folder.parent / "package/README.md").read_text()
    )
    for name in opus_mt.OPTIONAL:
        (folder / name).unlink()
    config = sealed.read(build(folder))
    assert (config.source_language, config.target_language, config.licence) == ("fr", "en", "unknown")
    assert (config.decoding["beam_size"], config.decoding["max_length_offset"]) == (1, 511)
    assert sealed.read(build(folder, pair="pt_BR-de")).source_language == "pt-BR"


def test_a_tag_stands_before_every_source_that_is_not_empty(tmp_path):
    marian.lay_out(tmp_path / "model", tags=("deu", "fra"))
    vocabulary = loading.load(build(tmp_path / "model", tag="deu")).vocabulary
    tagged, empty = vocabulary.encode_source(["le chat", ""])
    assert (vocabulary.source_pieces(tagged)[:2], empty) == ([">>deu<<", "▁l"], [])
    assert vocabulary.source.decode(tagged) == "le chat"
    assert vocabulary.source.tag_id(">>fra<<") == tagged[0] + 1
    assert vocabulary.target_pieces(vocabulary.encode_target(["the cat sleeps"])[0])[0] != ">>deu<<"
    assert vocabulary.decode_target(vocabulary.encode_target(["the cat sleeps 猫"])) == ["the cat sleeps"]
    assert loading.load(build(tmp_path / "model", tag="")).vocabulary.encode_source(["le chat"]) == [tagged[1:]]
    for tag, what in (("dau", "is not among the model's tags, got 'dau'; nearest is 'deu'"), (None, "is missing")):
        with pytest.raises(DataError, match=f"^--tag: {what}"):
            build(tmp_path / "model", tag)


CONFIG = "config.json"
ODD = [
    (CONFIG, {"normalize_before": True}, "normalize_before: should be False, got True"),
    (
        CONFIG,
        {"share_encoder_decoder_embeddings": False},
        "share_encoder_decoder_embeddings: should be True, got False",
    ),
    (
        CONFIG,
        {"scale_embedding": None, "d_model": "x"},
        r"scale_embedding: is missing; .*: d_model: should be a valid int.*",
    ),
    (CONFIG, {"model_type": "bart"}, "model_type: should be 'marian', got 'bart'"),
    (CONFIG, {"decoder_vocab_size": 9}, r"decoder_vocab_size: must be \d+, got 9"),
    (CONFIG, {"d_model": 18}, r"d_model: must be a multiple of 4 heads, got 18"),
    (CONFIG, {"activation_function": ["x"]}, r"activation_function: should be 'swish', .* or 'gelu', got \['x'\]"),
    ("generation_config.json", {"bad_words_ids": [[5, 6]]}, r"bad_words_ids: must be \[\[\d+\]\], got \[\[5, 6\]\]"),
    ("generation_config.json", {"eos_token_id": [0, 5]}, r"eos_token_id: should be a valid integer, got \[0, 5\]"),
    ("generation_config.json", {"max_length": 1}, r"max_length: should be greater than 1, got 1"),
    ("generation_config.json", "[]", r"dict: should be a valid dictionary, got \[\]"),
    ("tokenizer_config.json", {"source_lang": ["fr"]}, r"source_lang: should be a valid string, got \['fr'\]"),
    ("vocab.json", {"zzz": 7}, r"must have one piece for each id below \d+, got 2 for 7"),
    ("vocab.json", {"zzz": 999}, r"must have one piece for each id below \d+, got 1 for 999"),
    ("vocab.json", {"zzz": None}, "zzz: should be a valid integer, got None"),
    ("vocab.json", "{}", r"must have one piece for each id below \d+, got 0 for 0"),
    ("vocab.json", None, "no such file"),
    ("model.safetensors", None, "no such file"),
    ("source.spm", "version https://git-lfs.github.com/spec/v1", "is a pointer that `git lfs pull` replaces"),
    ("model.safetensors", "", r"not a whole file of weights \(SafetensorError\)"),
]


@pytest.mark.parametrize(("name", "changed", "what"), ODD)
def test_what_is_odd_or_asks_for_what_we_cannot_do_is_refused_by_file_and_key(folder, name, changed, what):
    if isinstance(changed, dict):
        edit(folder / name, **changed)
    elif changed is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(changed)
    with pytest.raises(DataError, match=rf"^{folder}/{re.escape(name)}: {what}; {EXPECTED}$"):
        build(folder)
    assert not (folder.parent / "package").exists()


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("model.encoder.layers.0.fc1.bias", None, r"must be \(24,\) by config.json, got none"),
        (
            "model.encoder.layers.0.self_attn.q_proj.weight",
            torch.zeros(16),
            r"must be \(16, 16\) by config.json, got \(16,\)",
        ),
        ("model.encoder.layers.2.fc1.bias", torch.zeros(24), "must not be there by config.json"),
        ("model.shared.weight", torch.zeros(9, 16), r"must be \(\d+, 16\) by config.json, got \(9, 16\)"),
    ],
)
def test_other_weights_than_the_config_says_are_refused(folder, name, value, what):
    weights = load_file(folder / "model.safetensors") | {name: value}
    save_file({name: weight for name, weight in weights.items() if weight is not None}, folder / "model.safetensors")
    with pytest.raises(DataError, match=rf"^{folder}/model\.safetensors: {name}: {what}; {EXPECTED}$"):
        build(folder)


def test_a_pickle_is_read_and_runs_no_code(folder, tmp_path):
    """Old files have the one matrix under several names, and the sinusoids."""
    expected, weights = build(folder) / sealed.WEIGHTS, load_file(folder / "model.safetensors")
    expected = load_file(expected)
    weights["lm_head.weight"] = weights["model.decoder.embed_tokens.weight"] = weights["model.shared.weight"]
    weights["model.encoder.embed_positions.weight"] = torch.zeros(64, 16)
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    ours = load_file(build(folder) / sealed.WEIGHTS)
    assert all(torch.equal(ours[name], weight) for name, weight in expected.items())
    for content, error in ({"x": tmp_path}, "UnpicklingError"), ({"x": {}}, "AttributeError"):
        torch.save(content, folder / "pytorch_model.bin")
        with pytest.raises(DataError, match=rf"pytorch_model\.bin: not a whole file of weights \({error}\)"):
            build(folder)


SHAPES = {
    "wide": {"d_model": 32, "encoder_attention_heads": 8, "decoder_attention_heads": 8},
    "relu": {"activation_function": "relu", "encoder_layers": 3, "decoder_layers": 1},
    "gelu": {"activation_function": "gelu", "encoder_ffn_dim": 40, "decoder_ffn_dim": 40},
    "tagged": {"tags": ("fra", "deu")},
}


@pytest.fixture(params=SHAPES)
def both(request, tmp_path):
    """A model and its tokenizer in transformers, our translator, the folder, and 200 sources as theirs wants them."""
    transformers = pytest.importorskip("transformers", reason="no transformers: pip install transformers")
    folder, tag = tmp_path / "model", "deu" if request.param == "tagged" else None
    marian.lay_out(folder, dropout=0.0, **SHAPES[request.param])
    kinds = transformers.MarianMTModel, transformers.MarianTokenizer
    model, tokenizer = (kind.from_pretrained(folder) for kind in kinds)
    sources = [f">>{tag}<< {line}" if tag else line for line in lines(200)]
    return model.eval(), tokenizer, loading.load(build(folder, tag)), folder, sources


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 4])
def test_transformers_gives_the_same_scores_and_lines(both, beam):
    """With probabilities of what may be written alone, as here; and without a length penalty, theirs is another."""
    model, tokenizer, translator, folder, sources = both
    config, given = model.config, tokenizer(sources, return_tensors="pt", padding=True)
    how = {"num_beams": beam, "max_length": 20, "length_penalty": 0.0, "forced_eos_token_id": None}
    never = [[config.pad_token_id], [tokenizer.unk_token_id]]
    with torch.no_grad():
        written = model.generate(**given, **how, bad_words_ids=never, renormalize_logits=True)
        expected = model(**given, decoder_input_ids=written).logits
    settings = translator.decoding.changed(beam_size=beam, length_penalty=0.0, patience=0.0, max_length_offset=19)
    assert translator.translate(lines(200), settings) == tokenizer.batch_decode(written, skip_special_tokens=True)
    ids_there = order(folder)
    place = {number: at for at, number in enumerate(ids_there)}
    for source, row, theirs in zip(translator.vocabulary.encode_source(lines(200)), written, expected, strict=True):
        target = [place[piece] for piece in row.tolist() if piece != config.pad_token_id]
        ours = scores(translator, source, target)
        torch.testing.assert_close(ours, theirs[: len(ours), ids_there[1:]], rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_ctranslate2_converts_it_alike(both):
    ctranslate2 = pytest.importorskip("ctranslate2")
    *_, translator, folder, _ = both
    ctranslate2.converters.TransformersConverter(str(folder)).convert(str(folder / "converted"))
    tokens = [translator.vocabulary.source_pieces(row) for row in translator.vocabulary.encode_source(lines(200))]
    never = [["<pad>"], ["<unk>"], ["<s>"]]
    for beam in (1, 4):
        results = []
        for form, end, left_out in (("model/converted", ["</s>"], never[1:2]), ("package/ctranslate2", [], never)):
            network = ctranslate2.Translator(str(folder.parent / form), compute_type="float32")
            how = {"beam_size": beam, "suppress_sequences": left_out, "max_decoding_length": 20}
            results.append(
                [[*found.hypotheses] for found in network.translate_batch([[*row, *end] for row in tokens], **how)]
            )
        assert results[0] == results[1]


@pytest.mark.slow
def test_transformers_computes_the_same_losses(both):
    """Of three updates. Theirs (5.24) trains the sinusoids, but neither the bias nor, as an input, the first piece.

    Its smoothing spreads over its pieces, the gold one among them, ours over these and PAD, or over the others.
    """
    model, tokenizer, translator, _, sources = both
    smoother = pytest.importorskip("transformers.trainer_pt_utils").LabelSmoother(epsilon=0.1)
    words = marian.SENTENCES["target"].split()
    targets = [" ".join(words[at:]) for at in range(12)]
    given = tokenizer(sources[:12], text_target=targets, return_tensors="pt", padding=True)
    given["labels"].masked_fill_(given["labels"] == model.config.pad_token_id, -100)
    model.model.decoder.embed_tokens.padding_idx = None
    for stack in (model.model.encoder, model.model.decoder):
        stack.embed_positions.weight.requires_grad_(False)
    optimizer, theirs = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9), []
    for _ in range(3):
        loss = smoother(model(**given), given["labels"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        theirs.append(loss.item())
    net, vocabulary = translator.model.train(), translator.vocabulary
    net.embeddings.bias.requires_grad_(False)
    batch = collate(samples.encoded(vocabulary.encode_source(lines(12)), vocabulary.encode_target(targets)), range(12))
    smoothing = {"label_smoothing": 0.1 * (1 - 1 / model.config.vocab_size), "smoothing_spread": "others"}
    counts, learning = [len(batch.non_padding)] * 3, samples.learning(clip=0.0, **smoothing)
    updates = [GlobalBatch(Position(number, 0, 0, 0), {0: batch}, *counts) for number in (1, 2, 3)]
    steps = train(net, learning.optimizer.build(net), updates, learning, width=16, updates=3, seed=1, ranks=Ranks())
    assert [step.loss for step in steps] == pytest.approx(theirs, abs=1e-5)
