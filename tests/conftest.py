"""What every test has: no network but this machine, and the folder the project stands in."""

import hashlib
import ipaddress
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

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


def pytest_configure(config: pytest.Config) -> None:
    """Without a GPU, but for tests marked `gpu`: results are compared with those of the CPU."""
    if not re.search(r"(?<!not )\bgpu\b", config.option.markexpr):
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--all-faults`: what `make faults` gives; see tests/faults/conftest.py."""
    parser.addoption("--all-faults", action="store_true", help="try every fault of tests/faults, not a few of each")


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The folder that holds `pipeline`, `stages` and `params.yaml`."""
    return Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shipped_params(project_root) -> None:
    """Skips the tests that compare with values in our params.yaml once its user has other ones.

    `make schema` writes the checksum, and CI compares it, so that there no test skips for this.
    """
    found = hashlib.sha256((project_root / "params.yaml").read_bytes()).hexdigest()
    if found not in (project_root / "tests/params.sha256").read_text():
        pytest.skip("params.yaml has been edited, and this test compares with its first values")


@pytest.fixture(scope="module")
def dvc_leaves_nothing_behind(tmp_path_factory) -> Iterator[None]:
    """DVC keeps an index of each project it sees outside the project: here, for as long as a module's tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path_factory.mktemp("site")))
        yield


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
