"""Starts one training process per GPU, or as many as the environment variable TRAIN_PROCESSES says."""

import logging
import os
import signal
import sys
from collections.abc import Sequence

import torch

from .ranks import RanksError

PROCESSES = "TRAIN_PROCESSES"  # an environment variable: with as many threads each, results are the same


def is_due() -> bool:
    """Whether this process should start the ranks rather than train itself."""
    return "RANK" not in os.environ and (processes() > 1 or "PET_NNODES" in os.environ)


def processes() -> int:
    """Number of training processes on this machine: `TRAIN_PROCESSES`, else one per GPU, else one.

    Raises: RanksError if the variable is not a number or exceeds the number of GPUs.
    """
    gpus = torch.cuda.device_count()
    text = os.environ.get(PROCESSES, str(max(gpus, 1)))
    number = int(text) if text.isdecimal() else 0
    if not number or 0 < gpus < number:
        most = f"1 to {gpus}, the number of GPUs" if gpus else "1 or more"
        raise RanksError(f"environment variable {PROCESSES}: must be a number, {most}, got {text!r}")
    return number


def launch(module: str, arguments: Sequence[str]) -> None:
    """Run `python -m module arguments` as `processes()` ranks under torchrun; returns once all have succeeded.

    torchrun also reads its options from environment variables: set `PET_NNODES`, `PET_NODE_RANK`, `PET_MASTER_ADDR` and
    `PET_MASTER_PORT` on each of several machines to train on all of them.
    Raises: SystemExit with the status of the first rank that failed, which has reported why.
    """
    from torch.distributed import run as torchrun
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    # What torchrun says of failures that are not fatal is hidden: at the end, another machine may leave sooner.
    logger = logging.getLogger("torch.distributed")
    logger.setLevel(logging.CRITICAL)
    for handler in logger.handlers:  # which also get what the loggers below let through
        handler.setLevel(logging.CRITICAL)
    number = processes()
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, torch.get_num_threads() // number)))
    # Seconds until ranks asked to stop are killed; the default of 30 is too short for a validation and a checkpoint.
    os.environ.setdefault("PET_SHUTDOWN_TIMEOUT", "3600")
    alone = [] if "PET_NNODES" in os.environ else ["--standalone", "--local-addr=localhost"]
    try:
        torchrun.run(torchrun.parse_args([*alone, f"--nproc-per-node={number}", "-m", module, *arguments]))
    except SignalException as ended:
        sys.exit(128 + ended.sigval)
    except ChildFailedError as failed:
        rank, failure = failed.get_first_failure()
        if failure.exitcode < 0:
            name = signal.Signals(-failure.exitcode).name
            print(f"error: rank {rank} was ended by {name}; repeat the command to go on", file=sys.stderr)
        sys.exit(failure.exitcode if failure.exitcode > 0 else 128 - failure.exitcode)
