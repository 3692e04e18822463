"""What users of DVC do first: experiments here, in a temporary folder and from the queue, in a fresh clone by git.

The systems are those of tests/toys/params.yaml, one of them, and its validation part stands in files of the user's own.
"""

import difflib
import json
import re
import shlex
import shutil
import subprocess
import sys
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
STAGES |= {f"{stage}@{SYSTEM}" for stage in ("train", "average", "decode", "score", "attend", "package")} | {"report"}
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
def project(project_root, shipped_params, tmp_path, monkeypatch) -> Path:
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
    sections = set(YAML(typ="safe").load(project / "params.yaml"))
    empty = {"distill", "ensembles"}  # they have only keys of their user's own
    assert {name.partition(".")[0] for name in EACH} == sections - empty
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


def test_an_experiment_may_give_a_corpus_a_teacher(project):
    gone, *come = overridden(project, "+distill.teachers.novel={corpus: a, vocabulary: b, model: c, size: d}")
    assert gone == "-  teachers: {}"
    about = [f"+      {line}" for line in ("corpus: a", "vocabulary: b", "model: c", "size: d")]
    assert come == ["+  teachers:", "+    novel:", *about]


def test_an_experiment_may_have_two_systems_translate_together(project):
    gone, come = overridden(project, "+ensembles.pairs.two={corpus: a, vocabulary: b, first: c-d, second: c-d-2}")
    assert gone == "-ensembles: {pairs: {}}"
    assert come == "+ensembles: {pairs: {two: {corpus: a, vocabulary: b, first: c-d, second: c-d-2}}}"


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


def test_an_experiment_of_one_stage_runs_where_nothing_was_built(built, tmp_path):
    """In a clone whose dvc.lock names outputs that are nowhere: DVC 3.67 looks into folders that hold plots."""
    built.git("clone", "--quiet", str(built.root), str(tmp_path / "clone"))
    clone = Clone(tmp_path / "clone")
    shutil.copy(built.root / "dvc.lock", clone.root)
    clone.git("add", "dvc.lock")
    clone.git("commit", "--quiet", "--message", "What was built")
    clone.said("exp", "run", "--name", "one", "-S", "report.samples=3", "check")
    shutil.copytree(built.root / "my", clone.root / "my", dirs_exist_ok=True)
    clone.said("exp", "run", "--name", "two", "--temp", "--single-item", "-S", "report.samples=4", "local@toy")
    assert {"one", "two"} <= set(re.findall(r"\w+", clone.said("exp", "list")))


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


@pytest.mark.slow
def test_a_temporary_experiment_runs_elsewhere_and_is_applied(built):
    ran = built.ran("exp", "run", "--temp", "--name", "elsewhere", "-S", "attend.sentences=2")
    assert {f"attend@{SYSTEM}", "report"} <= ran
    assert not {"download@toy", f"train@{SYSTEM}"} & ran
    assert "attend.sentences" in built.said("exp", "diff", "first", "elsewhere")
    built.said("exp", "apply", "elsewhere")
    assert YAML(typ="safe").load(built.root / "params.yaml")["attend"]["sentences"] == 2
    assert built.said("status") == "Data and pipelines are up to date.\n"


@pytest.mark.slow
def test_a_grid_is_queued_and_runs_elsewhere(built):
    """One command, an experiment a value; each in a copy, so that the workspace may be edited meanwhile."""
    queued = built.said("exp", "run", "--queue", "--name", "grid", "-S", "score.tokenize=none,char,intl")
    assert [f"'grid-{number}'" in queued for number in (1, 2, 3, 4)] == [True, True, True, False]
    built.said("queue", "start")
    until = time.monotonic() + SECONDS
    while (status := built.said("queue", "status")).count("Success") < 3:
        assert "Failed" not in status, status
        assert time.monotonic() < until, status
        time.sleep(1)
    built.said("queue", "stop")
    shown = built.said("exp", "show", "--csv")
    assert all(name in shown for name in ("first", "elsewhere", "grid-1", "grid-2", "grid-3"))


@pytest.mark.slow
def test_a_value_of_a_grid_is_looked_at_kept_and_removed(built):
    """The rest of the tour in docs/experiments.md."""
    before = (built.root / "params.yaml").read_bytes()
    assert "score.tokenize" in built.said("exp", "diff", "grid-1", "grid-2")
    page = Path(built.said("plots", "diff", "grid-1", "grid-2").strip().removeprefix("file://"))
    assert "grid-2" in page.read_text(encoding="utf-8")
    built.said("exp", "save", "--name", "mine")
    assert "mine" in built.said("exp", "list")
    built.said("exp", "branch", "grid-1", "kept")
    assert "kept" in built.git("branch")
    built.said("exp", "remove", "mine", "grid-2", "grid-3")
    assert "grid-2" not in built.said("exp", "list")
    assert (built.root / "params.yaml").read_bytes() == before


def test_the_differences_are_shown(built):
    shown = built.said("params", "diff")
    assert "average.tiny.checkpoints" in shown
    assert "decode.length_penalty" in shown
    assert CORPUS in shown
    assert "transformer_prenorm-tiny.bleu" in built.said("metrics", "diff", "--all")
    page = built.root / built.said("plots", "show").strip().removeprefix("file://")
    text = page.read_text(encoding="utf-8")
    assert text.count("vegaEmbed") == 3  # validation and training loss, and scores by length
    assert "transformer_prenorm" in text


