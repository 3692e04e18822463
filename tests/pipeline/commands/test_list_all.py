"""`nmt list`: all that could be built, what is chosen, and how well what was built does."""

import shutil
from pathlib import Path

import pytest
from dvc.utils.serialize import modify_yaml

from pipeline import catalogue, files
from pipeline.commands import list_all
from pipeline.params import DEFAULT, read_yaml
from pipeline.system import System
from tests.toys import systems

CHOSEN = "phrasebook_fr_en-bpe_2k-transformer_prenorm-tiny"


@pytest.fixture
def folder(project_root, shipped_params, tmp_path, monkeypatch) -> Path:
    """A folder with the project's params.yaml and corpora, to which the test goes."""
    shutil.copyfile(project_root / "params.yaml", tmp_path / "params.yaml")
    shutil.copytree(project_root / "corpora", tmp_path / "corpora")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def build(system: str, metrics: object = None) -> None:
    """Leave what makes a system count as built, and its scores."""
    one = System.parse(system)
    one.vocabulary_folder.mkdir(parents=True, exist_ok=True)
    for path in (one.weights, one.training_summary):
        files.write_lines(path, [])
    if metrics is not None:
        files.write_json(one.metrics, metrics)


def sections(text: str) -> dict[str, list[str]]:
    """The lines below each title."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if not line.startswith(" "):
            below = found.setdefault(line.removesuffix(":"), [])
        else:
            below.append(line)
    return found


@pytest.fixture
def listed(folder, run):
    """Run the command, which ends well; the lines below each title."""

    def listed_here() -> dict[str, list[str]]:
        said = run("list")
        assert (said.status, said.err) == (0, "")
        return sections(said.out)

    return listed_here


def test_all_that_there_is_stands_there(listed):
    found, params = listed(), read_yaml(Path("params.yaml"))
    assert list(found) == ["corpora", "vocabularies", "models and sizes", "systems"]
    assert [line[4:] for line in found["corpora"]] == catalogue.corpus_names()
    assert [line[4:] for line in found["vocabularies"]] == list(params["vocabularies"])
    sizes = {line[4:].partition(": ")[0]: line.partition(": ")[2] for line in found["models and sizes"]}
    assert {model: names.replace("*", "").split(", ") for model, names in sizes.items()} == {
        model: [size for size in known if size != DEFAULT] for model, known in params["models"].items()
    }


def test_what_is_chosen_has_a_star(listed):
    with modify_yaml("params.yaml") as params:
        params["build"]["models"] = ["transformer_prenorm"]
        params["build"]["sizes"] = ["tiny", "base"]
    found = listed()
    assert [line for line in found["corpora"] if "*" in line] == ["  * phrasebook_fr_en"]
    assert [line for line in found["vocabularies"] if "*" in line] == ["  * bpe_2k"]
    starred = [line for line in found["models and sizes"] if "*" in line]
    assert starred == ["  * transformer_prenorm: tiny*, small, base*, annotated"]
    assert "    transformer_postnorm: tiny, small, base, big, big_en_fr, tutorial" in found["models and sizes"]
    base = CHOSEN.replace("tiny", "base")
    assert found["systems"] == [f"  * {CHOSEN}: not built", f"  * {base}: not built"]


def test_how_well_what_was_built_does(listed):
    """The scores of the test parts, as the stage `score` writes them; a system of an earlier choice has no star."""
    earlier = "gone-bpe_8k-rnnsearch-small"
    scores = {"bleu": 94.1393, "chrf": 96.46}
    known = {"bleu": 7.04, "sentences_without_unknown": 1234}
    build(CHOSEN, {"validation": {"loss": 0.2}, "compositional": {"bleu": 87.4}, "test": scores})
    build(earlier, {"validation": {"loss": 0.2}, "test": known})
    found = listed()["systems"]
    assert f"  * {CHOSEN}: compositional bleu 87.4, test bleu 94.1 chrf 96.5" in found
    assert found[-1] == f"    {earlier}: test bleu 7.0 sentences_without_unknown 1,234"
    assert len(found) == len(set(found)) == 7


def test_further_seeds_stand_below_the_systems(listed):
    build(f"{CHOSEN}-2", {"test": {"bleu": 93.0}})
    assert listed()["systems"][-1] == f"    {CHOSEN}-2: test bleu 93.0"  # of an earlier choice
    with modify_yaml("params.yaml") as params:
        params["build"]["more_seeds"] = [2]
    found = listed()["systems"]
    assert len(found) == 12
    assert found[-1] == f"  * {CHOSEN}-2: test bleu 93.0"


def test_how_far_the_others_are(listed):
    build(CHOSEN)
    half = CHOSEN.replace("prenorm", "postnorm")
    files.write_lines(System.parse(half).weights, [])  # without the rest of what a translation needs
    found = listed()["systems"]
    assert f"  * {CHOSEN}: built, not scored" in found
    assert f"  * {half}: not built" in found


def test_folders_that_are_no_systems_are_passed_over(listed):
    for name in ("a-b-c-d-e", "a-b-c- ", "a-b-c-d"):
        Path("runs", name).mkdir(parents=True)
    assert len(listed()["systems"]) == 6


def test_a_system_that_the_toys_lay_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert list_all.state(System.parse(systems.lay_out(tmp_path))) == "built, not scored"


@pytest.mark.parametrize("metrics", [[], 1, {"test": 3}, {"test": {"bleu": "high"}}, {"test": {"bleu": None}}])
def test_metrics_that_hold_no_scores(folder, fails, metrics):
    build(CHOSEN, metrics)
    assert fails("list") == f"metrics/{CHOSEN}.json: holds no scores; expected what the stage score writes"


def test_metrics_that_are_no_json(folder, fails):
    build(CHOSEN)
    files.write_lines(System.parse(CHOSEN).metrics, ["{"])
    assert fails("list").startswith(f"metrics/{CHOSEN}.json: not valid JSON, got line 2 column 1; ")


def test_params_that_are_wrong(folder, fails):
    text = Path("params.yaml").read_text(encoding="utf-8")
    Path("params.yaml").write_text(text.replace("- bpe_2k", "- bpe_3k"), encoding="utf-8")
    said = fails("list")
    assert said == "params.yaml: build.vocabularies: unknown vocabulary, got 'bpe_3k'; nearest is 'bpe_32k'"


def test_another_folder(tmp_path, monkeypatch, fails):
    monkeypatch.chdir(tmp_path)
    assert fails("list") == f"{tmp_path}: has no params.yaml; expected the project's folder, which nmt runs in"
