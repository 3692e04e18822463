"""What users of DVC do first: experiments here, in a temporary folder and from the queue, in a fresh clone by git.

The systems are those of tests/toys/params.yaml, one of them, and its validation part stands in files of the user's own.
"""

import difflib
import json
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from dvc.exceptions import InvalidArgumentError
from dvc.utils.cli_parse import to_path_overrides
from dvc.utils.hydra import apply_overrides
from dvc.utils.serialize import dump_yaml, modify_yaml
from ruamel.yaml import YAML

from pipeline.params import flatten
from tests.toys import dvc_project
from tests.toys.dvc_project import SECONDS, Project, environment

pytestmark = pytest.mark.usefixtures("dvc_leaves_nothing_behind")
SYSTEM = "toy-bpe-transformer_prenorm-tiny"
CORPUS = "corpora/toy.yaml"
STAGES = {"check", "local@toy", "download@toy", "clean@toy", "split@toy", "vocabulary@toy-bpe", "encode@toy-bpe"}
STAGES |= {f"{stage}@{SYSTEM}" for stage in ("train", "average", "decode", "score", "attend")} | {"report"}
EACH = {  # one value of each section of the project's own params.yaml
    "build.sizes": ("[tiny]", "[small]"),
    "clean.max_words": ("200", "100"),
    "split.seed": ("1", "2"),
    "training.multi30k_de_en.updates": ("3800", "1900"),
    "vocabularies.bpe_2k.size": ("2000", "1000"),
    "models.transformer_prenorm.tiny.schedule.warmup": ("200", "100"),
    "average.tiny.checkpoints": ("2", "4"),
    "decode.beam_size": ("5", "1"),
    "score.tokenize": ("13a", "intl"),
    "attend.sentences": ("3", "1"),
    "report.samples": ("10", "2"),
}
OF_A_CORPUS = {  # the same of the files of corpora
    "corpora/multi30k_de_en.yaml:licence": ("see https://github.com/multi30k/dataset", "unknown"),
    "corpora/phrasebook_fr_en.yaml:source_language": ("fr", "en"),
    "corpora/phrasebook_fr_en.yaml:target_language": ("en", "fr"),
    "corpora/phrasebook_fr_en.yaml:parts.train.num_pairs": ("14000", "9000"),
    "corpora/eng_fra_by_line_fr_en.yaml:split.test_share": ("0.015", "0.02"),
    "corpora/wmt14_en_de.yaml:decode.beam_size": ("4", "12"),
}
NEW_IN_A_CORPUS = {  # a key that the section does not have: what goes, and what comes
    "corpora/eng_fra_fr_en.yaml:+clean.max_words=50": (["clean: {}"], ["clean:", "  max_words: 50"]),
    "corpora/multi30k_de_en.yaml:+decode.beam_size=4": (["decode: {}"], ["decode:", "  beam_size: 4"]),
    "corpora/wmt14_en_de.yaml:+decode.patience=1.0": ([], ["  patience: 1.0"]),
    "corpora/multi30k_de_en.yaml:+split.seed=2": (
        ["split: {carve_by: source, validation_share: 0.0, test_share: 0.0}"],
        ["split: {carve_by: source, validation_share: 0.0, test_share: 0.0, seed: 2}"],
    ),
}
TINY = {  # the same of tests/toys/params.yaml and its corpus
    "build.models": "[transformer_prenorm]",
    "clean.max_words": 99,
    "split.seed": 2,
    "training.toy.updates": 8,
    "vocabularies.bpe.sentences": 900,
    "models.transformer_prenorm.tiny.dropout": 0.2,
    "average.tiny.checkpoints": 1,
    "decode.beam_size": 1,
    "score.tokenize": "intl",
    "attend.sentences": 1,
    "report.samples": 1,
    f"{CORPUS}:parts.test.num_pairs": 19,
    f"{CORPUS}:+decode.length_penalty": 0.8,
}
COLUMNS = 80  # at which DVC begins a new line
LINES = 250  # of params.yaml
REPEATED = 3  # lines that stand twice should have been `default`


