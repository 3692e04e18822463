"""Every pair is encoded and counted, by bitext, in the same bytes whatever the processes."""

import pytest

from pipeline.common import files, parts, work
from pipeline.encoding import text_to_ids
from pipeline.encoding.shards import Encoded
from pipeline.vocabularies import subwords
from pipeline.vocabularies.subwords import Subwords
from pipeline.vocabularies.vocabulary import Vocabulary
from tests.toys import samples

SOURCE = ["le chat voit", "", "la maison", "le 猫 voit la maison", "le chien"] * 8
TARGET = ["the cat sees", "a tree", "", "the cat sees the house", "a 木 and a 木"] * 8
PAIRS = list(zip(SOURCE, TARGET, strict=True))
TOY = Subwords(
    kind="bpe", size=40, joint=True, byte_fallback=False, split_digits=True, character_coverage=1.0, sentences=9, seed=1
)
TAGS = {"back": "<bt>"}


@pytest.fixture
def split(tmp_path):
    """A folder of the stage split with two bitexts and a test part."""
    samples.write_bitexts(tmp_path / "split", own=PAIRS[:15], back=PAIRS[15:])
    parts.write(tmp_path / "split", "test", [(" le\u200b  chat", "the cat")])
    return tmp_path / "split"


@pytest.fixture
def trained(tmp_path):
    """The folder of a vocabulary that knows neither of two characters."""
    known = [[line.replace("猫", "chat").replace("木", "tree") for line in pair] for pair in PAIRS]
    samples.write_bitexts(tmp_path, back=known)
    (folder := tmp_path / "vocabulary").mkdir()
    subwords.train(TOY, tmp_path, TAGS, folder, where="vocabularies.toy")
    return folder


def encode(trained, split, out, tags=TAGS):
    """The counts of the training part, encoded into `out`."""
    with work.resumable(out) as folder:
        return text_to_ids.encode_bitexts(trained, split, folder, tags)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_rows_are_the_vocabularys_ids_after_the_tag_and_are_counted_by_bitext(trained, split, tmp_path):
    counts, loaded = encode(trained, split, tmp_path / "out"), Vocabulary.load(trained)
    part = Encoded.open_bitexts(tmp_path / "out", [])
    expected = loaded.encode_source(SOURCE)
    expected[15:] = [[loaded.source.tag_id("<bt>"), *row] for row in expected[15:]]
    assert [row.tolist() for row in part.source] == expected
    assert [row.tolist() for row in part.target] == loaded.encode_target(TARGET)
    assert {key: counts[key] for key in ("pairs", "source_tokens", "target_tokens")} == {
        "pairs": 40,
        "source_tokens": sum(map(len, expected)),
        "target_tokens": sum(map(len, loaded.encode_target(TARGET))),
    }
    assert (counts["source_unknown"], counts["target_unknown"]) == (8, 16)
    assert counts["bitexts"]["own"]["pairs"] == 15
    assert [sum(one[key] for one in counts["bitexts"].values()) for key in counts if key != "bitexts"] == [
        counts[key] for key in counts if key != "bitexts"
    ]


def test_a_held_out_part_is_normalised(trained, split, tmp_path):
    text_to_ids.encode_part(trained, split, "test", tmp_path / "out/test")
    part, loaded = Encoded.open(tmp_path / "out/test"), Vocabulary.load(trained)
    assert [row.tolist() for row in part.source] == loaded.encode_source(["le chat"])


def test_blocks_and_processes_leave_no_trace(trained, split, tmp_path, monkeypatch):
    counts = encode(trained, split, tmp_path / "one")
    monkeypatch.setattr(text_to_ids, "BLOCK_PAIRS", 3)
    monkeypatch.setattr(work.cores, "count", lambda: 2)
    assert encode(trained, split, tmp_path / "two") == counts
    for path in filter(lambda path: path.is_file(), (tmp_path / "one").rglob("*")):
        assert (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("00000.target.txt", "must have 15, got 15 and 39"),
        ("", "tags.own: .*vocabulary was made without it, got '<ft>'; expected its tags"),
    ],
)
def test_faults_are_named(trained, split, tmp_path, fault, expected):
    if fault:
        files.write_lines(split / "train/own" / fault, TARGET[1:])
    with pytest.raises(files.DataError, match=expected):
        encode(trained, split, tmp_path / "out", TAGS if fault else {"own": "<ft>"})
