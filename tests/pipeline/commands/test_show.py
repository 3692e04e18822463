"""`nmt list` and `nmt check`."""

import pytest
from ruamel.yaml import YAML

from pipeline.common import files
from pipeline.common.system import System

PRENORM = "toy-bpe-transformer_prenorm-toy-1"


def build(system: str, metrics: object) -> None:
    """Leave what makes a system count as built, and its scores."""
    one = System.parse(system)
    one.vocabulary_folder.mkdir(parents=True, exist_ok=True)
    for path in (one.weights, one.training_summary):
        files.write_lines(path, [])
    files.write_json(one.metrics, metrics)


def test_the_list_has_what_there_is_and_stars_what_is_chosen(toy, run):
    build(PRENORM, {"validation": {"loss": 0.2}, "test": {"bleu": 94.1393, "sentences": 1234}})
    build("gone-bpe-rnnsearch-small-2", {"test": {"bleu": 7.04}})
    lines = run("list").out.splitlines()
    assert lines[:4] == ["corpora:", "  * toy", "vocabularies:", "  * bpe"]
    assert "  * transformer_prenorm: toy*" in lines
    assert lines[-4:] == [
        "systems:",
        "  * toy-bpe-transformer_postnorm-toy-1: not built",
        f"  * {PRENORM}: test bleu 94.1 sentences 1,234",
        "    gone-bpe-rnnsearch-small-2: test bleu 7.0",
    ]


@pytest.mark.parametrize("text", [PRENORM, "prenorm"])
def test_params_composes_the_sections_of_a_system(toy, run, text):
    sections = YAML(typ="safe").load(run("params", text).out)
    assert sections["training"]["updates"] == 6
    assert sections["transformer_prenorm"]["width"] == 16


def test_params_of_no_system_names_the_nearest(toy, fails):
    assert fails("params", "transformer_prenrm-toy-1").endswith(f"nearest is {PRENORM!r}")


def test_check_says_what_has_no_fault(toy, run):
    status, out, err = run("check")
    assert (status, err) == (0, "")
    assert out.startswith("no faults in params.yaml, configs/ (")
    assert out.endswith(" models) and corpora/ (1)\n")


@pytest.mark.parametrize("command", ["check", "list", "repro"])
def test_a_fault_of_params_is_named_first(toy, fails, command):
    text = (toy / "params.yaml").read_text(encoding="utf-8")
    (toy / "params.yaml").write_text(text.replace("  - bpe\n", "  - bpo\n", 1), encoding="utf-8")
    assert fails(command) == "params.yaml: build.vocabularies: unknown name, got 'bpo'; nearest is 'bpe'"
