"""Average the last checkpoints of one system: runs/<system>/train/ -> runs/<system>/average/."""

from pipeline.averaging.checkpoints import Averaging, average_checkpoints, names_to_average
from pipeline.common import files
from pipeline.common.system import System
from pipeline.compute import weights
from pipeline.console import cli

READS = ("average", "corpora/{corpus}.yaml:average")


def main(name: str) -> None:
    """Average as many checkpoints as section `average` says, or all if there are fewer."""
    system = System.parse(name)
    number = Averaging.load(*READS, corpus=system.corpus).checkpoints
    checkpoints, stopped = system.trained / "checkpoints", files.read_json(system.training_summary)["stopped"]
    names = names_to_average(files.read_json(checkpoints / "checkpoints.json"), stopped, number)
    with files.new_folder(system.averaged) as folder:
        average = average_checkpoints([checkpoints / name for name in names])
        weights.save(folder / "model.safetensors", average)
        files.write_json(folder / "average.json", {"checkpoints": names})


if __name__ == "__main__":
    cli.run(main)
