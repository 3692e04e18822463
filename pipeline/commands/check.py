"""`nmt check`: faults in the files that DVC reads, found before DVC runs."""

import sys

from pipeline import catalogue


def check() -> None:
    """Name every fault of params.yaml, and bring back a dvc.lock that a kill cut short.

    `nmt repro` and `make repro` begin with it: DVC reads these files before it runs the stage `check`, and some faults
    make it fail with unclear messages.
    """
    catalogue.check()
    from pipeline.commands import lockfile  # DVC takes a second to import, which no other command needs

    if said := lockfile.keep_or_restore():
        print(said, file=sys.stderr)
