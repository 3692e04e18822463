"""A tiny `dvc repro` builds everything, a second one nothing; an edit re-runs what reads it; a kill loses nothing.

In copies of this project, with the systems of tests/toys/params.yaml.
"""

import json
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from dvc.repo import Repo
from ruamel.yaml import YAML

from tests.toys import dvc_project
from tests.toys.dvc_project import SECONDS, Project, environment

pytestmark = pytest.mark.usefixtures("dvc_leaves_nothing_behind")
BOTH = ("toy-bpe-transformer_postnorm-tiny", "toy-bpe-transformer_prenorm-tiny")
DATA = ["check", "local@toy", "download@toy", "clean@toy", "split@toy", "vocabulary@toy-bpe", "encode@toy-bpe"]


def of(*stages: str, systems: tuple[str, ...] = BOTH) -> list[str]:
    """What DVC calls each of the stages of each of the systems."""
    return [f"{stage}@{system}" for stage in stages for system in systems]


SEED_2 = of("train_seed", "average_seed", "decode_seed", "score_seed", systems=tuple(f"{system}-2" for system in BOTH))


@pytest.fixture(scope="module")
def make(tmp_path_factory) -> Callable[[], Project]:
    """Make a project in which nothing is built."""
    return lambda: Project(dvc_project.copy(tmp_path_factory.mktemp("made") / "project"))


# What a stage opens to read, one path a line, below work/opened/; the hook stands in a module that shapes no result.
NOTES_WHAT_IT_OPENS = """

def _note_what_is_opened() -> None:
    command, root = sys.orig_argv, os.getcwd() + os.sep
    if "-m" not in command or not command[command.index("-m") + 1].startswith("stages."):
        return
    stage, *axes = command[command.index("-m") + 1 :]
    os.makedirs("work/opened", exist_ok=True)
    name = "@".join([stage.removeprefix("stages."), "-".join(axes)]).rstrip("@")
    notes = os.open(f"work/opened/{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(event: str, given: tuple) -> None:
        if event not in ("open", "os.listdir", "os.scandir") or not isinstance(given[0], (str, os.PathLike)):
            return
        if event == "open" and not (given[1] or "r").startswith("r"):
            return
        path = os.path.abspath(os.fspath(given[0]))
        if path.startswith(root):
            os.write(notes, (path.removeprefix(root) + "\\n").encode())

    sys.addaudithook(note)


_note_what_is_opened()
"""


@pytest.fixture(scope="module")
def built(make) -> Project:
    """A copy in which everything has been built once, by stages that note what they open; tests leave it as it is."""
    project = make()
    project.edit("pipeline/cli.py", NOTES_WHAT_IT_OPENS)
    ran = project.repro()
    assert set(ran) == {*DATA, *of("train", "average", "decode", "score", "attend", "package"), "report"}
    assert len(ran) == len(set(ran))
    assert ran[0] == "check"  # which names every fault, before `local` can stop at one of its own
    return project


@pytest.fixture
def copy(built, tmp_path) -> Project:
    """A copy of `built` to spoil."""
    shutil.copytree(built.root, tmp_path / "copy", symlinks=True)
    return Project(tmp_path / "copy")


def test_everything_stands_where_people_look_for_it(built):
    for system in BOTH:
        for path in (
            f"metrics/{system}.json",
            f"runs/{system}/train/curves.csv",
            f"runs/{system}/average/model.safetensors",
            f"data/decode/{system}/test.txt",
            f"data/decode/{system}/compositional.txt",
            f"data/attend/{system}/test.json",
            f"models/{system}/model.safetensors",
            f"report/attention/{system}/index.html",
        ):
            assert (built.root / path).stat().st_size
    assert BOTH[0].removeprefix("toy-") in (built.root / "report/index.md").read_text(encoding="utf-8")


def test_nothing_unfinished_is_left(built):
    assert not [path for out in ("data", "runs", "metrics", "report") for path in built.root.glob(f"{out}/**/.*")]
    assert not list(built.root.glob("work/train/*"))


def test_second_repro_does_nothing(built):
    before = (built.root / "dvc.lock").read_bytes()
    said = built.dvc("repro")
    assert said.returncode == 0
    assert said.stdout.splitlines()[-1] == "Data and pipelines are up to date."
    assert (built.root / "dvc.lock").read_bytes() == before


