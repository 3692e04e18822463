"""Average the last checkpoints of one system: runs/<system>/train/ -> runs/<system>/average/."""

import shutil
from pathlib import Path

from pipeline import cli, files, summaries
from pipeline.averaging import Averaging, average_checkpoints
from pipeline.fingerprint import states_folder
from pipeline.params import Reader
from pipeline.tracking import runs
from pipeline.training import checkpoint_file

READS = ("average.{size}",)


def main(corpus: str, vocabulary: str, model: str, size: str) -> None:
    """Average the last checkpoints: as many as `average.<size>` says, or all if there are fewer."""
    system = f"{corpus}-{vocabulary}-{model}-{size}"
    number = Reader(READS, size=size)(Averaging, *READS).checkpoints
    train = Path("runs", system, "train")
    names = summaries.read(train / "checkpoints/checkpoints.json", summaries.CheckpointList)["last"][-number:]
    fingerprint = summaries.read(train / "training.json", summaries.TrainingSummary)["fingerprint"]
    out = Path("runs", system, "average")
    with files.new_folder(out) as folder:
        weights = average_checkpoints([train / "checkpoints" / name for name in names])
        checkpoint_file.save_tensors(folder / "model.safetensors", weights)
        files.write_json(folder / "average.json", {"checkpoints": names})
    with runs.system_run(system, stage="average", fingerprint=fingerprint) as run:
        run.artifact(out, "average")
    shutil.rmtree(
        states_folder(system, fingerprint), ignore_errors=True
    )  # DVC has recorded the outputs of the training


if __name__ == "__main__":
    cli.run(main)
