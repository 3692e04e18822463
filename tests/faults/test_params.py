"""Faults of params.yaml that DVC trips over by itself: `nmt check`, with which `make repro` begins, names them."""

import time

import pytest

from pipeline import catalogue
from pipeline.params import ParamsError

BUILD = "build:\n  corpora:\n  - phrasebook_fr_en\n"
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
WIDE = "models.transformer_prenorm.tiny.arch.width: should be less than or equal to 65536, got 1000000000000"
FILES = {  # what is wrong -> the file, made from the project's own, and lines of what is said
    "no file at all": (None, ["params.yaml: no such file; expected in the folder the command runs in"]),
    "empty": (lambda text: "", ["params.yaml: must be a mapping of sections, got nothing"]),
    "a comment": (lambda text: "# nothing\n", ["params.yaml: must be a mapping of sections, got nothing"]),
    "a list": (lambda text: "- build\n", ["params.yaml: must be a mapping of sections, got ['build']"]),
    "binary": (
        lambda text: "\x00\x01",
        [
            "params.yaml: not valid YAML, unacceptable character #x0000: special characters are not allowed, "
            "at character 1"
        ],
    ),
    "section misspelt": (
        lambda text: text.replace("\ncorpora:", "\ncorpra:"),
        ["params.yaml: corpora: is missing", "params.yaml: corpra: unknown key; nearest is 'corpora'"],
    ),
    "no build": (lambda text: text.replace("\nbuild:", "\nbuilt:"), ["params.yaml: build: is missing"]),
    "nothing in build": (
        lambda text: text.replace("\nbuild:\n  corpora:\n  - phrasebook_fr_en", "\nbuild:\n  corpora:"),
        ["params.yaml: build.corpora: should be a valid list, got None"],
    ),
    "a string for a list": (
        lambda text: text.replace(BUILD, "build:\n  corpora: phrasebook_fr_en\n"),
        ["params.yaml: build.corpora: should be a valid list, got 'phrasebook_fr_en'"],
    ),
    "a list for a section": (
        lambda text: text.replace("\naverage: {checkpoints: 2}", "\naverage: [4]"),
        ["params.yaml: average: should be a mapping, got [4]"],
    ),
    "an unknown name": (
        lambda text: text.replace(BUILD, BUILD.replace("phrasebook_fr_en", "phrasebook_fr")),
        ["params.yaml: build.corpora: unknown corpus, got 'phrasebook_fr'; nearest is 'phrasebook_fr_en'"],
    ),
    "a key twice": (
        lambda text: text + "\naverage: {checkpoints: 2}\n",
        ['not valid YAML, while constructing a mapping, found duplicate key "average"'],
    ),
    "a tab": (lambda text: text.replace("\n  corpora:", "\n\tcorpora:"), ["not valid YAML, "]),
    "cut": (lambda text: text[: text.index("{kind: phrasebook") + 9], ["not valid YAML, "]),
    "conflict of a merge": (lambda text: f"<<<<<<< HEAD\n{text}", ["not valid YAML, "]),
    "aliases of aliases": (
        lambda text: BOMB + text,
        ["params.yaml: holds more than 100000 values, aliases counted; expected far fewer"],
    ),
    "merges of merges": (
        lambda text: MERGES + text,
        ["params.yaml: holds more than 100000 values, aliases counted; expected far fewer"],
    ),
    "an alias of itself": (
        lambda text: f"a: &a [*a]\n{text}",
        ["params.yaml: is nested too deeply; expected sections in sections, a few deep"],
    ),
    "hundreds of lists in one another": (
        lambda text: f"a: {'[' * 600}{']' * 600}\n{text}",
        ["params.yaml: is nested too deeply; expected sections in sections, a few deep"],
    ),
    "a long text for a number": (
        lambda text: text.replace("average: {checkpoints: 2}", f"average: {{checkpoints: {'x' * 10**6}}}"),
        [f"params.yaml: average.checkpoints: should be a valid integer, got '{'x' * 199}..."],
    ),
    "wider than any memory": (
        lambda text: prenorm(text, "width: 128", "width: 1000000000000"),
        [f"params.yaml: {WIDE}"],
    ),
    "more layers than any": (
        lambda text: prenorm(text, "encoder_layers: 2", "encoder_layers: 100000"),
        [
            "params.yaml: models.transformer_prenorm.tiny.arch.encoder_layers: should be less than or equal to 1000, "
            "got 100000"
        ],
    ),
    "a beam without end": (
        lambda text: text.replace("beam_size: 5", "beam_size: 100000"),
        ["params.yaml: decode.beam_size: should be less than or equal to 1000, got 100000"],
    ),
    "updates without end": (
        lambda text: text.replace("updates: 600", "updates: 10000000000"),
        ["params.yaml: corpora.phrasebook_fr_en.training.updates: should be at most 2147483647, got 10000000000"],
    ),
    "a vocabulary without end": (
        lambda text: text.replace("size: 2000\n", "size: 2000000000000\n"),
        ["params.yaml: vocabularies.bpe_2k.size: should be less than or equal to 1000000, got 2000000000000"],
    ),
}


def prenorm(text: str, old: str, new: str) -> str:
    """The file with one value of transformer_prenorm's tiny size changed."""
    before, found, after = text.partition("\n  transformer_prenorm:")
    return before + found + after.replace(old, new, 1)


@pytest.mark.parametrize("kind", FILES)
def test_a_fault_is_named_at_once(kind, project_root, tmp_path, monkeypatch, campaign):
    monkeypatch.chdir(tmp_path)
    text = (project_root / "params.yaml").read_text(encoding="utf-8")
    edit, lines = FILES[kind]
    if edit:
        assert edit(text) != text
        (tmp_path / "params.yaml").write_text(edit(text), encoding="utf-8")
    with campaign.trying("params.yaml that DVC trips over", kind):
        began = time.process_time()
        with pytest.raises(ParamsError) as error:
            catalogue.check()
        assert time.process_time() - began < 10
        said = str(error.value).splitlines()
        assert all(line.startswith("params.yaml") and len(line) < 500 for line in said)
        assert all(any(line in one for one in said) for line in lines), said