DATA_FOLDERS = ("data/", "runs/", "metrics/", "models/", "my/")
# It only comes first; it is for files of one's own; for a taught corpus; for words; it is opened by no Python.
NOT_OPENED = ("data/check/params.txt", "data/local/toy.json", "data/targets/toy", "/languages.json", "/average")


def covered(path: str, listed: set[str]) -> bool:
    """Whether a path is one of those listed or inside one, or is a folder above one."""
    return any(path == one or path.startswith(f"{one}/") or one.startswith(f"{path}/") for one in listed)


@pytest.mark.slow
def test_several_systems_at_once_leave_the_same_bytes(built, make):
    """Each system is built by a `dvc repro` of its own."""
    project = make()
    command = [sys.executable, "-m", "pipeline.commands.nmt", "repro", "--jobs", "2"]
    done = subprocess.run(command, cwd=project.root, env=environment(), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.lock() == built.lock()
    for stage in ("train", "average", "decode", "score", "attend", "package"):
        for system in BOTH:
            assert re.search(rf"^{stage} +{system.split('-')[2]}-tiny ", done.stdout, re.MULTILINE), done.stdout


def test_what_a_stage_opens_is_among_its_deps(built):
    """And what it names as a dep, it opens, but for `NOT_OPENED`."""
    for stage, about in built.lock().items():
        notes = built.root / "work/opened" / stage
        opened = {path for path in notes.read_text(encoding="utf-8").split("\n") if path.startswith(DATA_FOLDERS)}
        deps, outs = ({one["path"] for one in about.get(kind, ())} for kind in ("deps", "outs"))
        unknown = {path for path in opened if not covered(path, deps | outs) and "/." not in path}
        assert not unknown, f"{stage} reads what is no dep of it"
        idle = {dep for dep in deps if dep.startswith(DATA_FOLDERS) and not any(covered(one, {dep}) for one in opened)}
        idle = {dep for dep in idle if not dep.endswith(NOT_OPENED)}
        assert not idle, f"{stage} names a dep that it does not read"


PRENORM, POSTNORM = "models.transformer_prenorm", "models.transformer_postnorm"
CORPUS = "corpora/toy.yaml"
TWEAKS = [  # an edit, and what it changes at once, `check` apart; what follows from that follows by the outs
    (f"{CORPUS}:parts.train.seed", 2, ["local@toy", "download@toy"]),
    (f"{CORPUS}:source_language", "en", ["local@toy", "download@toy"]),
    (f"{CORPUS}:clean.max_words", 5, ["clean@toy"]),
    (f"{CORPUS}:split.seed", 2, ["split@toy"]),
    (f"{CORPUS}:decode.beam_size", 1, of("decode")),
    (f"{CORPUS}:licence", "mine", of("package")),
    ("clean.max_words", 5, ["clean@toy"]),
    ("split.seed", 2, ["split@toy"]),
    ("training.default.seed", 2, of("train")),
    ("training.toy.updates", 8, of("train")),
    ("training.other", {}, []),
    ("vocabularies.bpe.size", 180, ["vocabulary@toy-bpe"]),
    ("vocabularies.other", {}, []),
    (f"{PRENORM}.tiny.clip", 2.0, of("train", systems=BOTH[1:])),
    (f"{PRENORM}.tiny.dropout", 0.2, of("train", systems=BOTH[1:])),
    (f"{PRENORM}.default.clip", 2.0, of("train", systems=BOTH[1:])),
    (f"{POSTNORM}.default.dropout", 0.2, of("train", systems=BOTH[:1])),
    (f"{PRENORM}.small", {}, []),
    ("average.tiny.checkpoints", 1, of("average")),
    ("average.base", {"checkpoints": 1}, []),
    ("decode.beam_size", 1, of("decode")),
    ("score.length_buckets", [5], [*of("score"), "report"]),
    ("attend.sentences", 1, of("attend")),
    ("report.samples", 1, ["report"]),
    ("build.models", ["transformer_prenorm"], ["report"]),
    ("build.more_seeds", [2], [*SEED_2, "report"]),
    ("pipeline/models/transformer_prenorm.py", "# new\n", of("train", "decode", "attend", "package", systems=BOTH[1:])),
    ("pipeline/layers/attention.py", "# new\n", of("train", "decode", "attend", "package")),
    ("pipeline/averaging.py", "# new\n", of("average")),
    ("pipeline/decoding/beam.py", "# new\n", of("decode", "attend", "package")),
    ("pipeline/evaluation/pages.py", "# new\n", ["report"]),
    ("pipeline/preparation/cleaning.py", "# new\n", ["clean@toy"]),
    ("stages/score.py", "# new\n", of("score")),
]


@pytest.mark.parametrize(("name", "value", "changed"), TWEAKS, ids=[tweak[0] for tweak in TWEAKS])
def test_tweak_changes_exactly_what_reads_it(built, monkeypatch, name, value, changed):
    monkeypatch.chdir(built.root)
    with built.edited(name, value):
        assert set(Repo().status()) - {"check"} == set(changed)


def test_a_corpus_that_nobody_chose_changes_nothing(built, monkeypatch):
    monkeypatch.chdir(built.root)
    path = built.root / "corpora/other.yaml"
    shutil.copyfile(built.root / CORPUS, path)
    try:
        assert set(Repo().status()) == {"check"}
    finally:
        path.unlink()


@pytest.mark.parametrize("name", ["cli", "progress", "terminal", "tracking.runs"])
def test_what_shapes_no_result_changes_nothing(built, monkeypatch, name):
    monkeypatch.chdir(built.root)
    with built.edited(f"pipeline/{name.replace(chr(46), chr(47))}.py", "# new\n"):
        assert Repo().status() == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["decode.max_length_offset", f"{CORPUS}:decode.max_length_offset"])
