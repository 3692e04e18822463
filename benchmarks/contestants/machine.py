"""What the machine is and what it could do at best."""

import platform
import time
from pathlib import Path
from typing import Any

import torch

from pipeline import device

FASTER = "bf16" if device.has_bf16(device.best()) else "fp32"  # the precision of trainings that may choose


def describe() -> str:
    """The processor, torch's version and today's date."""
    return f"{processor()}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}"


def processor() -> str:
    """The name of the GPU, if there is one, or of the processor."""
    if device.best().type == "cuda":
        return torch.cuda.get_device_name()
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def matrix_speed(precision: str, size: int = 2048, seconds: float = 2.0) -> float:
    """FLOPs a second of a large square matrix product: the best there is for what models do."""
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    where = device.best()
    if where.type == "cuda":
        size *= 4
    left, right = (torch.randn(size, size, device=where).to(dtype) for _ in range(2))
    (left @ right)[0, 0].item()
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        (left @ right)[0, 0].item()  # waits for it
        count += 1
    return 2 * size**3 * count / (time.perf_counter() - began)


def flops_per_token(given: dict[str, Any]) -> float:
    """FLOPs of forward and backward for a target token and a source token of its own, attention's products left out.

    Two for each weight of a matrix and token forward, twice as many backward.
    """
    width, hidden = given["width"], given["feed_forward"]
    encoder = 4 * width**2 + 2 * width * hidden
    decoder = 8 * width**2 + 2 * width * hidden
    return 6.0 * (given["layers"] * (encoder + decoder) + given["vocabulary"] * width)
