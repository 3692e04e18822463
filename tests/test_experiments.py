"""What users of DVC do first: experiments here, in a temporary folder and from the queue, in a fresh clone by git.

The systems are those of tests/toys/params.yaml, one of them, and its validation part stands in files of the user's own.
"""

import difflib
import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from dvc.utils.hydra import apply_overrides
from dvc.utils.serialize import modify_yaml
from ruamel.yaml import YAML

from pipeline.params import flatten
from tests.toys import dvc_project
from tests.toys.dvc_project import SECONDS, Project, environment

pytestmark = pytest.mark.usefixtures("dvc_leaves_nothing_behind")
SYSTEM = "toy-bpe-transformer_prenorm-tiny"
STAGES = {"check", "local@toy", "download@toy", "clean@toy", "split@toy", "vocabulary@toy-bpe", "encode@toy-bpe"}
STAGES |= {f"{stage}@{SYSTEM}" for stage in ("train", "average", "decode", "score", "attend")} | {"report"}
EACH = {  # one value of each section of the project's own params.yaml
    "build.sizes": ("[tiny]", "[small]"),
    "corpora.multi30k_de_en.clean.max_words": ("200", "100"),
    "vocabularies.bpe_2k.size": ("2000", "1000"),
    "models.transformer_prenorm.tiny.learning.schedule.warmup": ("200", "100"),
    "average.checkpoints": ("2", "4"),
    "decode.beam_size": ("5", "1"),
    "score.tokenize": ("13a", "intl"),
    "attend.sentences": ("3", "1"),
    "report.samples": ("10", "2"),
}
TINY = {  # the same of tests/toys/params.yaml
    "build.models": "[transformer_prenorm]",
    "corpora.toy.clean.max_words": 99,
    "vocabularies.bpe.sentences": 900,
    "models.transformer_prenorm.tiny.arch.dropout": 0.2,
    "average.checkpoints": 1,
    "decode.beam_size": 1,
    "score.tokenize": "intl",
    "attend.sentences": 1,
    "report.samples": 1,
}


@pytest.fixture
def params(project_root, tmp_path) -> Path:
    """A copy of the project's params.yaml."""
    return shutil.copyfile(project_root / "params.yaml", tmp_path / "params.yaml")


def changed(before: str, after: str) -> list[str]:
    """The lines that went and those that came, `---` and `+++` aside."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[0] in "+-" and not line.startswith(("---", "+++"))]


def test_params_stand_as_dvc_writes_them(params):
    before = params.read_text(encoding="utf-8")
    with modify_yaml(params):
        pass
    assert changed(before, params.read_text(encoding="utf-8")) == []


def test_each_section_has_a_value_tried(params):
    assert {name.partition(".")[0] for name in EACH} == set(YAML(typ="safe").load(params))


@pytest.mark.parametrize("name", EACH)
def test_an_experiment_with_one_value_changes_one_line(params, name):
    before, (old, new) = params.read_text(encoding="utf-8"), EACH[name]
    apply_overrides(params, [f"{name}={new}"])
    gone, come = changed(before, params.read_text(encoding="utf-8"))
    assert (gone[0], come[0]) == ("-", "+")
    old, new = (value.strip("[]") for value in (old, new))
    assert gone[1:].replace(old, new, 1) == come[1:]


class Clone(Project):
    """A clone by git, in which DVC runs."""

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments]
        done = subprocess.run(command, cwd=self.root, env=environment(), capture_output=True, text=True, check=True)
        return done.stdout

    def said(self, *arguments: str) -> str:
        """What a dvc command that ends well says."""
        done = self.dvc(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ran(self, *arguments: str) -> set[str]:
        """The stages that a dvc command runs."""
        lines = self.said(*arguments).splitlines()
        return {line.split("'")[1] for line in lines if line.startswith("Running stage '")}


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Clone:
    """A fresh clone of a committed project, in which nothing was ever built, with the user's own files."""
    origin = Clone(dvc_project.copy(tmp_path_factory.mktemp("origin") / "project"))
    path = origin.root / "params.yaml"
    node = YAML(typ="safe").load(path)
    own = {"kind": "local", "source": "my/validation.fr", "target": "my/validation.en"}
    node["corpora"]["toy"]["download"]["parts"]["validation"] = own
    YAML(typ="safe").dump(node, path)
    apply_overrides(path, [])  # as DVC writes it
    origin.git("add", "--all")
    origin.git("commit", "--quiet", "--message", "All of it")
    root = tmp_path_factory.mktemp("clone") / "project"
    origin.git("clone", "--quiet", str(origin.root), str(root))
    for language, line in (("fr", "Le chat numéro {} dort."), ("en", "Cat number {} is asleep.")):
        text = "".join(f"{line.format(number)}\n" for number in range(12))
        (root / f"my/validation.{language}").write_text(text, encoding="utf-8")
    return Clone(root)


