"""Check the number of cores."""

import os

from pipeline import cores


def test_those_that_the_process_is_bound_to(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 3, 5}, raising=False)
    assert cores.count() == 3


def test_all_of_a_system_that_binds_none_such_as_macos(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert cores.count() == 8
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores.count() == 1
