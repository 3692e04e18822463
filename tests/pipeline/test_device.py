import os
from types import SimpleNamespace

import psutil
import pytest
import torch

from pipeline import device


@pytest.fixture(autouse=True)
def unchanged(monkeypatch):
    """What the function sets holds for this test only."""
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    state = torch.get_rng_state()
    deterministic = torch.are_deterministic_algorithms_enabled()
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", torch.backends.cudnn.allow_tf32)
    filled = torch.utils.deterministic.fill_uninitialized_memory
    yield
    torch.set_rng_state(state)
    torch.use_deterministic_algorithms(deterministic)
    torch.utils.deterministic.fill_uninitialized_memory = filled
    os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)


@pytest.mark.parametrize(("there", "expected"), [(True, "cuda"), (False, "cpu")])
def test_the_best_device_there_is(monkeypatch, there, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    assert device.best() == torch.device(expected)


def test_the_memory_of_the_place_where_it_was_held(monkeypatch):
    for platform, unit in ("linux", 2**10), ("darwin", 1):
        monkeypatch.setattr(device.sys, "platform", platform)
        found = SimpleNamespace(ru_maxrss=3 * 2**30 // unit)
        monkeypatch.setattr(device.resource, "getrusage", lambda who, found=found: found)
        assert device.peak_memory_gib(torch.device("cpu")) == 3.0
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda where: 5 * 2**29)
    assert device.peak_memory_gib(torch.device("cuda")) == 2.5


def test_pages_that_nothing_uses_go_back(monkeypatch):
    """Small tensors kept between large ones, as a training leaves them."""
    kept = []
    for _ in range(400):
        large = [torch.ones(100, 300) for _ in range(4)]  # 120 KB each, below glibc's threshold for pages of their own
        kept.append(torch.ones(8))
        kept += large if len(kept) % 2 else []
        del large
    fragments = [tensor for tensor in kept if len(tensor) == 8]
    del kept
    before = psutil.Process().memory_info().rss
    device.release_memory()
    assert psutil.Process().memory_info().rss < before
    assert len(fragments) == 400


@pytest.mark.parametrize(("asked", "expected"), [(0, 3), (1, 1), (2, 2)])
def test_threads(set_threads, asked, expected):
    set_threads(3)
    device.use_threads(asked)
    assert torch.get_num_threads() == expected


def test_a_c_library_that_cannot_give_pages_back_is_left_alone(monkeypatch):
    monkeypatch.setattr(device.ctypes, "CDLL", lambda _: object())
    device.release_memory()


def test_fp32_is_fp32_in_recurrent_layers_too(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)  # as torch has it
    assert device.prepared() == device.best()
    assert not torch.backends.cudnn.allow_tf32


def test_the_same_seed_the_same_draws():
    device.be_deterministic(5)
    first = torch.rand(4)
    device.be_deterministic(5)
    assert torch.equal(torch.rand(4), first)
    device.be_deterministic(6)
    assert not torch.equal(torch.rand(4), first)


def test_kernels_are_deterministic():
    device.be_deterministic(1)
    assert torch.are_deterministic_algorithms_enabled()
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


def test_a_setting_of_the_users_stays(monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    device.be_deterministic(1)
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


def test_memory_of_onednn_is_bounded_unless_the_user_says_otherwise(monkeypatch):
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
    device.bound_memory()
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "7"
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY")
    device.bound_memory()
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "128"


@pytest.mark.parametrize(("newest", "expected"), [(None, True), ("avx512_core_bf16", True), ("AVX2", False)])
def test_bf16_needs_instructions_that_onednn_may_use(monkeypatch, newest, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    if newest:
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", newest)
    assert device.has_bf16(torch.device("cpu")) is expected