def test_decoding_otherwise_runs_what_follows_and_nothing_else(copy, name):
    """`check` runs too, writes what it wrote before, and nothing follows from it."""
    copy.edit(name, 0)
    assert set(copy.repro()) == {"check", *of("decode", "score", "package"), "report"}


@pytest.mark.slow
def test_whole_words_go_from_text_to_the_report(copy):
    """Both columns of the scores: of all sentences, and of those without unknown words."""
    copy.edit("vocabularies.words", {"kind": "word", "words": 500, "sentences": 1000, "seed": 1})
    chosen = {"corpora": ["toy"], "vocabularies": ["words"], "models": ["transformer_postnorm"], "sizes": ["tiny"]}
    copy.edit("build", {**chosen, "more_seeds": []})
    [system] = systems = ("toy-words-transformer_postnorm-tiny",)
    stages = of("train", "average", "decode", "score", "attend", "package", systems=systems)
    assert set(copy.repro()) == {"check", "vocabulary@toy-words", "encode@toy-words", *stages, "report"}
    known = json.loads((copy.root / f"metrics/{system}.json").read_text())["test"]["sentences_without_unknown"]
    source = (copy.root / "data/split/toy/test.source.txt").read_text(encoding="utf-8").splitlines()
    assert 0 < known < len(source)
    table = (copy.root / "report/index.md").read_text(encoding="utf-8")
    assert "| BLEU, no unknown |" in table
    assert f"| {known} |" in table


@pytest.mark.slow
def test_a_further_seed_builds_itself_and_the_report(copy):
    """What was there stays as it is, to the byte; without the seed the report is what it was."""
    before, report = copy.lock(), (copy.root / "report/index.html").read_bytes()
    copy.edit("build.more_seeds", [2])
    assert set(copy.repro()) == {"check", *SEED_2, "report"}
    after = copy.lock()
    assert {name for name in after if after[name] != before.get(name)} == {"check", *SEED_2, "report"}
    again, first = (copy.root / f"runs/{BOTH[1]}{seed}/average/model.safetensors" for seed in ("-2", ""))
    assert again.read_bytes() != first.read_bytes()
    assert json.loads((copy.root / f"metrics/{BOTH[1]}-2.json").read_text())["test"].keys() == {"bleu", "chrf"}
    page = (copy.root / "report/index.md").read_text(encoding="utf-8")
    assert "Mean ± standard deviation of 2 seeds, test part `test`:" in page
    assert copy.repro() == []

    copy.edit("build.more_seeds", [])
    assert set(copy.repro()) <= {"check", "report"}
    assert (copy.root / "report/index.html").read_bytes() == report


