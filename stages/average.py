"""Average the last checkpoints of one system: runs/<system>/train/ -> runs/<system>/average/."""

import shutil

from pipeline import cli, files, summaries
from pipeline.averaging import Averaging, average_checkpoints
from pipeline.params import Reader
from pipeline.system import System
from pipeline.training import checkpoint_file, resuming

READS = ("average", "corpora/{corpus}.yaml:average")


def main(name: str) -> None:
    """Average the last checkpoints: as many as section `average` says, or all if there are fewer."""
    system = System.parse(name)
    number = Reader(READS, corpus=system.corpus)(Averaging, *READS).checkpoints
    checkpoints = system.trained / "checkpoints"
    names = summaries.read(checkpoints / "checkpoints.json", summaries.CheckpointList)["last"][-number:]
    with files.new_folder(system.averaged) as folder:
        weights = average_checkpoints([checkpoints / name for name in names])
        checkpoint_file.save_tensors(folder / "model.safetensors", weights)
        files.write_json(folder / "average.json", {"checkpoints": names})
    for folder in list(resuming.folders_of(system.training_summary, system.id)):  # DVC has recorded their training
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    cli.run(main)
