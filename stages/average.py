"""Average the last checkpoints of one system: runs/<system>/train/ -> runs/<system>/average/."""

import shutil

from pipeline import cli, files, summaries
from pipeline.averaging import Averaging, average_checkpoints
from pipeline.fingerprint import states_folder, training_log
from pipeline.params import Reader
from pipeline.system import System
from pipeline.tracking import runs
from pipeline.training import checkpoint_file

READS = ("average", "corpora/{corpus}.yaml:average")


def main(name: str) -> None:
    """Average the last checkpoints: as many as section `average` says, or all if there are fewer."""
    system = System.parse(name)
    number = Reader(READS, corpus=system.corpus)(Averaging, *READS).checkpoints
    checkpoints = system.trained / "checkpoints"
    names = summaries.read(checkpoints / "checkpoints.json", summaries.CheckpointList)["last"][-number:]
    fingerprint = summaries.read(system.training_summary, summaries.TrainingSummary)["fingerprint"]
    with files.new_folder(system.averaged) as folder:
        weights = average_checkpoints([checkpoints / name for name in names])
        checkpoint_file.save_tensors(folder / "model.safetensors", weights)
        files.write_json(folder / "average.json", {"checkpoints": names})
    log = training_log(system.id, fingerprint)
    with runs.system_run(system.id, stage="average", fingerprint=fingerprint, missed=log) as run:
        run.artifact(system.averaged, "average")
    # DVC has recorded the outputs of the training.
    shutil.rmtree(states_folder(system.id, fingerprint), ignore_errors=True)


if __name__ == "__main__":
    cli.run(main)