@pytest.mark.slow
def test_two_systems_translate_together(copy):
    """Nothing else runs for it but the report, which is as before once the pair is gone."""
    report = (copy.root / "report/index.html").read_bytes()
    pair = {
        "corpus": "toy",
        "vocabulary": "bpe",
        "first": "transformer_postnorm-tiny",
        "second": "transformer_prenorm-tiny",
    }
    copy.edit("ensembles.pairs", {"two": pair})
    assert set(copy.repro()) == {"check", "ensemble@two", "report"}
    assert copy.repro() == []
    scores = json.loads((copy.root / "metrics/two.json").read_text())
    assert scores.keys() == {"test", "compositional"}
    assert f"| `two` | `{BOTH[0]}` and `{BOTH[1]}` | {scores['test']['bleu']:.2f} |" in (
        copy.root / "report/index.md"
    ).read_text(encoding="utf-8")

    copy.edit("ensembles.pairs", {})
    assert set(copy.repro()) <= {"check", "report"}
    assert (copy.root / "report/index.html").read_bytes() == report


@pytest.mark.slow
def test_a_corpus_with_a_teacher(copy):
    """The teacher, the translations and what is encoded follow one another; without it all is as it was.

    `encode` reads all of section `distill`; of a corpus that it does not name it writes the same, and nothing follows.
    """
    shutil.copyfile(copy.root / CORPUS, copy.root / "corpora/taught.yaml")
    copy.edit("build.corpora", ["toy", "taught"])
    copy.edit("training.taught", YAML(typ="safe").load(copy.root / "params.yaml")["training"]["toy"])
    teacher = dict(zip(("corpus", "vocabulary", "model", "size"), BOTH[1].split("-"), strict=True))
    copy.edit("distill.teachers", {"taught": teacher})
    own = [f"{stage}@taught" for stage in ("local", "download", "clean", "split", "distill")]
    words = ["encode@toy-bpe", *(f"{stage}@taught-bpe" for stage in ("vocabulary", "encode"))]
    assert set(copy.repro("encode@taught-bpe")) == {"check", *own, *words}
    assert copy.repro("encode@taught-bpe") == []
    target = Path("data/targets/taught/distilled/train.target.txt")
    encoded = [copy.root / f"data/encode/{corpus}-bpe/train" for corpus in ("toy", "taught")]
    [toy, taught] = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in encoded]
    assert {name for name in toy if toy[name] != taught[name]} == {name for name in toy if "target" in name}
    references = (copy.root / "data/split/taught/train.target.txt").read_text(encoding="utf-8")
    assert len((copy.root / target).read_text(encoding="utf-8").splitlines()) == references.count("\n") > 100

    copy.edit("distill.keep_references", ["taught"])  # the translations stay as they are
    assert set(copy.repro("encode@taught-bpe")) == {"check", "encode@taught-bpe", "encode@toy-bpe"}
    [own, both] = [json.loads((folder.parent / "encode.json").read_text(encoding="utf-8")) for folder in encoded]
    assert both["train"]["pairs"] == 2 * own["train"]["pairs"]

    copy.edit("average.tiny.checkpoints", 1)  # another teacher, whose translations may be the same
    assert set(copy.repro("distill@taught")) == {"check", f"average@{BOTH[1]}", "distill@taught"}

    copy.edit("distill", {"teachers": {}, "keep_references": []})
    assert set(copy.repro("encode@taught-bpe")) == {"check", "encode@taught-bpe"}
    assert {path.name: path.read_bytes() for path in encoded[1].iterdir()} == toy
    assert not (copy.root / target).exists()  # of no stage any more: a clone would not have it
    assert copy.repro("encode@taught-bpe") == []


def test_misspelt_name_is_answered_before_dvc_stumbles(copy):
    copy.edit("build.models", ["transformer_prenrm"])
    said = copy.dvc("repro")
    assert said.returncode != 0
    answer = (
        "error: params.yaml: build.models: unknown model, got 'transformer_prenrm'; nearest is 'transformer_prenorm'"
    )
    assert answer in said.stderr.splitlines()
    assert "Traceback" not in said.stderr


