"""Fixtures of every test: no network but this machine, and the folder the project stands in."""

import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.toys.project import Project, create

HERE = (None, "", "localhost", socket.gethostname())
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported; tiny models are no faster in several
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # so a shell starts background jobs, and CI may be one
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what the tests start gets Ctrl-C as from a terminal
os.environ |= {
    "GIT_CONFIG_GLOBAL": os.devnull,  # hooks and signatures of a user's would run
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",  # the project may belong to another user, as in a container
    "GIT_CONFIG_VALUE_0": "*",
    "NO_PROXY": "127.0.0.1,localhost,::1",
    "no_proxy": "127.0.0.1,localhost,::1",
    "PYTHONWARNINGS": "ignore:CUDA initialization",  # of a driver that is older than torch
}


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """No bytes in the name of a test: those of an archive hold the time, and workers must agree on names."""
    return argname if isinstance(val, bytes) else None


def pytest_configure(config: pytest.Config) -> None:
    """Without a GPU, but for tests marked `gpu`: results are compared with those of the CPU."""
    if not re.search(r"(?<!not )\bgpu\b", config.option.markexpr):
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The folder that holds `pipeline`, `stages` and `params.yaml`."""
    return Path(__file__).parents[1]


@pytest.fixture(scope="session")
def built(tmp_path_factory, worker_id) -> Iterator[Project]:
    """The toy project, built once a test run by `dvc repro` and shared by all; tests leave it as it is."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared if worker_id == "master" else shared.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DVC_SITE_CACHE_DIR", str(shared / "dvc-site"))  # DVC's index of each project it sees
        with FileLock(shared / "built.lock"):
            if not (shared / "built/report").exists():
                create(shared / "built").repro()
        yield Project(shared / "built")


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """Sets how many threads torch has, until the test ends."""
    import torch  # seconds, which tests without it need not wait for

    before, setter = torch.get_num_threads(), torch.set_num_threads
    yield setter
    setter(before)


def refuse_the_network(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook that raises where a test connects to another machine, or asks for one by name.

    No OSError, which code under test may take for a passing failure.
    """
    if event == "socket.connect" and arguments[0].family in (socket.AF_INET, socket.AF_INET6):
        host = arguments[1][0]
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    name = host.decode() if isinstance(host, bytes) else host
    if name not in HERE and not re.fullmatch(r"127\.[0-9.]+|::1", name):
        raise RuntimeError(f"tests have no network, got a connection to {name}")


sys.addaudithook(refuse_the_network)