@pytest.fixture(scope="module")
def built(clone) -> Clone:
    """The clone after a first experiment, with one value of each section set."""
    ran = clone.ran("exp", "run", "--name", "first", *settings(TINY))
    assert ran == STAGES
    return clone


def settings(values: dict[str, object]) -> list[str]:
    return [word for name, value in values.items() for word in ("-S", f"{name}={value}")]


def test_an_experiment_sets_one_value_of_each_section(built):
    lines = built.git("diff", "--numstat", "params.yaml").split()
    assert lines[:2] == [str(len(TINY) - 1), str(len(TINY))]  # `build.models` only loses one
    assert built.said("status") == "Data and pipelines are up to date.\n"


def test_the_users_own_files_stay_out_of_git(built):
    assert "my/" not in built.git("status", "--porcelain", "--untracked-files=all")


def test_an_edit_of_a_file_of_ones_own_runs_its_download_again(built):
    path = built.root / "my/validation.en"
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace("asleep", "sleeping"), encoding="utf-8")
    status = json.loads(built.said("status", "--json"))
    assert status == {"local@toy": [{"changed deps": {"my": "modified"}}]}
    assert {"local@toy", "download@toy", "clean@toy"} <= built.ran("repro", "clean@toy")
    path.write_text(before, encoding="utf-8")
    (built.root / "my/notes.txt").write_text("no corpus is made from this\n")
    assert built.ran("repro", "clean@toy") == {"local@toy"}  # what follows comes from the run cache
    assert built.ran("repro") == set()


def test_a_temporary_experiment_runs_elsewhere_and_is_applied(built):
    ran = built.ran("exp", "run", "--temp", "--name", "elsewhere", "-S", "attend.sentences=2")
    assert {f"attend@{SYSTEM}", "report"} <= ran
    assert not {"download@toy", f"train@{SYSTEM}"} & ran
    assert "attend.sentences" in built.said("exp", "diff", "first", "elsewhere")
    built.said("exp", "apply", "elsewhere")
    assert YAML(typ="safe").load(built.root / "params.yaml")["attend"]["sentences"] == 2
    assert built.said("status") == "Data and pipelines are up to date.\n"


def test_a_queued_experiment_runs_elsewhere(built):
    built.said("exp", "run", "--queue", "--name", "queued", "-S", "score.tokenize=none")
    built.said("queue", "start")
    until = time.monotonic() + SECONDS
    while "Success" not in (status := built.said("queue", "status")):
        assert "Failed" not in status, built.dvc("queue", "logs", "queued").stdout
        assert time.monotonic() < until, status
        time.sleep(1)
    built.said("queue", "stop")
    shown = built.said("exp", "show", "--csv")
    assert all(name in shown for name in ("first", "elsewhere", "queued"))


def test_the_differences_are_shown(built):
    assert "average.checkpoints" in built.said("params", "diff")
    assert "test.bleu" in built.said("metrics", "diff", "--all")
    page = built.root / built.said("plots", "show").strip().removeprefix("file://")
    text = page.read_text(encoding="utf-8")
    assert text.count("vegaEmbed") == 3  # learning curves, and scores by length of two test parts
    assert "transformer_prenorm" in text


def test_metrics_are_a_few_numbers(built):
    for path in (built.root / "metrics").glob("*.json"):
        values = json.loads(path.read_text(encoding="utf-8"))
        assert all(isinstance(value, int | float) for value in flatten(values).values())
    table = built.said("metrics", "show")
    assert len(table.splitlines()[0].split()) <= 20
    assert "nrefs" not in table