@pytest.mark.slow
def test_from_scratch_elsewhere_gives_the_same_bytes(built, make):
    again = make()
    again.repro()
    assert again.lock() == built.lock()


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["stage", "all"])
def test_killed_training_goes_on_to_the_same_model(copy, tmp_path, whom):
    """kill -9 of the stage, or of dvc and everything below it, once the first checkpoint is there."""
    stage = f"train@{BOTH[1]}"
    copy.edit("training.toy.updates", 400)
    copy.edit("training.toy.validation_interval", 200)
    whole = Project(tmp_path / "whole")
    shutil.copytree(copy.root, whole.root, symlinks=True)
    assert whole.repro(stage) == ["check", stage]

    running = subprocess.Popen(copy.command("repro", stage), cwd=copy.root, env=environment())
    kill_training(running, copy.root / "work/train", whom)
    assert running.wait(SECONDS) != 0
    out = copy.root / "runs" / BOTH[1] / "train"
    assert not (out / "training.json").exists()
    assert not (out / "checkpoints").exists()

    said = copy.dvc("repro", stage)
    assert said.returncode == 0, said.stderr
    assert f"{BOTH[1]}: resuming at update " in said.stdout + said.stderr
    assert copy.lock()[stage]["outs"] == whole.lock()[stage]["outs"]
    assert copy.dvc("repro", stage).stdout.splitlines()[-1] == "Data and pipelines are up to date."


@pytest.mark.slow
def test_killed_at_ten_random_moments_averages_to_the_same_bytes(copy, tmp_path):
    """kill -9 within a second of a checkpoint of each run's own, of the stage or of all by turns."""
    stage, system = f"average@{BOTH[1]}", BOTH[1]
    copy.edit("training.toy.updates", 6000)
    copy.edit("training.toy.validation_interval", 3000)
    whole = Project(tmp_path / "whole")
    shutil.copytree(copy.root, whole.root, symlinks=True)
    whole.repro(stage)

    moments = random.Random(1)
    for number in range(10):
        running = subprocess.Popen(copy.command("repro", stage), cwd=copy.root, env=environment())
        kill_training(running, copy.root / "work/train", ["stage", "all"][number % 2], after=moments.uniform(0, 1))
        assert running.wait(SECONDS) != 0
    assert not (copy.root / "runs" / system / "train/training.json").exists()

    copy.repro(stage)
    assert copy.lock()[stage]["outs"] == whole.lock()[stage]["outs"]
    assert copy.lock()[f"train@{system}"]["outs"] == whole.lock()[f"train@{system}"]["outs"]


def kill_training(running: subprocess.Popen, work: Path, whom: str, after: float = 0.0) -> None:
    """Kill the training below `running`, or all of it, `after` so many seconds once a new checkpoint lies in `work`."""
    began, until = time.time(), time.monotonic() + SECONDS
    while not [folder for folder in work.glob("*") if written(folder / "state.safetensors") >= began]:
        assert running.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    time.sleep(after)
    assert running.poll() is None, "the training is too short to be killed so late"
    parent = psutil.Process(running.pid)
    for process in [*parent.children(recursive=True), *([parent] if whom == "all" else [])]:
        process.kill()


def written(path: Path) -> float:
    """When the file was written; never, where there is none."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


@pytest.mark.slow
def test_a_build_that_checkout_deleted_comes_back_without_training(copy):
    """As docs/troubleshooting.md says: `git restore .` brought back a dvc.lock from a machine that rounds otherwise."""
    before = copy.lock()
    text = (copy.root / "dvc.lock").read_text(encoding="utf-8")
    for name in of("train", "average"):
        for out in before[name]["outs"]:
            text = text.replace(out["md5"], re.sub("^.{32}", "f" * 32, out["md5"]))
    (copy.root / "dvc.lock").write_text(text, encoding="utf-8")
    assert copy.dvc("checkout").returncode != 0
    assert not (copy.root / "runs" / BOTH[0] / "average/model.safetensors").exists()
    (copy.root / "dvc.lock").unlink()
    ran = copy.repro()
    assert not {stage.partition("@")[0] for stage in ran} & {"train", "average", "decode", "package"}
    assert {name: stage["outs"] for name, stage in copy.lock().items()} == {
        name: stage["outs"] for name, stage in before.items()
    }
