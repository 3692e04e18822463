"""Which device computes, and the settings that make its results reproducible."""

import ctypes
import os
import resource
import sys

import torch

# Values of oneDNN's `ONEDNN_MAX_CPU_ISA`, which names the newest instructions that it may use.
WITHOUT_BF16 = ("SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI")


def best() -> torch.device:
    """The first GPU of the machine, or its CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def has_bf16(device: torch.device) -> bool:
    """Whether the device has instructions for matrix products in bf16, which makes them faster than fp32.

    Not on a CPU where the environment keeps oneDNN from using them.
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper() in WITHOUT_BF16:
        return False
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def peak_memory_gib(device: torch.device) -> float:
    """Peak memory of this process in GiB: of its tensors on a GPU, of the whole process on a CPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**30
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**30 if sys.platform == "darwin" else 2**20)  # macOS counts in bytes, Linux in KiB


def prepared() -> torch.device:
    """The best device, with cuDNN's TF32 turned off: by default it computes fp32 with 10 bits of mantissa."""
    torch.backends.cudnn.allow_tf32 = False
    return best()


def be_deterministic(seed: int) -> None:
    """Use deterministic kernels and seed torch's generator: the same machine gives the same bits."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # slow, and guards against bugs only
    torch.manual_seed(seed)


def bound_memory() -> None:
    """Limit oneDNN's cache of compiled products to 128; call it before any arithmetic.

    The default of 1,024, with one entry per size of product, held 2.08 GiB after 100 updates of a small Transformer in
    bf16 and grew to 5.6 GiB. With `kernels/linear.py`, 128 is about as fast as more; 64 is 10 to 25 % slower.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")


def release_memory() -> None:
    """Return unused pages to the system, if the C library is glibc.

    Small blocks between freed large ones keep the heap from shrinking by itself: a small Transformer in bf16 held
    1,316 MiB after 1,290 updates, and 1,109 after this call.
    """
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
