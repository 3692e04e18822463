"""`nmt check`: faults in the files that DVC reads, found before DVC runs."""

import itertools
import sys
from collections.abc import Iterator

from pipeline import catalogue, device
from pipeline.system import Build
from pipeline.training.learning import Learning


def check() -> None:
    """Name every fault of params.yaml, and bring back a dvc.lock that a kill cut short.

    `nmt repro` and `make repro` begin with it: DVC reads these files before it runs the stage `check`, and some faults
    make it fail with unclear messages.
    """
    catalogue.check()
    from pipeline.commands import lockfile  # DVC takes a second to import, which no other command needs

    for line in (*slow_precisions(), lockfile.keep_or_restore()):
        if line:
            print(line, file=sys.stderr)


def slow_precisions() -> Iterator[str]:
    """A warning for each model and size of the build that trains in bf16 on a machine without instructions for it."""
    build = Build.load("build")
    for model, size in itertools.product(build.models, build.sizes):
        places = f"models.{model}.default", f"models.{model}.{size}"
        if Learning.load_own(*places).precision == "bf16" and not device.has_bf16(device.best()):
            yield (
                f"warning: params.yaml: {places[1]}.precision: bf16 is many times slower than fp32 on this machine, "
                "which has no instructions for it; expected auto or fp32"
            )
