"""The peak of memory; imports only what every contestant has, so that it adds nothing to what it measures."""

import resource
import sys


def peak_gib() -> float:
    """Of a GPU's tensors, where torch has one, or of this process and those it started, whichever is larger."""
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_available():
        return float(torch.cuda.max_memory_allocated() / 2**30)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return peak / (2**30 if sys.platform == "darwin" else 2**20)  # macOS counts in bytes, Linux in KiB