def test_metrics_are_a_few_numbers(built):
    for path in (built.root / "metrics").glob("*.json"):
        values = json.loads(path.read_text(encoding="utf-8"))
        assert all(isinstance(value, int | float) for value in flatten(values).values())
    assert built.said("metrics", "show").split()[:4] == [
        "Path",
        "transformer_prenorm-tiny.bleu",
        "transformer_prenorm-tiny.loss",
        "report/metrics.json",
    ]
    table = built.said("metrics", "show", f"metrics/{SYSTEM}.json")
    assert len(table.splitlines()[0].split()) <= 20
    assert "nrefs" not in table


def test_experiments_stand_in_a_narrow_table(built):
    """`make exps`: two numbers a system and what was edited, and none of the hundreds of other values."""
    recipe = (built.root / "Makefile").read_text(encoding="utf-8").partition("\nexps:")[2].splitlines()[1]
    words = [word.replace("$$", "$") for word in shlex.split(recipe.strip().lstrip("@"))]
    shown = built.said(*words[1:], "--md")
    columns = {column.strip() for column in shown.splitlines()[0].strip("|").split("|")}
    assert {"Experiment", "transformer_prenorm-tiny.bleu", "score.tokenize", "attend.sentences"} <= columns
    assert not {column for column in columns if "/" in column and ":" not in column}
    assert len(columns) <= len(TINY) + 5


@pytest.fixture(scope="module")
def shared(built, tmp_path_factory) -> Clone:
    """A clone of the project by a colleague, after its owner has pushed all to a folder that both can read."""
    built.said("remote", "add", "--default", "store", str(tmp_path_factory.mktemp("store")))
    built.git("add", "--all")
    built.git("commit", "--quiet", "--message", "Results, and where their data is")
    built.git("tag", "--annotate", "transformer-prenorm@v1.0.0", "--message", "The first")
    assert "pushed" in built.said("push")
    root = tmp_path_factory.mktemp("colleague") / "project"
    built.git("clone", "--quiet", str(built.root), str(root))
    return Clone(root)


MODEL = f"models/{SYSTEM}"


def translation(folder: Path, model: Path) -> str:
    """What a packaged system makes of a sentence, in a folder."""
    command = [sys.executable, "-m", "pipeline.commands.nmt", "translate", "--model", str(model), "le chat dort"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_model_is_pulled_and_translates(built, shared):
    """Without training, and without anything else of the build."""
    shared.said("pull", MODEL)
    assert not (shared.root / "runs").exists()
    assert not (shared.root / "data").exists()
    assert [path.name for path in (shared.root / "models").iterdir()] == [SYSTEM]
    assert translation(shared.root, Path(MODEL)) == translation(built.root, Path(MODEL)) != ""


def test_a_model_is_fetched_from_outside_the_project(shared, built, tmp_path):
    """By its path, or by the name and version that a tag of git gives it."""
    outside = Clone(tmp_path)
    assert f"{SYSTEM}/model.safetensors" in outside.said("list", str(built.root), "models", "--recursive")
    outside.said("get", str(built.root), MODEL, "--out", "by-path")
    outside.said("artifacts", "get", str(built.root), "transformer-prenorm", "--rev", "v1.0.0", "--out", "by-name")
    packaged = contents(built.root / MODEL)
    assert contents(tmp_path / "by-path") == contents(tmp_path / "by-name") == packaged != {}


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_is_pulled_and_nothing_is_left_to_run(shared):
    """But for the owner's own files in my/, which neither git nor DVC keeps."""
    shared.said("pull")
    assert json.loads(shared.said("status", "--json")) == {"local@toy": [{"changed deps": {"my": "modified"}}]}


@pytest.mark.slow
def test_a_store_behind_an_s3_address_does_the_same(shared, built, monkeypatch):
    pytest.importorskip("dvc_s3", reason="no package dvc-s3: `pip install 'dvc[s3]'`")
    server = pytest.importorskip("moto.server", reason="no package moto: `pip install 'moto[server]'`")
    boto3 = pytest.importorskip("boto3", reason="no package boto3: `pip install 'moto[server]'`")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    moto = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    moto.start()
    try:
        host, port = moto.get_host_and_port()
        url = f"http://{host}:{port}"
        boto3.client("s3", endpoint_url=url).create_bucket(Bucket="models")
        for one in (built, shared):
            one.said("remote", "add", "cloud", "s3://models/nmt")
            one.said("remote", "modify", "cloud", "endpointurl", url)
        assert "pushed" in built.said("push", "--remote", "cloud", "package")
        shutil.rmtree(shared.root / MODEL, ignore_errors=True)
        shutil.rmtree(shared.root / ".dvc/cache", ignore_errors=True)
        assert "fetched" in shared.said("pull", "--remote", "cloud", MODEL)
        assert contents(shared.root / MODEL) == contents(built.root / MODEL)
    finally:
        moto.stop()
