"""Average the last checkpoints of one system: runs/<system>/train/ -> runs/<system>/average/."""

import shutil
from pathlib import Path

from pipeline import cli, files, tracking
from pipeline.fingerprint import states_folder
from pipeline.params import Reader
from pipeline.training.averaging import Averaging, average_checkpoints

READS = ("average",)


def main(corpus: str, vocabulary: str, model: str, size: str) -> None:
    """Average as many of the last checkpoints as section `average` says, or as many as there are."""
    from safetensors.torch import save_file  # which loads torch: after `cli`

    system = f"{corpus}-{vocabulary}-{model}-{size}"
    averaging = Reader(READS)(Averaging, "average")
    train = Path("runs", system, "train")
    names = files.read_json(train / "checkpoints/checkpoints.json")["last"][-averaging.checkpoints :]
    out = Path("runs", system, "average")
    with files.new_folder(out) as folder:
        save_file(average_checkpoints([train / "checkpoints" / name for name in names]), folder / "model.safetensors")
        files.write_json(folder / "average.json", {"checkpoints": names})
    key = files.read_json(train / "training.json")["fingerprint"]
    with tracking.system_run(system, stage="average", fingerprint=key) as run:
        run.artifact(out, "average")
    shutil.rmtree(states_folder(system, key), ignore_errors=True)  # DVC has noted what the training left


if __name__ == "__main__":
    cli.run(main)
