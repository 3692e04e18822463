"""A tiny `dvc repro` builds everything, a second one nothing; an edit re-runs what reads it; a kill loses nothing."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from dvc.repo import Repo

from tests.toys.project import SECONDS, SYSTEMS, Project, create, environment, stages_run

POSTNORM, PRENORM = SYSTEMS
DATA = ["download@toy", "clean@toy", "split@toy", "vocabulary@toy-bpe", "encode@toy-bpe"]
OF_A_SYSTEM = ("train", "average", "decode", "score", "attend", "package")
CORPUS, CONFIG = "corpora/toy.yaml", "configs/transformer_prenorm.yaml"


def of(*stages: str, systems: tuple[str, ...] = SYSTEMS) -> list[str]:
    """DVC's names of the stages of the systems."""
    return [f"{stage}@{system}" for stage in stages for system in systems]


@pytest.fixture(scope="module")
def spare(built, tmp_path_factory) -> Project:
    """A copy for edits that are taken back."""
    return built.copy(tmp_path_factory.mktemp("spare") / "project")


@pytest.fixture
def copy(built, tmp_path) -> Project:
    return built.copy(tmp_path / "copy")


def test_everything_stands_where_people_look_for_it(built):
    assert set(built.lock()) == {*DATA, *of(*OF_A_SYSTEM), "report"}
    for system in SYSTEMS:
        for path in (
            f"metrics/{system}.json",
            f"runs/{system}/train/curves.csv",
            f"runs/{system}/average/model.safetensors",
            f"data/decode/{system}/test.txt",
            f"data/decode/{system}/compositional.txt",
            f"models/{system}/model.safetensors",
        ):
            assert (built.root / path).stat().st_size
    assert (built.root / "report/index.html").stat().st_size


def test_second_repro_does_nothing(built):
    before = (built.root / "dvc.lock").read_bytes()
    assert built.dvc("repro").splitlines()[-1] == "Data and pipelines are up to date."
    assert (built.root / "dvc.lock").read_bytes() == before


DATA_FOLDERS = ("data/", "runs/", "metrics/", "models/", "my/")
UNREAD = ("my", "/languages.json", "/average")  # for files of one's own; for words; opened by no Python


def is_in(path: str, listed: set[str]) -> bool:
    """Whether a path is one of those listed or inside one, or is a folder above one."""
    return any(path == item or path.startswith(f"{item}/") or item.startswith(f"{path}/") for item in listed)


def test_what_a_stage_opens_is_among_its_deps(built):
    """And a stage opens each of its deps, but for `UNREAD`."""
    for stage, lock in built.lock().items():
        opened = set((built.root / "work/opened" / stage).read_text(encoding="utf-8").split("\n"))
        opened = {path for path in opened if path.startswith(DATA_FOLDERS) and "/." not in path}
        deps, outs = ({file["path"] for file in lock.get(kind, ())} for kind in ("deps", "outs"))
        assert not {path for path in opened if not is_in(path, deps | outs)}, f"{stage} reads what is no dep of it"
        read = {dep for dep in deps if dep.startswith(DATA_FOLDERS) and not dep.endswith(UNREAD)}
        assert not {dep for dep in read if not any(is_in(path, {dep}) for path in opened)}, f"{stage} has an idle dep"


TWEAKS = [  # an edit, and the stages that it changes at once; what follows from them follows by the outs
    (f"{CORPUS}:parts.train.num_pairs", 290, ["download@toy"]),
    (f"{CORPUS}:clean", {"max_words": 5}, ["clean@toy"]),
    (f"{CORPUS}:split", {"seed": 2}, ["split@toy"]),
    (f"{CORPUS}:tags", {"train": "<t>"}, ["vocabulary@toy-bpe", "encode@toy-bpe"]),
    (f"{CORPUS}:mixture", {"train": 2.0}, of("train")),
    (f"{CORPUS}:models", {"transformer_prenorm": {"dropout": 0.2}}, of("train")),
    (f"{CORPUS}:start", {"package": "x", "sha256": "y"}, ["vocabulary@toy-bpe", *of("train", "decode")]),
    (f"{CORPUS}:training", {"updates": 8}, of("train")),
    (f"{CORPUS}:average", {"checkpoints": 1}, of("average")),
    (f"{CORPUS}:decode", {"beam_size": 1}, of("decode")),
    (f"{CORPUS}:licence", "mine", of("package")),
    ("clean.max_words", 5, ["clean@toy"]),
    ("split.seed", 2, ["split@toy"]),
    ("vocabularies.bpe.size", 180, ["vocabulary@toy-bpe"]),
    ("vocabularies.other", {}, []),
    ("training.updates", 8, of("train")),
    (f"{CONFIG}:shared.clip", 2.0, of("train", systems=(PRENORM,))),
    (f"{CONFIG}:toy.schedule.warmup", 2, of("train", systems=(PRENORM,))),
    (f"{CONFIG}:other", {}, []),
    ("average.checkpoints", 1, of("average")),
    ("decode.beam_size", 1, of("decode")),
    ("score.length_buckets", [5], of("score")),
    ("attend.sentences", 1, of("attend")),
    ("report.sentences", 1, ["report"]),
    ("build.models", ["transformer_prenorm"], ["report"]),
    ("build.seeds", [1, 2], [*of(*OF_A_SYSTEM, systems=tuple(f"{system[:-1]}2" for system in SYSTEMS)), "report"]),
    (
        "pipeline/models/transformer_prenorm.py",
        "# new\n",
        of("train", "decode", "attend", "package", systems=(PRENORM,)),
    ),
    ("pipeline/layers/attention.py", "# new\n", of("train", "decode", "attend", "package")),
    ("pipeline/preparation/cleaning.py", "# new\n", ["clean@toy", "split@toy"]),
    ("pipeline/console/progress.py", "# new\n", []),
    ("stages/score.py", "# new\n", of("score")),
]


