"""`python -m stages.distill <corpus>` with a small random teacher."""

import pytest
import torch
from ruamel.yaml import YAML
from safetensors.torch import load_file, save_file

from pipeline import files
from pipeline.decoding.translator import Translator
from stages import distill
from tests.toys import systems

LINES = [line for line in systems.PARTS["test"] if line.strip()]


@pytest.fixture
def project(tmp_path):
    """A built system, and the corpus `novel` that it teaches."""
    systems.lay_out(tmp_path)
    files.write_lines(tmp_path / "data/split/novel/train.source.txt", LINES)
    params, yaml = tmp_path / "params.yaml", YAML(typ="safe")
    teacher = dict(zip(("corpus", "vocabulary", "model", "size"), systems.SYSTEM.split("-"), strict=True))
    yaml.dump(yaml.load(params) | {"distill": {"teachers": {"novel": teacher}, "keep_references": []}}, params)
    return tmp_path


def test_every_source_gets_the_translation_that_the_teacher_decodes(project, run):
    for side in ("source", "target"):
        files.write_lines(project / f"data/split/toy/test.{side}.txt", LINES)
    done = run("distill", "novel")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert run("decode", *systems.SYSTEM.split("-")).returncode == 0
    folder, decoded = project / "data/targets/novel/distilled", project / "data/decode" / systems.SYSTEM
    assert (folder / "train.target.txt").read_text() == (decoded / "test.txt").read_text()
    settings = files.read_json(decoded / "decode.json") | distill.WITHOUT_MEMORY
    assert files.read_json(folder / "distill.json") == {"teacher": systems.SYSTEM, "decoding": settings}


@pytest.fixture
def killed_at(project, monkeypatch):
    """Kill the stage, in this process, when it begins its block of this number; all blocks that it begins."""
    monkeypatch.chdir(project)
    translate = Translator.translate

    def killed(number: int, *, size: int) -> list[list[str]]:
        begun = []

        def interrupted(self, lines, *arguments, **more):
            begun.append(lines)
            if len(begun) == number:
                raise KeyboardInterrupt
            return translate(self, lines, *arguments, **more)

        monkeypatch.setattr(distill, "BLOCK", size)
        monkeypatch.setattr(Translator, "translate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            distill.main("novel")
        return begun

    return killed


def test_a_killed_one_goes_on_where_it_was(project, run, killed_at):
    assert run("distill", "novel").returncode == 0
    translations = project / "data/targets/novel/distilled/train.target.txt"
    expected = translations.read_text()
    blocks = [LINES[begin : begin + 2] for begin in range(0, len(LINES), 2)]
    begun = killed_at(3, size=2)
    distill.main("novel")
    assert begun == [*blocks[:3], *blocks[2:]]
    assert translations.read_text() == expected
    assert not list((project / "work/distill").iterdir())


def test_what_another_teacher_translated_is_not_taken(project, killed_at):
    begun = killed_at(2, size=4)
    weights = project / "runs" / systems.SYSTEM / "average/model.safetensors"
    tensors = load_file(weights)
    save_file({name: -tensor for name, tensor in tensors.items()}, weights)
    distill.main("novel")
    assert not list((project / "work/distill").iterdir())
    assert begun[2:] == [LINES[begin : begin + 4] for begin in range(0, len(LINES), 4)]


def test_what_was_translated_in_another_precision_is_not_taken(project, killed_at, monkeypatch):
    begun, built = killed_at(2, size=4), Translator.built

    def built_in_bf16(system):
        translator = built(system)
        translator.precision = "bf16"
        return translator

    monkeypatch.setattr(Translator, "built", built_in_bf16)
    distill.main("novel")
    assert begun[2:] == [LINES[begin : begin + 4] for begin in range(0, len(LINES), 4)]


def test_what_another_kind_of_device_translated_is_not_taken(project, killed_at, monkeypatch):
    begun, built = killed_at(2, size=4), Translator.built

    def built_on_a_gpu(system):
        translator = built(system)
        translator.where = torch.device("cuda")
        return translator

    monkeypatch.setattr(Translator, "built", built_on_a_gpu)
    monkeypatch.setattr(Translator, "translate", lambda self, lines, *_, **__: begun.append(lines) or lines)
    distill.main("novel")
    assert begun[2:] == [LINES[begin : begin + 4] for begin in range(0, len(LINES), 4)]


def test_a_fault_is_one_line_and_leaves_nothing(project, run):
    (project / "data/split/novel/train.source.txt").write_bytes(b"le chat\nle \xff chat\n")
    done = run("distill", "novel")
    where = "data/split/novel/train.source.txt line 2"
    expected = f"error: {where}: invalid UTF-8, got byte 0xff at column 4; expected text in UTF-8\n"
    assert (done.returncode, done.stderr) == (1, expected)
    assert not list((project / "data/targets/novel").iterdir())


def test_a_teacher_that_is_not_built_is_named(project, run):
    (project / "runs" / systems.SYSTEM / "train/training.json").unlink()
    done = run("distill", "novel")
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: runs/{systems.SYSTEM}/train/training.json: no such file")
    assert done.stderr.count("\n") == 1