@pytest.fixture
def project(project_root, tmp_path, monkeypatch) -> Path:
    """A folder with a copy of the project's params.yaml and corpora, to which the test goes."""
    shutil.copyfile(project_root / "params.yaml", tmp_path / "params.yaml")
    shutil.copytree(project_root / "corpora", tmp_path / "corpora", ignore=shutil.ignore_patterns("*.json"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(project: Path) -> dict[str, str]:
    """What each YAML file of the project holds, by its path."""
    paths = sorted(project.rglob("*.yaml"))
    return {path.relative_to(project).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def changed(before: str, after: str) -> list[str]:
    """The lines that went and those that came, `---` and `+++` aside."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[0] in "+-" and not line.startswith(("---", "+++"))]


def overridden(project: Path, override: str) -> list[str]:
    """The lines that `dvc exp run -S` changes, all of the one file that it names."""
    before = texts(project)
    [(path, overrides)] = to_path_overrides([override]).items()
    apply_overrides(path, overrides)
    after = texts(project)
    assert {name for name in before if before[name] != after[name]} == {path}
    return changed(before[path], after[path])


def test_params_and_corpora_stand_as_dvc_writes_them(project):
    before = texts(project)
    assert {"params.yaml", "corpora/phrasebook_fr_en.yaml"} <= set(before)
    for name in before:
        with modify_yaml(name):
            pass
    assert {name: changed(before[name], text) for name, text in texts(project).items()} == {name: [] for name in before}


def test_params_are_short(project):
    assert len(texts(project)["params.yaml"].splitlines()) <= LINES


def test_no_line_is_wide(project):
    """But for comments, and addresses, which have no place to be broken at.

    DVC counts neither the comma nor the braces that end a line.
    """
    lines = [line.rstrip(" ,}") for text in texts(project).values() for line in text.splitlines()]
    assert [line for line in lines if len(line) > COLUMNS and not line.startswith("#") and "://" not in line] == []


def test_params_say_nothing_twice(project):
    """Block: lines that follow one another, wherever they are indented."""
    lines = [line.strip() for line in texts(project)["params.yaml"].splitlines()]
    blocks = Counter(tuple(lines[at : at + REPEATED]) for at in range(len(lines) - REPEATED + 1))
    assert [block for block, times in blocks.items() if times > 1] == []


def test_each_section_has_a_value_tried(project):
    assert {name.partition(".")[0] for name in EACH} == set(YAML(typ="safe").load(project / "params.yaml"))
    tried = {name.partition(":")[2].lstrip("+").partition(".")[0] for name in (*OF_A_CORPUS, *NEW_IN_A_CORPUS)}
    for path in (project / "corpora").glob("*.yaml"):
        assert tried == set(YAML(typ="safe").load(path))


@pytest.mark.parametrize("name", [*EACH, *OF_A_CORPUS])
def test_an_experiment_with_one_value_changes_one_line(project, name):
    old, new = (EACH | OF_A_CORPUS)[name]
    gone, come = overridden(project, f"{name}={new}")
    old, new = (value.strip("[]") for value in (old, new))
    assert (gone[0], come[0]) == ("-", "+")
    assert gone[1:].replace(old, new, 1) == come[1:]


@pytest.mark.parametrize("override", NEW_IN_A_CORPUS)
def test_an_experiment_may_replace_a_value_for_one_corpus(project, override):
    gone, come = NEW_IN_A_CORPUS[override]
    assert overridden(project, override) == [*(f"-{line}" for line in gone), *(f"+{line}" for line in come)]


@pytest.mark.parametrize("override", NEW_IN_A_CORPUS)
def test_a_key_that_a_corpus_lacks_is_not_set_without_a_plus(project, override):
    before = texts(project)
    path, _, rest = override.replace("+", "").partition(":")
    with pytest.raises(InvalidArgumentError):
        apply_overrides(path, [rest])
    assert texts(project) == before


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
    own = {"kind": "local", "source": "my/validation.fr", "target": "my/validation.en"}
    origin.edit(f"{CORPUS}:parts.validation", own)
    for name in ("params.yaml", CORPUS):
        dump_yaml(origin.root / name, YAML(typ="safe").load(origin.root / name))  # a value a line, as DVC writes them
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
    of_params = len([name for name in TINY if ":" not in name])
    assert built.git("diff", "--numstat").splitlines() == [
        f"3\t2\t{CORPUS}",  # `decode: {}` becomes two lines
        f"{of_params - 1}\t{of_params}\tparams.yaml",  # `build.models` only loses one
    ]
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
    shown = built.said("params", "diff")
    assert "average.tiny.checkpoints" in shown
    assert "decode.length_penalty" in shown
    assert CORPUS in shown
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
