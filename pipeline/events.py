"""What a stage tells `nmt repro` while it runs: one line of JSON an event, among all else that it prints.

A stage sends them only if `nmt repro` asks, by an environment variable. Each is one JSON object behind the mark that
RFC 7464 gives to such lines, so that no other line is taken for one. `kind` says what happened to `stage`:

    began                                       it runs
    progress  done, total, unit, about, left    how far it is; `left` in seconds; total and left may be null
    ended     seconds, ok                       it is over
"""

import contextlib
import json
import os
from typing import Any

VARIABLE = "NMT_EVENTS"
MARK = "\x1e"
SECONDS = 0.5  # between two events of progress
stage = ""  # that this process runs, as DVC calls it


def are_wanted() -> bool:
    """Whether `nmt repro` runs this stage."""
    return bool(os.environ.get(VARIABLE)) and bool(stage)


def send(kind: str, **values: object) -> None:
    """Send an event, if wanted; one write, so that no other line gets between. A reader that has gone is no error."""
    if are_wanted():
        line = f"{MARK}{json.dumps({'kind': kind, 'stage': stage, **values})}\n"
        with contextlib.suppress(OSError):
            os.write(1, line.encode())


def parse(line: str) -> dict[str, Any] | None:
    """The event of a line; None if it is any other line."""
    if not line.startswith(MARK):
        return None
    try:
        event = json.loads(line[len(MARK) :])
    except ValueError:
        return None
    return event if isinstance(event, dict) and {"kind", "stage"} <= event.keys() else None
