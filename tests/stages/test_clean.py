"""Stage clean on sixteen readable pairs: kept and dropped are read, each dropped one under its rule."""

import random

import pytest

from pipeline.common import cores, files, parts
from pipeline.preparation import duplicates
from pipeline.preparation.cleaning import RULES
from stages import clean

GOOD = [("Le chat dort.", "The cat sleeps."), ("La fille rit.", "The girl laughs."), ("Oui, bien sûr.", "Of course.")]
SPOILT = {
    "invalid_utf8": [(b"L'\xe9t\xe9.", b"The summer."), (b"Bonjour.", b"Hello\xff.")],
    "control_characters": [("Un bruit\x07.", "A noise."), ("Le chat \x00 dort.", "The cat sleeps.")],
    "empty": [("", "Nothing stands here."), ("Rien ici.", "   ")],
    "max_characters": [("a" * 61, "Just one letter.")],
    "max_words": [("Le mot" + " long" * 9, "The word long")],
    "max_length_ratio": [("Oui.", "Yes, yes, yes, of course, my friend.")],
    "source_equals_target": [("Paris", "Paris")],
    "duplicates": [("Le  chat\tdort. ", "The cat sleeps."), ("La fille rit.", "The girl laughs.")],
}
CHANGED = {("L'e\u0301te\u0301 arrive.", "Summer is coming."): ("L'été arrive.", "Summer is coming.")}


@pytest.fixture
def downloaded(project):
    """Writes the download's parts, as text or bytes."""
    for key, value in {"max_characters": 60, "max_length_ratio": 2.0, "examples": 1}.items():
        project.edit(f"clean.{key}", value)
    project.edit("corpora/toy.yaml:clean", {"max_words": 10})
    raw = project.root / "data/download/toy"

    def write(bitexts, **held_out):
        shards = []
        for name, pairs in bitexts.items():
            shards += parts.write_shards(raw, name, map(encoded, pairs))
        parts.write_bitexts(raw, shards)
        for part, pairs in held_out.items():
            parts.write_lines(parts.paths(raw, part), map(encoded, pairs))
        about = files.read_json(raw / "download.json")
        about["parts"] = {part: {"files": []} for part in held_out}
        about["parts"]["train"] = {"files": [], "bitexts": {name: {"licence": None} for name in bitexts}}
        files.write_json(raw / "download.json", about)

    return write


def encoded(pair):
    return tuple(side if isinstance(side, bytes) else side.encode() for side in pair)


def read(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_pair_is_kept_or_dropped_under_its_rule(project, downloaded):
    spoilt = [pair for pairs in SPOILT.values() for pair in pairs]
    held_out = [("Il  pleut\u00a0!", "It rains!"), ("", ""), ("Non\r", "No")]
    downloaded({"train": [*GOOD, *CHANGED, *spoilt]}, test=held_out)
    clean.main("toy")
    out, raw = project.root / "data/clean/toy", project.root / "data/download/toy"
    assert list(parts.read(out, "train")) == [*GOOD, *CHANGED.values()]
    for copied, path in zip(parts.paths(out, "test"), parts.paths(raw, "test"), strict=True):
        assert copied.read_bytes() == path.read_bytes()
    counts = files.read_json(out / "clean.json")
    assert counts["dropped"] == dict.fromkeys(RULES, 0) | {rule: len(pairs) for rule, pairs in SPOILT.items()}
    assert (counts["read"], counts["kept"], counts["changed"]) == (len(GOOD) + 1 + len(spoilt), 4, 3)
    assert counts["pairs"] == {"test": 3, "train": 4}
    assert counts["bitexts"]["train"]["examples"]["invalid_utf8"] == [["L'\\xe9t\\xe9.", "The summer."]]


def test_a_pair_of_two_bitexts_falls_to_the_first_whatever_the_shards_and_workers(project, downloaded, monkeypatch):
    """Bytes depend on the shards alone, and a killed stage goes on; `of` changes one bitext."""
    draw = random.Random(1)
    pool = [(f"Satz {number}.", f"Sentence {number % 50}.") for number in range(60)]
    texts = {name: [draw.choice(pool) for _ in range(40)] for name in ("memory", "web", "empty")}
    texts["empty"] = [texts["memory"][0]] * 3
    project.edit("corpora/toy.yaml:clean", {"of": {"web": {"duplicates": "target"}}})
    monkeypatch.setattr(parts, "SHARD_PAIRS", 7)
    downloaded(texts)
    out, seen, targets = project.root / "data/clean/toy", {}, set()
    for name, pairs in texts.items():
        for pair in pairs:
            if pair not in seen and not (name == "web" and pair[1] in targets):
                seen[pair] = name
            targets.add(pair[1])
    written = []
    for workers in (1, 3):
        monkeypatch.setattr(cores, "count", lambda workers=workers: workers)
        clean.main("toy")
        written.append(read(out))
    monkeypatch.setattr(cores, "count", lambda: 1)
    with monkeypatch.context() as patch:
        patch.setattr(duplicates, "find", killed)
        with pytest.raises(KeyboardInterrupt):
            clean.main("toy")
    clean.main("toy")
    assert written[0] == written[1] == read(out)
    kept = {name: [pair for pair in seen if seen[pair] == name] for name in texts}
    shards = parts.read_bitexts(out)
    assert {name: [pair for s in shards if s.bitext == name for pair in s.read(out)] for name in texts} == kept
    counts = files.read_json(out / "clean.json")["bitexts"]
    assert {name: (c["read"], c["kept"], c["dropped"]["duplicates"]) for name, c in counts.items()} == {
        name: (len(pairs), len(kept[name]), len(pairs) - len(kept[name])) for name, pairs in texts.items()
    }


def killed(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (
            {"bitexts": {"a": [("", "one")], "b": [("un", "un")]}},
            "train: cleaning dropped every pair, got empty 1, source_",
        ),
        ({"bitexts": {"train": GOOD}, "test": []}, "test.source.txt: is empty, got 0 pairs; expected at least one"),
        (
            {"bitexts": {"train": GOOD}, "test": [(b"No\xe9l.", "Christmas.")]},
            "test.source.txt line 1: invalid UTF-8, got byte ",
        ),
    ],
)
def test_bad_input_is_named(pairs, message, downloaded):
    downloaded(**pairs)
    with pytest.raises(files.DataError, match=f"^data/download/toy/{message}"):
        clean.main("toy")
