"""What every test has: no network but this machine, and the folder the project stands in."""

import ipaddress
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from tests.toys.project import Project, create

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


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Connections leave this machine in no test: sockets are unix ones or reach a loopback address."""
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, guarded(getattr(socket.socket, name)))
    monkeypatch.setattr(socket, "getaddrinfo", guarded_lookup(socket.getaddrinfo))


def guarded(connect):
    """`connect`, for addresses of this machine."""

    def connect_here(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            refuse_unless_here(address[0])
        return connect(self, address)

    return connect_here


def guarded_lookup(lookup):
    """`lookup`, for names of this machine: a question to a name server is network too."""

    def lookup_here(host, *args, **kwargs):
        refuse_unless_here(host)
        return lookup(host, *args, **kwargs)

    return lookup_here


def refuse_unless_here(host):
    """Raise where `host` is not this machine; no OSError, which code under test may take for a passing failure."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost", socket.gethostname()):
        return
    try:
        here = ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        here = False
    if not here:
        raise RuntimeError(f"tests have no network, got a connection to {name}")
