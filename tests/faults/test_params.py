"""Faults of params.yaml and corpora that DVC trips over: `nmt check`, with which `make repro` begins, names them."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline import catalogue
from pipeline.params import ParamsError

BUILD = "build:\n  corpora:\n  - phrasebook_fr_en\n"
AVERAGE = "\n  tiny: {checkpoints: 2}\n"
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
WIDE = "models.transformer_prenorm.tiny.width: should be less than or equal to 65536, got 1000000000000"
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
        lambda text: text.replace("\ntraining:", "\ntrainng:"),
        ["params.yaml: training: is missing", "params.yaml: trainng: unknown key; nearest is 'training'"],
    ),
    "no build": (lambda text: text.replace("build:", "built:", 1), ["params.yaml: build: is missing"]),
    "nothing in build": (
        lambda text: text.replace(BUILD, "build:\n  corpora:\n"),
        ["params.yaml: build.corpora: should be a valid list, got None"],
    ),
    "a string for a list": (
        lambda text: text.replace(BUILD, "build:\n  corpora: phrasebook_fr_en\n"),
        ["params.yaml: build.corpora: should be a valid list, got 'phrasebook_fr_en'"],
    ),
    "a list for a section": (
        lambda text: text.replace(AVERAGE, "\n  tiny: [4]\n"),
        ["params.yaml: average.tiny: should be a mapping, got [4]"],
    ),
    "an unknown name": (
        lambda text: text.replace(BUILD, BUILD.replace("phrasebook_fr_en", "phrasebook_fr")),
        ["params.yaml: build.corpora: unknown corpus, got 'phrasebook_fr'; nearest is 'phrasebook_fr_en'"],
    ),
    "a key twice": (
        lambda text: text + "\naverage: {}\n",
        ['not valid YAML, while constructing a mapping, found duplicate key "average"'],
    ),
    "a tab": (lambda text: text.replace("\n  corpora:", "\n\tcorpora:"), ["not valid YAML, "]),
    "cut": (lambda text: text[: text.index("{kind: bpe") + 9], ["not valid YAML, "]),
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
        lambda text: text.replace(AVERAGE, f"\n  tiny: {{checkpoints: {'x' * 10**6}}}\n"),
        [f"params.yaml: average.tiny.checkpoints: should be a valid integer, got '{'x' * 199}..."],
    ),
    "wider than any memory": (
        lambda text: prenorm(text, "width: 128", "width: 1000000000000"),
        [f"params.yaml: {WIDE}"],
    ),
    "more layers than any": (
        lambda text: prenorm(text, "encoder_layers: 2", "encoder_layers: 100000"),
        [
            "params.yaml: models.transformer_prenorm.tiny.encoder_layers: should be less than or equal to 1000, "
            "got 100000"
        ],
    ),
    "a beam without end": (
        lambda text: text.replace("beam_size: 5", "beam_size: 100000"),
        ["params.yaml: decode.beam_size: should be less than or equal to 1000, got 100000"],
    ),
    "updates without end": (
        lambda text: text.replace("updates: 600", "updates: 10000000000"),
        ["params.yaml: training.phrasebook_fr_en.updates: should be at most 2147483647, got 10000000000"],
    ),
    "a vocabulary without end": (
        lambda text: text.replace("size: 2000,", "size: 2000000000000,"),
        ["params.yaml: vocabularies.bpe_2k.size: should be less than or equal to 1000000, got 2000000000000"],
    ),
}


def prenorm(text: str, old: str, new: str) -> str:
    """The file with one value of transformer_prenorm's tiny size changed."""
    before, found, after = text.partition("\n  transformer_prenorm:")
    default, tiny, after = after.partition("\n    tiny:")
    return before + found + default + tiny + after.replace(old, new, 1)


