import shutil

import pytest
import torch
from safetensors.torch import save_file

from pipeline import files, ids
from pipeline.models import transformer_prenorm
from pipeline.system import System
from pipeline.vocabularies.vocabulary import digest
from stages import decode
from tests.toys import networks, systems
from tests.toys.systems import PARTS, SYSTEM


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Everything the stage reads: parts, a vocabulary, random weights."""
    systems.lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def translations(part):
    path = System.parse(SYSTEM).decoded / part
    return path.read_text().removesuffix("\n").split("\n")


def test_one_line_out_per_line_in_whatever_the_batch_size(project, run, monkeypatch):
    done = run("decode", SYSTEM)
    assert (done.returncode, done.stderr) == (0, "warning: decode test: 1 lines longer than in training, cut to that\n")
    out = project / "data/decode" / SYSTEM
    assert sorted(path.name for path in out.iterdir()) == ["decode.json", "other.txt", "test.txt"]
    lines = translations("test.txt")
    assert len(lines) == len(PARTS["test"])
    assert lines[1] == lines[3] == ""
    params = project / "params.yaml"
    params.write_text(params.read_text().replace("tokens_per_batch: 60", "tokens_per_batch: 2000"))
    decode.main(SYSTEM)
    assert translations("test.txt") == lines


def test_a_corpus_may_have_its_own_settings(project):
    """They are searched with and written down; what is not given is section `decode`'s."""
    files.write_lines(project / "corpora/toy.yaml", ["decode: {max_length_factor: 0.0, max_length_offset: 1}"])
    decode.main(SYSTEM)
    assert all(len(line.split()) <= 1 for line in translations("test.txt"))
    settings = files.read_json(project / "data/decode" / SYSTEM / "decode.json")
    assert (settings["max_length_factor"], settings["max_length_offset"], settings["beam_size"]) == (0.0, 1, 3)


def test_a_fault_leaves_nothing(project):
    (project / "data/split/toy/test.source.txt").write_bytes(b"le chat\nle \xff chat\n")
    with pytest.raises(files.DataError, match=r"test.source.txt line 2: invalid UTF-8, got byte 0xff at column 4"):
        decode.main(SYSTEM)
    assert list((project / "data/decode").iterdir()) == []


def test_whole_words_are_translated_twice(project):
    """With unknown words where the model wants them, and without for sentences that have none on either side."""
    folder = project / "data/vocabulary/toy-bpe_toy"
    shutil.rmtree(folder)
    folder.mkdir()
    for side in ("source", "target"):
        files.write_json(folder / f"{side}.words.json", {"language": "fr", "words": ["le", "chat", "noir", "dort"]})
    about = {"kind": "word", "joint": False, "source_size": 8, "target_size": 8}
    files.write_json(folder / "vocabulary.json", about)
    training = project / "runs" / SYSTEM / "train/training.json"
    files.write_json(training, files.read_json(training) | {"vocabulary": digest(folder)})
    arch = transformer_prenorm.Arch.model_validate(networks.ARCHS["transformer_prenorm"])
    torch.manual_seed(1)
    net = transformer_prenorm.Model(arch, source_size=8, target_size=8)
    net.embeddings.bias.data[ids.UNK] += 5
    net.embeddings.bias.data[ids.EOS] -= 2
    save_file(net.state_dict(), project / "runs" / SYSTEM / "average/model.safetensors")
    decode.main(SYSTEM)
    assert "UNK" in translations("test.txt")[0].split()
    assert [len(translations(f"{part}.txt")) for part in ("test", "other")] == [len(PARTS["test"]), len(PARTS["other"])]
    known = [translations(f"without_unknown/{part}.txt") for part in ("test", "other")]
    assert [len(lines) for lines in known] == [5, 1]  # the other lines have words that are not listed
    assert known[0][0]
    assert not any("UNK" in line for line in known[0])
