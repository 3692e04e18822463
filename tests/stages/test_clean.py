"""Stage clean on sixteen readable pairs: kept and dropped are read, each dropped one under its rule."""

import pytest

from pipeline.common import files, parts
from stages import clean

GOOD = [("Le chat dort.", "The cat sleeps."), ("La fille rit.", "The girl laughs."), ("Oui, bien sûr.", "Of course.")]
SPOILT = {
    "invalid_utf8": [(b"L'\xe9t\xe9.", b"The summer."), (b"Bonjour.", b"Hello\xff.")],
    "control_characters": [("Un bruit\x07.", "A noise."), ("Le chat \x00 dort.", "The cat sleeps.")],
    "empty": [("", "Nothing stands here."), ("Rien ici.", "   ")],
    "too_long_characters": [("a" * 61, "Just one letter.")],
    "too_long_words": [("Le mot" + " long" * 9, "The word long")],
    "length_ratio": [("Oui.", "Yes, yes, yes, of course, my friend.")],
    "source_equals_target": [("Paris", "Paris")],
    "duplicate": [("Le  chat\tdort. ", "The cat sleeps."), ("La fille rit.", "The girl laughs.")],
}
CHANGED = {("L'e\u0301te\u0301 arrive.", "Summer is coming."): ("L'été arrive.", "Summer is coming.")}


@pytest.fixture
def downloaded(project):
    """Writes the download's parts, as text or bytes."""
    for key, value in {"max_characters": 60, "max_length_ratio": 2.0, "examples": 1}.items():
        project.edit(f"clean.{key}", value)
    project.edit("corpora/toy.yaml:clean", {"max_words": 10})
    raw = project.root / "data/download/toy"

    def write(**pairs):
        for part, lines in pairs.items():
            for side, path in enumerate(parts.paths(raw, part)):
                texts = (pair[side] if isinstance(pair[side], bytes) else pair[side].encode() for pair in lines)
                path.write_bytes(b"".join(text + b"\n" for text in texts))
        about = files.read_json(raw / "download.json")
        about["parts"] = {part: {"pairs": len(lines), "files": []} for part, lines in pairs.items()}
        files.write_json(raw / "download.json", about)

    return write


def test_every_pair_is_kept_or_dropped_under_its_rule(project, downloaded):
    spoilt = [pair for pairs in SPOILT.values() for pair in pairs]
    downloaded(train=[*GOOD, *CHANGED, *spoilt], test=[("Il  pleut\u00a0!", "It rains!"), ("", ""), ("Non\r", "No")])
    clean.main("toy")
    out, raw = project.root / "data/clean/toy", project.root / "data/download/toy"
    assert list(parts.read(out, "train")) == [*GOOD, *CHANGED.values()]
    for copied, path in zip(parts.paths(out, "test"), parts.paths(raw, "test"), strict=True):
        assert copied.read_bytes() == path.read_bytes()
    counts = files.read_json(out / "clean.json")
    assert counts["dropped"] == {rule: len(pairs) for rule, pairs in SPOILT.items()}
    assert (counts["read"], counts["kept"], counts["changed"]) == (len(GOOD) + 1 + len(spoilt), 4, 3)
    assert counts["pairs"] == {"test": 3, "train": 4}
    assert counts["examples"]["invalid_utf8"] == [["L'\\xe9t\\xe9.", "The summer."]]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({"train": [("", "one"), ("un", "un")]}, "train.source.txt: cleaning dropped every pair, got empty 1, source_"),
        ({"train": GOOD, "test": []}, "test.source.txt: is empty, got 0 pairs; expected at least one"),
        ({"train": GOOD, "test": [(b"No\xe9l.", "Christmas.")]}, "test.source.txt line 1: invalid UTF-8, got byte "),
    ],
)
def test_bad_input_is_named(pairs, message, downloaded):
    downloaded(**pairs)
    with pytest.raises(files.DataError, match=f"^data/download/toy/{message}"):
        clean.main("toy")