CORPUS = "corpora/phrasebook_fr_en.yaml"
CORPORA = {  # the same of a corpus's file
    "no file at all": (
        None,
        ["params.yaml: build.corpora: unknown corpus, got 'phrasebook_fr_en'; expected one of eng_fra_by_line_fr_en, "],
    ),
    "empty": (lambda text: "", [f"{CORPUS}: must be a mapping of sections, got nothing"]),
    "a list": (lambda text: "- licence\n", [f"{CORPUS}: must be a mapping of sections, got ['licence']"]),
    "binary": (lambda text: "\x00\x01", [f"{CORPUS}: not valid YAML, unacceptable character #x0000"]),
    "section misspelt": (
        lambda text: text.replace("\ndecode:", "\ndecod:"),
        [f"{CORPUS}: decode: is missing", f"{CORPUS}: decod: unknown key; nearest is 'decode'"],
    ),
    "no parts": (lambda text: text.partition("parts:")[0], [f"{CORPUS}: parts: is missing"]),
    "a string for a section": (
        lambda text: text.replace("clean: {}", "clean: none"),
        [f"{CORPUS}: clean: should be a mapping, got 'none'"],
    ),
    "nothing in a section": (
        lambda text: text.replace("decode: {}", "decode:"),
        [f"{CORPUS}: decode: should be a mapping, got None"],
    ),
    "a key of another section": (
        lambda text: text.replace("clean: {}", "clean: {beam_size: 4}"),
        [f"{CORPUS}: clean.beam_size: unknown key"],
    ),
    "a key twice": (
        lambda text: text + "decode: {}\n",
        [f"{CORPUS} line ", 'not valid YAML, while constructing a mapping, found duplicate key "decode"'],
    ),
    "a tab": (lambda text: text.replace("\n  train:", "\n\ttrain:"), [f"{CORPUS} line ", "not valid YAML, "]),
    "cut": (lambda text: text[: text.index("{kind: phrasebook") + 9], [f"{CORPUS} line ", "not valid YAML, "]),
    "aliases of aliases": (
        lambda text: BOMB + text,
        [f"{CORPUS}: holds more than 100000 values, aliases counted; expected far fewer"],
    ),
    "hundreds of lists in one another": (
        lambda text: f"a: {'[' * 600}{']' * 600}\n{text}",
        [f"{CORPUS}: is nested too deeply; expected sections in sections, a few deep"],
    ),
    "a beam without end": (
        lambda text: text.replace("decode: {}", "decode: {beam_size: 100000}"),
        [f"{CORPUS}: decode.beam_size: should be less than or equal to 1000, got 100000"],
    ),
    "pairs without end": (
        lambda text: text.replace("num_pairs: 14000", "num_pairs: 10000000000"),
        [f"{CORPUS}: parts.train.num_pairs: should be at most 2147483647, got 10000000000"],
    ),
}


def lay_out(project_root: Path, root: Path) -> None:
    """Copy the project's own params.yaml and corpora."""
    shutil.copyfile(project_root / "params.yaml", root / "params.yaml")
    shutil.copytree(project_root / "corpora", root / "corpora")


def spoil(path: Path, edit: Callable[[str], str] | None) -> None:
    """Write a fault into a file, or remove it."""
    text = path.read_text(encoding="utf-8")
    path.unlink()
    if edit:
        assert edit(text) != text
        path.write_text(edit(text), encoding="utf-8")


def said_at_once() -> list[str]:
    """What the check says, in lines that are not long."""
    began = time.process_time()
    with pytest.raises(ParamsError) as error:
        catalogue.check()
    assert time.process_time() - began < 10
    said = str(error.value).splitlines()
    assert all(len(line) < 500 for line in said)
    return said


@pytest.mark.parametrize("kind", FILES)
def test_a_fault_is_named_at_once(kind, project_root, tmp_path, monkeypatch, campaign):
    monkeypatch.chdir(tmp_path)
    lay_out(project_root, tmp_path)
    edit, lines = FILES[kind]
    spoil(tmp_path / "params.yaml", edit)
    with campaign.trying("params.yaml that DVC trips over", kind):
        said = said_at_once()
        assert all(line.startswith("params.yaml") for line in said)
        assert all(any(line in one for one in said) for line in lines), said


@pytest.mark.parametrize("kind", CORPORA)
def test_a_fault_of_a_corpus_is_named_at_once(kind, project_root, tmp_path, monkeypatch, campaign):
    monkeypatch.chdir(tmp_path)
    lay_out(project_root, tmp_path)
    edit, lines = CORPORA[kind]
    spoil(tmp_path / CORPUS, edit)
    with campaign.trying("a corpus's file that DVC trips over", kind):
        said = said_at_once()
        unknown = "params.yaml: build.corpora: unknown corpus"  # where the whole file is gone
        assert all(line.startswith(CORPUS if (tmp_path / CORPUS).exists() else unknown) for line in said), said
        assert all(any(line in one for one in said) for line in lines), said
