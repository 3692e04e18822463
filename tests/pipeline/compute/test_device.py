"""Settings that make results reproducible; a user's own stay."""

import os
from types import SimpleNamespace

import psutil
import pytest
import torch

from pipeline.compute import device

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def unchanged(monkeypatch):
    """What the functions set holds for one test only."""
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", torch.backends.cudnn.allow_tf32)
    state, deterministic = torch.get_rng_state(), torch.are_deterministic_algorithms_enabled()
    filled = torch.utils.deterministic.fill_uninitialized_memory
    yield
    torch.set_rng_state(state)
    torch.use_deterministic_algorithms(deterministic)
    torch.utils.deterministic.fill_uninitialized_memory = filled


@pytest.mark.parametrize(("available", "expected"), [(True, "cuda"), (False, "cpu")])
def test_the_best_device_with_fp32_that_is_fp32(monkeypatch, available, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)  # as torch has it
    assert device.prepared() == torch.device(expected)
    assert not torch.backends.cudnn.allow_tf32


def test_the_same_seed_the_same_draws_by_deterministic_kernels():
    device.be_deterministic(5)
    first = torch.rand(4)
    device.be_deterministic(5)
    assert torch.equal(torch.rand(4), first)
    assert torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(
    ("set_up", "name", "value"),
    [
        (lambda: device.be_deterministic(1), "CUBLAS_WORKSPACE_CONFIG", ":4096:8"),
        (device.bound_memory, "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128"),
    ],
)
def test_a_variable_of_the_users_stays(set_up, name, value):
    os.environ.pop(name, None)
    set_up()
    assert os.environ[name] == value
    os.environ[name] = "theirs"
    set_up()
    assert os.environ[name] == "theirs"


@pytest.mark.parametrize(("newest", "expected"), [(None, True), ("avx512_core_bf16", True), ("AVX2", False)])
def test_bf16_needs_instructions_that_onednn_may_use(monkeypatch, newest, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    os.environ.pop("ONEDNN_MAX_CPU_ISA", None)
    os.environ |= {"ONEDNN_MAX_CPU_ISA": newest} if newest else {}
    assert device.has_bf16(CPU) is expected


def test_peak_memory_in_gib_on_linux_and_macos(monkeypatch):
    for platform, unit in ("linux", 2**10), ("darwin", 1):
        monkeypatch.setattr(device.sys, "platform", platform)
        usage = SimpleNamespace(ru_maxrss=3 * 2**30 // unit)
        monkeypatch.setattr(device.resource, "getrusage", lambda who, usage=usage: usage)
        assert device.peak_memory_gib(CPU) == 3.0


def test_pages_that_nothing_uses_go_back():
    """Small tensors kept between large ones, as a training leaves them."""
    kept = []
    for number in range(400):
        large = [torch.ones(100, 300) for _ in range(4)]  # 120 KB each, below glibc's threshold for pages of their own
        kept += [torch.ones(8), *(large if number % 2 else [])]
        del large
    small = [tensor for tensor in kept if len(tensor) == 8]
    del kept
    before = psutil.Process().memory_info().rss
    device.release_memory()
    assert psutil.Process().memory_info().rss < before
    assert len(small) == 400
