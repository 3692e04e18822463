import logging
import random

import pytest
from pipeline.serving.answers import Answer
from pipeline.serving.long_lines import parts_that_fit

from pipeline.decoding.translator import Translator
from pipeline.files import DataError
from pipeline.serving import engines
from tests.toys import systems

WORDS = systems.WORDS.split()
LINES = [" ".join(WORDS[begin : begin + size]) for size in (1, 2, 3) for begin in range(9)] + ["", "   ", "ξένος"]
KINDS = [
    ("rnnsearch", "torch"),
    *(("transformer_prenorm", kind) for kind in ("torch", "ctranslate2", "ctranslate2-int8")),
]


@pytest.mark.parametrize(("model", "kind"), KINDS)
def test_an_answer_depends_on_no_other_line(folders, model, kind):
    """To the bit: texts, scores and confidence of each line alone, and in three shuffled lots."""
    engine = engines.load(folders[model], kind, 2)
    alone = {line: engine.translate([line], 3)[0] for line in LINES}
    for seed in range(3):
        given = random.Random(seed).sample(LINES, len(LINES) - 4 * seed)
        assert engine.translate(given, 3) == [alone[line] for line in given]
    assert [answers[:1] for answers in engine.translate(LINES, 3)] == engine.translate(LINES, 1)
    assert alone[""] == alone["   "] == [Answer("", 0.0, 0.0)]
    assert len({answers[0].text for answers in alone.values()}) > 5
    assert (engine.system.partition("-")[0], engine.source_language, engine.target_language) == ("toy", "fr", "en")


def test_a_line_longer_than_in_training_is_translated_in_parts_and_reported(folders, caplog):
    engine = engines.load(folders["transformer_prenorm"], "torch", 1)
    line = "le chat noir dort, une pomme rouge, la maison blanche et un ami"
    [source] = engine.vocabulary.encode_source([line])
    assert len(source) > engine.max_pieces
    with caplog.at_level(logging.WARNING):
        [[answer]] = engine.translate([line], 1)
    parts = [part.ids for part in engine.read(line)]
    assert len(parts) > 1
    assert all(len(part) <= engine.max_pieces for part in parts)
    assert " ".join(parts_that_fit(line, engine.fits, engine.max_pieces)) == line
    found = [best for [best] in engine.search(parts, 1)]
    assert answer.text == " ".join(filter(None, engine.vocabulary.decode_target([one.ids for one in found])))
    assert answer.confidence == pytest.approx(sum(one.log_p for one in found) / sum(one.length for one in found))
    assert caplog.messages[0] == (
        f"{systems.SYSTEM}: longer than in training, got {len(source)} pieces; translated in {len(parts)} parts of at "
        f"most {engine.max_pieces}"
    )


def test_no_more_than_the_beam_holds(folders):
    engine = engines.load(folders["transformer_prenorm"], "torch", 1)
    [answers] = engine.translate(["le chat noir"], 50)
    assert 1 < len(answers) <= engine.decoding.beam_size
    scores = [answer.score for answer in answers]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(("model", "kind"), KINDS)
def test_another_beam_size_takes_the_place_of_the_packaged_one(folders, model, kind):
    packaged, greedy, same = (engines.load(folders[model], kind, 1, beam_size=size) for size in (None, 1, 3))
    assert (packaged.decoding.beam_size, greedy.decoding) == (3, packaged.decoding.changed(beam_size=1))
    lines = LINES[:20]
    assert same.translate(lines, 3) == packaged.translate(lines, 3)
    assert all(len(answers) == 1 for answers in greedy.translate(lines, 3))
    assert greedy.translate(lines, 1) != packaged.translate(lines, 1)


@pytest.mark.parametrize(("model", "kind"), KINDS)
def test_attention_belongs_to_the_translation(folders, model, kind):
    engine = engines.load(folders[model], kind, 1)
    record = engine.attention("le chat noir")
    assert record["text"] == engine.translate(["le chat noir"], 1)[0][0].text
    name = "attention" if model == "rnnsearch" else "cross 1"
    [head, *_] = record["weights"][name]
    assert (len(head), len(head[0])) == (len(record["target"]), len(record["source"]))
    assert sum(head[0]) == pytest.approx(1, abs=1e-2)
    assert engine.attention("") == {"source": [], "target": [], "text": "", "weights": {}}


@pytest.mark.parametrize("kind", ["torch", "ctranslate2"])
def test_a_glossary_is_kept(folders, tmp_path, kind):
    """In lines that hold its term; others stay as they are, to the bit."""
    (tmp_path / "terms.tsv").write_text("chat\tpomme rouge\n")
    plain = engines.load(folders["transformer_prenorm"], kind, 1)
    engine = engines.load(folders["transformer_prenorm"], kind, 1, tmp_path / "terms.tsv")
    [[kept], [other]] = engine.translate(["le chat noir", "la maison"], 1)
    assert "pomme rouge" in kept.text
    assert "pomme rouge" not in plain.translate(["le chat noir"], 1)[0][0].text
    assert [other] == plain.translate(["la maison"], 1)[0]
    assert engine.attention("le chat noir")["text"] == kept.text


def test_terms_of_a_long_part_are_bounded(folders, tmp_path, caplog):
    """The search takes a beam for each of their pieces."""
    (tmp_path / "terms.tsv").write_text("chat\tpomme rouge\n")
    engine = engines.load(folders["transformer_prenorm"], "torch", 1, tmp_path / "terms.tsv")
    [term] = engine.part("chat", []).terms
    with caplog.at_level(logging.WARNING):
        few, many = (engine.part("chat " * number, []).terms for number in (2, 50))
    most = engines.MAX_TERM_PIECES // len(term)
    assert (few, many) == ([term] * 2, [term] * most)
    assert caplog.messages == [f"{engine.system}: 50 terms of the glossary in one part, held to {most}"]


def test_what_cannot_be_loaded_is_named(folders, tmp_path):
    with pytest.raises(DataError, match=r"^engine: unknown, got 'torhc'; nearest is 'torch'$"):
        engines.load(folders["rnnsearch"], "torhc", 1)
    with pytest.raises(DataError, match="no such folder"):
        engines.load(tmp_path / "none", "ctranslate2", 1)


def test_the_torch_engine_writes_what_nmt_translate_writes(folders):
    for folder in folders.values():
        lines = [line for line in systems.PARTS["test"] if line != systems.WORDS]
        found = [answers[0].text for answers in engines.load(folder, "torch", 2).translate(lines, 1)]
        assert found == Translator.load(folder).best(lines)
