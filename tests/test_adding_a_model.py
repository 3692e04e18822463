"""docs/adding-a-model.md as a reader follows it: its files in a copy of this project, checked, tested and built."""

import json
import re
import shlex
import subprocess
import sys

import pytest
from ruamel.yaml import YAML

from tests.test_documents import ROOT
from tests.toys import dvc_project
from tests.toys.dvc_project import SECONDS, Project, environment

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("dvc_leaves_nothing_behind")]
PAGE = (ROOT / "docs/adding-a-model.md").read_text(encoding="utf-8")
MODEL = "embedding_attention"


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    """A copy with the page's files and its section; the toy corpus is small, the architecture the page's."""
    project = Project(dvc_project.copy(tmp_path_factory.mktemp("added") / "project"))
    files = re.findall(r"[Ww]rite\s`([\w/]+\.py)`[^`]*(?:`[^`\n]+`[^`]*)*```python\n(.*?)```", PAGE, re.S)
    assert [name.rpartition("/")[2] for name, _ in files] == [f"{MODEL}.py", f"test_{MODEL}.py"]
    for name, code in files:
        (project.root / name).write_text(code, encoding="utf-8")
    yaml = YAML(typ="safe")
    [section] = re.findall(r"^```yaml\n(.*?)```", PAGE, re.M | re.S)
    params = yaml.load(project.root / "params.yaml")
    params["models"] |= yaml.load(section)
    params["build"]["models"] = [MODEL]
    params["average"]["small"] = params["average"]["tiny"]
    yaml.dump(params, project.root / "params.yaml")
    return project


def run(project: Project, *command: str) -> str:
    """What a command of Python prints in the copy, whose modules come first."""
    inside = environment() | {"PYTHONPATH": str(project.root)}
    words = [sys.executable, *command]
    done = subprocess.run(words, cwd=project.root, env=inside, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_section_and_its_tests_hold(project):
    run(project, "-m", "pipeline.commands.nmt", "check")
    tests = [f"tests/pipeline/models/{name}.py" for name in (f"test_{MODEL}", "test_interface")]
    said = run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", MODEL, *tests)
    assert re.search(r"\b\d\d+ passed", said), said  # its own, and those that hold for every model


def test_its_commands_are_commands(project):
    """Those that name the new model, of the page."""
    commands = [
        shlex.split(line, comments=True)
        for line in re.search(r"## Build it\n\n```text\n(.*?)```", PAGE, re.S)[1].splitlines()
    ]
    assert [words[:2] for words in commands] == [
        ["nmt", "check"],
        ["nmt", "copy-task"],
        ["make", "schema"],
        ["dvc", "exp"],
    ]
    said = run(project, "-m", "pipeline.commands.nmt", *commands[1][1:], "--help")
    assert "--model" in said
    run(project, "-m", "docs.schema")
    assert MODEL in (project.root / "params.schema.json").read_text(encoding="utf-8")


def test_it_is_built_and_scored(project):
    project.repro()
    metrics = json.loads((project.root / f"metrics/toy-bpe-{MODEL}-tiny.json").read_text(encoding="utf-8"))
    assert metrics["test"]["bleu"] >= 0
    assert (project.root / f"report/attention/toy-bpe-{MODEL}-tiny/index.html").is_file()
