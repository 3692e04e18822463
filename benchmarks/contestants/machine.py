"""The machine, and what a process has held of its memory."""

import platform
import resource
import sys
import time
from pathlib import Path

import torch

from pipeline.compute import device


def describe() -> str:
    """The processor or GPU, torch's version and today's date."""
    return f"{processor()}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}"


def processor() -> str:
    """The name of the GPU, if there is one, or of the processor."""
    if device.best().type == "cuda":
        return torch.cuda.get_device_name()
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def peak_gib() -> float:
    """Peak of a GPU's tensors, or of this process and those it started, whichever is larger."""
    if torch.cuda.is_available():
        return float(torch.cuda.max_memory_allocated() / 2**30)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return peak / (2**30 if sys.platform == "darwin" else 2**20)  # macOS counts in bytes, Linux in KiB