@pytest.mark.parametrize(("name", "value", "changed"), TWEAKS, ids=[tweak[0] for tweak in TWEAKS])
def test_tweak_changes_exactly_what_reads_it(spare, monkeypatch, name, value, changed):
    monkeypatch.chdir(spare.root)
    with spare.edited(name, value) as replaced:
        assert replaced is not None or name.endswith((".py", "other")), "a tweak of a key that does not exist"
        assert set(Repo().status()) == set(changed)


def test_a_comment_in_a_layer_trains_to_the_same_bytes_and_stops_there(copy):
    copy.edit("build.models", ["transformer_prenorm"])
    copy.repro("report")
    copy.edit("pipeline/layers/residual.py", "# a comment\n")
    before = copy.lock()
    train = f"train@{PRENORM}"
    assert copy.repro(f"average@{PRENORM}") == [train]
    assert copy.lock()[train]["outs"] == before[train]["outs"]


def test_an_experiment_changes_one_line_and_is_undone_by_one_command(built, tmp_path):
    """Of a user who has committed what he built."""
    user = built.copy(tmp_path / "user")
    user.git("add", "--all")
    user.git("commit", "--quiet", "--message", "Build")
    before = (user.root / "report/index.html").read_bytes()
    ran = stages_run(user.dvc("exp", "run", "--name", "dropped", "-S", f"{CONFIG}:shared.dropout=0.2"))
    assert set(ran) == {*of(*OF_A_SYSTEM, systems=(PRENORM,)), "report"}
    assert user.git("diff", "--numstat", "configs", "params.yaml", "corpora").split() == ["1", "1", CONFIG]
    table = json.loads(user.dvc("exp", "show", "--json"))
    assert "dropped" in json.dumps(table)
    user.git("restore", ".")
    user.dvc("checkout")
    assert user.git("status", "--porcelain") == ""
    assert user.dvc("status") == "Data and pipelines are up to date.\n"
    assert (user.root / "report/index.html").read_bytes() == before


@pytest.mark.slow
def test_an_experiment_in_a_copy_has_the_texts_that_dvc_keeps(copy):
    """A queued one too: git makes the copy, and git keeps none of the user's texts."""
    for side in ("source", "target"):
        shutil.copy(copy.root / f"data/split/toy/train.{side}.txt", copy.root / f"my/toy.{side}")
    copy.edit(f"{CORPUS}:parts.train", {"kind": "local", "source": "my/toy.source", "target": "my/toy.target"})
    copy.dvc("add", "my/toy.source", "my/toy.target")
    copy.git("add", "--all")
    copy.git("commit", "--quiet", "--message", "Own texts")
    assert stages_run(copy.dvc("exp", "run", "--temp", "download@toy")) == ["download@toy"]


@pytest.mark.parametrize("whom", ["stage", pytest.param("all", marks=pytest.mark.slow)])
def test_killed_training_goes_on_to_the_same_model(copy, tmp_path, whom):
    """kill -9 of the stage, or of dvc and everything below it, once the first checkpoint is there."""
    stage = f"train@{PRENORM}"
    copy.edit("training.updates", 400)
    copy.edit("training.validation_interval", 200)
    shutil.rmtree(copy.root / "work/train")  # with the states of the training before
    whole = copy.copy(tmp_path / "whole")
    assert whole.repro(stage) == [stage]

    running = subprocess.Popen([sys.executable, "-m", "dvc", "repro", stage], cwd=copy.root, env=environment())
    kill_training(running, copy.root / "work/train", whom)
    assert running.wait(SECONDS) != 0
    assert not (copy.root / "runs" / PRENORM / "train/training.json").exists()

    done = copy.run(sys.executable, "-m", "dvc", "repro", stage)
    assert f"{PRENORM}  goes on from update " in done.stdout + done.stderr
    assert copy.lock()[stage]["outs"] == whole.lock()[stage]["outs"]


def kill_training(running: subprocess.Popen, work: Path, whom: str) -> None:
    """Kill the training below `running`, or all of it, once a new checkpoint lies in `work`."""
    until = time.monotonic() + SECONDS
    while not list(work.glob("*/state.safetensors")):
        assert running.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    parent = psutil.Process(running.pid)
    for process in [*parent.children(recursive=True), *([parent] if whom == "all" else [])]:
        process.kill()


@pytest.mark.slow
def test_several_systems_at_once_leave_the_same_bytes(built, tmp_path):
    again = create(tmp_path / "again")
    done = again.nmt("repro", "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert again.lock() == built.lock()
