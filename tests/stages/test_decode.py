import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from pipeline import files, ids
from pipeline.models import transformer_prenorm
from pipeline.vocabularies.vocabulary import digest
from tests.toys import networks, systems

ROOT = Path(__file__).parents[2]
SYSTEM, PARTS = systems.SYSTEM, systems.PARTS


@pytest.fixture
def project(tmp_path):
    """Everything the stage reads: parts, a vocabulary, random weights."""
    systems.lay_out(tmp_path)
    return tmp_path


SPELLINGS = [
    "le chat noir",
    "le chat\u202fnoir",
    "\ufeffle chat noir",
    "le c\u200bhat noi\u00adr",
    "le\u2028chat\x0bnoir",
]


def decode(project):
    return subprocess.run(
        [sys.executable, "-m", "stages.decode", "toy", "bpe_toy", "transformer_prenorm", "tiny"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )


def test_one_line_out_per_line_in_whatever_the_batch_size(project):
    done = decode(project)
    assert done.returncode == 0, done.stderr
    out = project / "data/decode" / SYSTEM
    assert sorted(path.name for path in out.iterdir()) == ["decode.json", "other.txt", "test.txt"]
    text = (out / "test.txt").read_text()
    lines = text.removesuffix("\n").split("\n")
    assert len(lines) == len(PARTS["test"])
    assert lines[1] == lines[3] == ""
    assert lines[0] not in ("", lines[4])
    params = project / "params.yaml"
    params.write_text(params.read_text().replace("tokens_per_batch: 60", "tokens_per_batch: 2000"))
    assert decode(project).returncode == 0
    assert (out / "test.txt").read_text() == text


def test_sources_are_normalised_and_their_files_stay_as_they_are(project):
    path = project / "data/split/toy/other.source.txt"
    path.write_bytes(raw := "".join(line + "\n" for line in SPELLINGS).encode())
    files.write_lines(project / "data/split/toy/other.target.txt", SPELLINGS)
    assert decode(project).returncode == 0
    translations = (project / "data/decode" / SYSTEM / "other.txt").read_text().removesuffix("\n").split("\n")
    assert len(translations) == len(SPELLINGS)
    assert set(translations) == {translations[0]} != {""}
    assert path.read_bytes() == raw


def test_a_fault_is_one_line_and_leaves_nothing(project):
    (project / "data/split/toy/test.source.txt").write_bytes(b"le chat\nle \xff chat\n")
    done = decode(project)
    assert done.returncode == 1
    assert done.stderr == (
        "error: data/split/toy/test.source.txt line 2: invalid UTF-8, got byte 0xff at column 4; "
        "expected text in UTF-8\n"
    )
    assert list((project / "data/decode").iterdir()) == []


def test_a_corpus_may_have_its_own_settings(project):
    """They are searched with and written down; what is not given is section `decode`'s."""
    files.write_lines(project / "corpora/toy.yaml", ["decode: {max_length_factor: 0.0, max_length_offset: 1}"])
    done = decode(project)
    assert done.returncode == 0, done.stderr
    out = project / "data/decode" / SYSTEM
    assert all(len(line.split()) <= 1 for line in (out / "test.txt").read_text().splitlines())
    settings = files.read_json(out / "decode.json")
    assert (settings["max_length_factor"], settings["max_length_offset"], settings["beam_size"]) == (0.0, 1, 3)


def test_whole_words_are_translated_twice(project):
    """With unknown words where the model wants them, and without for sentences that have none on either side."""
    folder = project / "data/vocabulary/toy-bpe_toy"
    shutil.rmtree(folder)
    folder.mkdir()
    listed = {"language": "fr", "words": ["le", "chat", "noir", "dort"]}
    for side in ("source", "target"):
        files.write_json(folder / f"{side}.words.json", listed)
    about = {"kind": "word", "joint": False, "source_size": 8, "target_size": 8}
    files.write_json(folder / "vocabulary.json", about)
    arch = transformer_prenorm.Arch.model_validate(networks.ARCHS["transformer_prenorm"])
    training = project / "runs" / SYSTEM / "train/training.json"
    files.write_json(training, files.read_json(training) | {"vocabulary": digest(folder)})
    torch.manual_seed(1)
    net = transformer_prenorm.Model(arch, source_size=8, target_size=8)
    net.embeddings.bias.data[ids.UNK] += 5
    net.embeddings.bias.data[ids.EOS] -= 2
    save_file(net.state_dict(), project / "runs" / SYSTEM / "average/model.safetensors")
    done = decode(project)
    assert done.returncode == 0, done.stderr
    out = project / "data/decode" / SYSTEM
    every = [(out / f"{part}.txt").read_text().splitlines() for part in ("test", "other")]
    assert [len(lines) for lines in every] == [len(PARTS["test"]), len(PARTS["other"])]
    assert "UNK" in every[0][0].split()
    known = [(out / f"without_unknown/{part}.txt").read_text().splitlines() for part in ("test", "other")]
    assert [len(lines) for lines in known] == [5, 1]  # the other lines have words that are not listed
    assert known[0][0]
    assert not any("UNK" in line for line in known[0])
