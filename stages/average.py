"""Average the last checkpoints of one system: runs/<system>/train/ -> runs/<system>/average/."""

from typing import Any

from pipeline.averaging.checkpoints import Averaging, average_checkpoints
from pipeline.common import files
from pipeline.common.system import System
from pipeline.compute import weights
from pipeline.console import cli
from pipeline.training import resuming

READS = ("average", "corpora/{corpus}.yaml:average")


def main(name: str) -> None:
    """Average as many checkpoints as section `average` says, or all if there are fewer."""
    system = System.parse(name)
    number = Averaging.load(*READS, corpus=system.corpus).checkpoints
    checkpoints = system.trained / "checkpoints"
    names = chosen(files.read_json(checkpoints / "checkpoints.json"), files.read_json(system.training_summary), number)
    with files.new_folder(system.averaged) as folder:
        average = average_checkpoints([checkpoints / name for name in names])
        weights.save(folder / "model.safetensors", average)
        files.write_json(folder / "average.json", {"checkpoints": names})
    resuming.drop_states(system.id, system.training_summary)  # DVC has recorded the outputs of the training


def chosen(kept: dict[str, list[str]], summary: dict[str, Any], number: int) -> list[str]:
    """The last checkpoints; of a training that ran out of patience, the last up to its best update."""
    if summary["stopped"] != "patience" or not kept["best"]:
        return kept["last"][-number:]
    best = kept["best"][0]
    return sorted(name for name in {*kept["last"], *kept["best"]} if name <= best)[-number:]


if __name__ == "__main__":
    cli.run(main)
