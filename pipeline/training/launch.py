"""Starting as many processes of a training as there are GPUs, or as an environment variable says."""

import logging
import os
import signal
import sys
from collections.abc import Sequence

import torch
from torch.distributed import DistError
from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous import RendezvousError

PROCESSES = "TRAIN_PROCESSES"  # on this machine; the trained model depends on it in its last bits only


class ProcessesError(ValueError):
    """A number of processes that cannot be started."""


class UnmetError(ValueError):
    """Machines of one training that did not find each other."""


def is_due() -> bool:
    """Whether this process is to start others rather than to train: not where torchrun started it, or for one alone."""
    return "RANK" not in os.environ and (processes() > 1 or "PET_NNODES" in os.environ)


def processes() -> int:
    """How many train on this machine: `TRAIN_PROCESSES`, or one a GPU, or one on a CPU.

    Raises: ProcessesError where the variable is no number, or more than there are GPUs.
    """
    gpus = torch.cuda.device_count()
    text = os.environ.get(PROCESSES, str(max(gpus, 1)))
    number = int(text) if text.isdecimal() else 0
    if not number or 0 < gpus < number:
        most = f"1 to {gpus}, the number of GPUs" if gpus else "1 or more"
        raise ProcessesError(f"environment variable {PROCESSES}: must be a number, {most}, got {text!r}")
    return number


def writes() -> bool:
    """Whether this process writes what the training leaves: the only one, or rank 0 of several."""
    return not is_due() and os.environ.get("RANK", "0") == "0"


def launch(module: str, arguments: Sequence[str]) -> None:
    """Run `python -m module arguments` as `processes()` ranks; returns once all have ended well.

    torchrun's own options may come from its environment variables, so `PET_NNODES`, `PET_NODE_RANK`, `PET_MASTER_ADDR`
    and `PET_MASTER_PORT` on each of several machines make one training of them.
    Raises: SystemExit with the status of the first rank that failed, which has said why. UnmetError where the machines
    did not meet in torchrun's time, 15 minutes.
    """
    logging.getLogger("torch.distributed").setLevel(logging.CRITICAL)
    number = processes()
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, torch.get_num_threads() // number)))
    os.environ.setdefault("PET_SHUTDOWN_TIMEOUT", "3600")  # seconds; in its 30 no validation ends and no state is saved
    several = [] if "PET_NNODES" in os.environ else ["--standalone", "--local-addr=localhost"]
    options = torchrun.parse_args([*several, f"--nproc-per-node={number}", "-m", module, *arguments])
    try:
        torchrun.run(options)
    except SignalException as ended:
        sys.exit(128 + ended.sigval)
    except ChildFailedError as failed:
        rank, failure = failed.get_first_failure()
        if failure.exitcode < 0:
            name = signal.Signals(-failure.exitcode).name
            print(f"error: rank {rank} was ended by {name}; repeat the command to go on", file=sys.stderr)
        sys.exit(failure.exitcode if failure.exitcode > 0 else 128 - failure.exitcode)
    except (DistError, RendezvousError) as error:
        reason = next(iter(str(error).splitlines()), "")
        raise UnmetError(
            f"the machines of this training did not meet ({reason}); expected all of them started within 15 minutes, "
            "with the address of the first in PET_MASTER_ADDR and PET_MASTER_PORT"
        ) from None
