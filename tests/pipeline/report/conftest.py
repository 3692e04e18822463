"""A small corpus as the report reads it."""

import pytest

from pipeline.common.system import Build
from pipeline.report.results import read_corpora
from tests.toys.results import write_project


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Corpora whose systems have these BLEU scores, one a seed."""

    def read_project(**scores):
        write_project(tmp_path, {model: bleu if isinstance(bleu, list) else [bleu] for model, bleu in scores.items()})
        monkeypatch.chdir(tmp_path)
        return list(read_corpora(Build.load("build").systems()))

    return read_project
