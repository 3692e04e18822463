"""Stages decode and attend: a line out for each in, whatever the batches; faults and cut lines by name."""

from pathlib import Path

from pipeline.common import files
from stages import attend, decode, encode, train, vocabulary
from stages import average as averaging
from tests.toys.project import SYSTEMS

SYSTEM = SYSTEMS[1]
SOURCE, OUT, ATTENDED = Path("data/split/toy/test.source.txt"), Path("data/decode", SYSTEM), Path("data/attend", SYSTEM)


def lines(path):
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def write_sources(texts):
    files.write_lines(SOURCE, texts)
    files.write_lines(Path(str(SOURCE).replace("source", "target")), texts)


def test_one_line_out_per_line_in_whatever_the_batch_size(project, capsys):
    sources = ["", *lines(SOURCE)[:4], "   ", " ".join(lines(SOURCE)[:15])]
    write_sources(sources)
    decode.main(SYSTEM)
    found = files.read_json(OUT / "diagnosis.json")
    assert set(found) == {"test", "compositional"}
    assert f"diagnosis of test  {found['test'][0]}" in capsys.readouterr().err
    translations = lines(OUT / "test.txt")
    assert len(translations) == len(sources)
    assert (translations[0], translations[-2]) == ("", "   ")
    project.edit("decode.tokens_per_batch", 40)
    decode.main(SYSTEM)
    assert lines(OUT / "test.txt") == translations


def test_whole_words_are_translated_twice(project, set_threads):
    """As the model wants, unknown words and all, and without for pairs that have no unknown word on either side."""
    project.edit("vocabularies.words", {"kind": "word", "words": 40, "sentences": 1000, "seed": 1})
    system = SYSTEM.replace("bpe", "words")
    vocabulary.main("toy-words")
    encode.main("toy-words")
    train.main(system)
    averaging.main(system)
    decode.main(system)
    out = Path("data/decode", system)
    assert len(lines(out / "test.txt")) == len(lines(SOURCE))
    for part in ("test", "compositional"):
        known = (out / "without_unknown" / f"{part}.txt").read_text(encoding="utf-8").splitlines()
        assert len(known) < len(lines(out / f"{part}.txt"))
        assert not any("UNK" in line.split() for line in known)


def test_attention_of_some_sentences_of_every_test_part(project):
    for part in ("test", "compositional"):
        sources = lines(Path(f"data/split/toy/{part}.source.txt"))
        records = files.read_json(ATTENDED / f"{part}.json")
        assert len(records) == 2
        for record in records:
            pieces = len(record["source"]), len(record["target"])
            assert "".join(record["source"]).replace("▁", " ").strip() == f"{sources[record['line'] - 1]}</s>"
            shapes = {name: (len(heads), len(heads[0]), len(heads[0][0])) for name, heads in record["weights"].items()}
            assert shapes == {
                "encoder 1": (2, pieces[0], pieces[0]),
                "decoder 1": (2, pieces[1], pieces[1]),
                "cross 1": (2, pieces[1], pieces[0]),
            }


def test_a_line_longer_than_in_training_is_shown_in_part_and_named(project, capsys):
    write_sources([" ".join(lines(SOURCE)[:15])])
    project.edit("attend.max_words", 1000)
    attend.main(SYSTEM)
    [record] = files.read_json(ATTENDED / "test.json")
    assert len(record["source"]) == 80  # max_length of the training, EOS counted
    assert f"warning: {SOURCE} line 1: longer than in training, got " in capsys.readouterr().err
