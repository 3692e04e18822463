"""Stage report: every chart that dvc.yaml draws, and the metrics that DVC shows of the systems."""

import pytest
from ruamel.yaml import YAML

from pipeline.common import files
from stages import report
from tests.toys.results import write_project


@pytest.fixture
def root(project, tmp_path, monkeypatch):
    """A project with two models of two seeds, their numbers chosen by hand."""
    monkeypatch.chdir(write_project(tmp_path, {"poor": [30.0, 32.0], "good": [90.0, 90.0]}))
    return tmp_path


def test_the_page_and_what_dvc_shows(root):
    report.main()
    assert "good wins" in (root / "report/index.html").read_text(encoding="utf-8")
    assert files.read_json(root / "report/metrics.json") == {
        "poor-tiny": {"loss": 1.25, "bleu": 31.0, "bleu_deviation": 1.4142},
        "good-tiny": {"loss": 1.25, "bleu": 90.0, "bleu_deviation": 0.0},
    }


def test_other_tools_find_every_systems_output(root):
    report.main()
    folder = root / "report/outputs/toy/test"
    assert {path.name for path in folder.iterdir()} == {
        *("source.txt", "reference.txt", "poor.txt", "good.txt", "pearmut.json")
    }
    campaign = files.read_json(folder / "pearmut.json")
    [item] = campaign["data"][2]
    assert item == {"item_id": "3", "src": "Oui !", "ref": "Yes !", "tgt": {"poor": "", "good": "Yes !"}}


def test_every_system_is_in_every_chart_that_dvc_draws(root, project_root):
    """And every chart that dvc.yaml names is there, by templates that are there."""
    report.main()
    for [(path, about)] in (plot.items() for plot in YAML(typ="safe").load(project_root / "dvc.yaml")["plots"]):
        rows = files.read_table(root / path)
        assert [row["system"] for row in rows][:: len(rows) - 1] == ["bpe-poor-tiny", "bpe-good-tiny"]
        assert {"corpus", about["x"], about["y"]} <= set(rows[0])
        assert (project_root / f".dvc/plots/{about['template']}.json").is_file()
