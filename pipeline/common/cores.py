"""The cores of this machine that this process may use."""

import os


def count() -> int:
    """Their number; macOS cannot bind a process to some of them, so there all count."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
