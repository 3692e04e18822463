"""Stage average, in process, on three small checkpoints."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pipeline import files, weights
from stages import average

SYSTEM = "toy-joint-transformer_prenorm-tiny-1"
NAMES = [f"update_{update:08d}.safetensors" for update in (2, 4, 6)]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """What training left: three checkpoints and a summary; its states, and those of another training."""
    monkeypatch.chdir(tmp_path)
    files.write_lines(Path("corpora/toy.yaml"), ["average: {}"])
    train = Path("runs", SYSTEM, "train")
    for value, name in zip((1.0, 2.0, 6.0), NAMES, strict=True):
        weights.save(train / "checkpoints" / name, {"weight": torch.full((2, 2), value), "bias": torch.zeros(1)})
    files.write_json(train / "checkpoints/checkpoints.json", {"last": NAMES, "best": NAMES[:1]})
    for path, updates in ((train, 6), (Path(f"work/train/{SYSTEM}-a"), 6), (Path(f"work/train/{SYSTEM}-b"), 8)):
        files.write_json(path / "training.json", {"updates": updates})


@pytest.mark.parametrize(("checkpoints", "mean"), [(2, 4.0), (9, 3.0)])
def test_the_last_are_averaged_and_states_go(project, checkpoints, mean):
    files.write_lines(Path("params.yaml"), [f"average: {{checkpoints: {checkpoints}}}"])
    average.main(SYSTEM)
    out = Path("runs", SYSTEM, "average")
    values = {name: weight.unique().tolist() for name, weight in load_file(out / "model.safetensors").items()}
    assert values == {"weight": [mean], "bias": [0.0]}
    assert files.read_json(out / "average.json") == {"checkpoints": NAMES[-checkpoints:]}
    assert [path.name for path in Path("work/train").iterdir()] == [f"{SYSTEM}-b"]
