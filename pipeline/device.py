"""Where the arithmetic is done, and that it is done the same way each time."""

import ctypes
import os
import resource

import torch


def best() -> torch.device:
    """The first GPU of the machine, or its CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def has_bf16(where: torch.device) -> bool:
    """Whether matrix products in bf16 have instructions of their own there, so that they are the quicker ones."""
    if where.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def peak_memory_gib(where: torch.device) -> float:
    """The most GiB that this process has held there: in tensors on a GPU, of the machine's memory on a CPU."""
    if where.type == "cuda":
        return torch.cuda.max_memory_allocated(where) / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def prepared() -> torch.device:
    """The best device; fp32 is fp32 there from here on: cuDNN by default takes TF32 for it, of 10 bits."""
    torch.backends.cudnn.allow_tf32 = False
    return best()


def use_threads(number: int) -> None:
    """Compute with so many threads from here on, on a CPU; 0 leaves as many as it has, or as `OMP_NUM_THREADS` says."""
    if number:
        torch.set_num_threads(number)


def be_deterministic(seed: int) -> None:
    """The same bits on the same machine: deterministic kernels, torch's generator at `seed`."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # a cost that guards only bugs
    torch.manual_seed(seed)


def bound_memory() -> None:
    """Few of oneDNN's compiled products kept, to be called before any arithmetic.

    Its default of 1,024, one for each size of product, held 2.08 GiB after 100 updates of a small Transformer in bf16
    and grew to 5.6 GiB. With `kernels/linear.py` 128 is about as quick as more, 64 loses 10 to 25 %.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")


def release_memory() -> None:
    """Give the pages that nothing uses back to the system, where the C library is glibc.

    Small blocks that stay between large ones that go keep the heap from shrinking by itself: a small Transformer in
    bf16 held 1,316 MiB after 1,290 updates, and 1,109 after this.
    """
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
