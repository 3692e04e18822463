"""Stands in for DVC in tests of `nmt repro`: notes how it is called, and says what the stages would say.

CHANGED is what `dvc status --json` prints; a stage with FAILS in its name fails, one with WAITS in it takes a minute.
"""

import os
import signal
import sys
import time
from pathlib import Path


def stopped(*_: object) -> None:
    Path(f"stopped-{os.getpid()}").touch()
    sys.exit(1)


words = sys.argv[1:]
with Path("calls.txt").open("a", encoding="utf-8") as calls:
    calls.write(f"{' '.join(words)} threads={os.environ.get('OMP_NUM_THREADS')}\n")
if "status" in words and os.environ.get("FAILS") == "status":
    sys.exit("ERROR: dvc.lock is invalid")
if "status" in words:
    print(os.environ["CHANGED"])
for stage in (word for word in words if "@" in word):
    print(f"Running stage '{stage}':\n> python -m stages", flush=True)
    print("toy  update 4/6  train 5.04\nwarning: no GPU", file=sys.stderr, flush=True)
    if os.environ.get("WAITS", "none") in stage:
        signal.signal(signal.SIGTERM, stopped)
        Path(f"waiting-{os.getpid()}").touch()
        time.sleep(60)
    if os.environ.get("FAILS", "none") in stage:
        sys.exit("error: no such file")
    print("Updating lock file 'dvc.lock'\n", flush=True)
