"""`nmt repro-portable`, with a script in the place of the build; the slow tests have DVC and the real build."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from pipeline.commands import portable_list, repro_portable
from pipeline.commands.portable_list import LIST
from pipeline.commands.repro_portable import SETTINGS
from tests.toys import dvc_project
from tests.toys.dvc_project import SECONDS, Project

CAPABLE = torch.cpu.get_capabilities().get("avx2", False)
needs_avx2 = pytest.mark.skipif(not CAPABLE, reason="this processor has no AVX2")
POSTNORM, PRENORM = "toy-bpe-transformer_postnorm-tiny", "toy-bpe-transformer_prenorm-tiny"
RESULTS = [  # in the order in which they are made
    "data/split/toy/train.source.txt",
    "data/vocabulary/toy-bpe/joint.model",
    *(
        path
        for system in (POSTNORM, PRENORM)
        for path in (
            f"runs/{system}/train/curves.csv",
            f"runs/{system}/average/model.safetensors",
            f"data/decode/{system}/compositional.txt",
            f"data/decode/{system}/test.txt",
            f"metrics/{system}.json",
        )
    ),
]
BUILD = f"""
import json, os, signal, sys, time
from pathlib import Path
Path("environment.json").write_text(json.dumps(dict(os.environ)))
for name in {RESULTS}:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text("other" if name in os.environ.get("OTHERS", "").split() else "same")
if os.environ.get("WAIT"):
    signal.signal(signal.SIGTERM, lambda *_: (Path("ended").touch(), sys.exit(143)))
    Path("began").touch()
    time.sleep(60)
sys.exit(int(os.environ.get("STATUS", 0)))
"""


@pytest.fixture
def folder(project_root, tmp_path, monkeypatch) -> Path:
    """A project of two systems, built by a script."""
    monkeypatch.chdir(tmp_path)
    for name in (".dvcignore", "dvc.yaml", "tests/toys/params.yaml"):
        shutil.copy(project_root / name, tmp_path)
    shutil.copytree(project_root / "tests/toys/corpora", tmp_path / "corpora")
    for name in ("pipeline/loss.py", "pipeline/commands/show.py", "stages/train.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f'"""{name}"""\n')
    (tmp_path / "build.py").write_text(BUILD)
    (tmp_path / "my").mkdir()
    (tmp_path / "my/mine.fr").write_text("le chat\n")
    monkeypatch.setattr(repro_portable, "BUILD", (sys.executable, str(tmp_path / "build.py")))
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True, "fma3": True})
    return tmp_path


@pytest.fixture
def listed(folder, run) -> Path:
    """The same with a list of its results, as if nothing had been built."""
    assert run("repro-portable", "--renew") == (0, f"portable.json: {len(RESULTS)} results, written\n", "")
    shutil.rmtree("work")
    return folder


def replace(path: str, old: str, new: str) -> None:
    """Replace a text that a file has once."""
    text = Path(path).read_text(encoding="utf-8")
    assert text.count(old) == 1
    Path(path).write_text(text.replace(old, new), encoding="utf-8")


def test_the_same_results_are_one_line(listed, run):
    assert list(json.loads(LIST.read_text())["results"]) == RESULTS
    assert run("repro-portable") == (0, f"portable.json: all {len(RESULTS)} results are the same here\n", "")
    assert sorted(os.listdir()) == sorted(
        [
            ".dvcignore",
            "build.py",
            "corpora",
            "dvc.yaml",
            "my",
            "params.yaml",
            "pipeline",
            "portable.json",
            "stages",
            "work",
        ]
    )


def test_files_of_the_user_come_along(listed, run):
    assert run("repro-portable").status == 0
    assert Path("work/portable/my/mine.fr").read_text() == "le chat\n"
    Path("my/mine.fr").unlink()
    assert run("repro-portable").status == 0
    assert os.listdir("work/portable/my") == []


def test_links_of_the_user_come_along(listed, run):
    Path("elsewhere").mkdir()
    Path("elsewhere/theirs.en").write_text("the cat\n")
    Path("my/theirs.en").symlink_to("../elsewhere/theirs.en")
    Path("my/gone.en").symlink_to("../elsewhere/gone.en")
    for _ in range(2):
        assert run("repro-portable").status == 0
        assert Path("work/portable/my/theirs.en").read_text() == "the cat\n"
        assert sorted(os.listdir("work/portable/my")) == ["mine.fr", "theirs.en"]


def test_the_first_difference_is_named(listed, fails, monkeypatch):
    monkeypatch.setenv(
        "OTHERS", f"metrics/{POSTNORM}.json runs/{PRENORM}/train/curves.csv data/decode/{POSTNORM}/test.txt"
    )
    assert fails("repro-portable") == (
        f"portable.json: 3 of {len(RESULTS)} results differ, first data/decode/{POSTNORM}/test.txt; the code is the "
        "same, so this machine rounds differently"
    )


def test_where_the_code_has_changed_that_may_be_why(listed, fails, monkeypatch):
    monkeypatch.setenv("OTHERS", f"metrics/{PRENORM}.json")
    Path("pipeline/commands/show.py").write_text("# no stage runs it\n")
    assert fails("repro-portable").endswith("the code is the same, so this machine rounds differently")
    Path("pipeline/loss.py").write_text("# stages run it\n")
    assert fails("repro-portable") == (
        f"portable.json: 1 of {len(RESULTS)} results differ, first metrics/{PRENORM}.json; the code has changed since, "
        "or this machine rounds differently"
    )


def test_a_result_that_is_missing_or_new_differs(listed, fails, monkeypatch):
    replace("portable.json", f'"metrics/{POSTNORM}.json"', '"metrics/gone.json"')
    assert fails("repro-portable").startswith(
        f"portable.json: 2 of {len(RESULTS) + 1} results differ, first metrics/{POSTNORM}.json; "
    )


@pytest.mark.parametrize(
    ("path", "old", "new", "names"),
    [
        ("params.yaml", "updates: 6", "updates: 8", "params.yaml: training.toy"),
        ("params.yaml", "beam_size: 2", "beam_size: 1", "params.yaml: decode"),
        ("params.yaml", "[transformer_postnorm, ", "[", None),
        ("corpora/toy.yaml", "num_pairs: 300", "num_pairs: 301", "corpora/toy.yaml: parts"),
    ],
)
def test_a_list_of_other_parameters_is_refused_before_anything_is_built(listed, fails, path, old, new, names):
    replace(path, old, new)
    first = "params.yaml: build, params.yaml: models.transformer_postnorm.default, params.yaml: models."
    expected = f"{names}; expected" if names else f"{first}transformer_postnorm.tiny; expected"
    assert fails("repro-portable") == (
        f"portable.json: was made with another {expected} those of this folder. `nmt repro-portable --renew` builds "
        "and writes the list anew"
    )
    assert not Path("work/portable/environment.json").exists()


def test_a_fault_of_the_parameters_is_named_where_the_user_wrote_it(listed, fails):
    replace("params.yaml", "beam_size: 2", "beam_size: 0")
    assert fails("repro-portable") == "params.yaml: decode.beam_size: should be greater than 0, got 0"


@pytest.mark.parametrize(
    ("text", "what"),
    [(None, "no such file"), ("[]", "not a list of portable results"), ("{}", "not a list of portable results")],
)
def test_without_a_list_there_is_one_line(folder, fails, text, what):
    if text is not None:
        LIST.write_text(text)
    assert fails("repro-portable") == (
        f"portable.json: {what}; expected the one that git has, or what `nmt repro-portable --renew` writes"
    )
    assert not Path("work/portable").exists()


def test_parameters_of_the_report_do_not_matter(listed, run):
    replace("params.yaml", "report: {samples: 2", "report: {samples: 1")
    assert run("repro-portable").status == 0


def test_a_list_of_another_torch_is_refused(listed, fails, monkeypatch):
    monkeypatch.setattr(portable_list, "version", lambda name: "2.99.0+cpu" if name == "torch" else real_version(name))
    assert fails("repro-portable").startswith("portable.json: was made with another torch; expected ")


real_version = portable_list.version


def test_the_build_has_portable_arithmetic_and_nothing_of_the_user_that_changes_it(listed, run, monkeypatch):
    theirs = {
        "OMP_NUM_THREADS": "7",
        "MKL_CBWR": "AVX512",
        "TRAIN_PROCESSES": "2",
        "ONEDNN_DEFAULT_FPMATH_MODE": "BF16",
    }
    for name, value in (theirs | {"MLFLOW_TRACKING_URI": "http://theirs", "CORPUS_MIRROR": "kept"}).items():
        monkeypatch.setenv(name, value)
    assert run("repro-portable").status == 0
    given = json.loads(Path("work/portable/environment.json").read_text())
    assert given.items() >= SETTINGS.items()
    assert given["CORPUS_MIRROR"] == "kept"
    assert not given.keys() & {"TRAIN_PROCESSES", "ONEDNN_DEFAULT_FPMATH_MODE", "MLFLOW_TRACKING_URI"}
    assert given["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)


def test_code_is_brought_up_to_date_and_what_was_built_stays(listed, run):
    assert run("repro-portable").status == 0
    Path("pipeline/loss.py").rename("pipeline/losses.py")
    Path("work/portable/data/kept").touch()
    assert run("repro-portable").status == 0
    assert sorted(os.listdir("work/portable/pipeline")) == ["commands", "losses.py"]
    assert Path("work/portable/data/kept").exists()


def test_a_failed_build_is_passed_on_and_no_list_written(listed, run, monkeypatch):
    before = LIST.read_bytes()
    monkeypatch.setenv("STATUS", "3")
    for option in ((), ("--renew",)):
        assert run("repro-portable", *option) == (3, "", "")
    assert LIST.read_bytes() == before


def test_sigterm_ends_the_build_too(listed, monkeypatch):
    monkeypatch.setenv("WAIT", "1")
    work = Path("work/portable")
    work.mkdir(parents=True)
    program = (
        "import sys; from pipeline.commands import repro_portable as r; r.BUILD = sys.argv[1:]; sys.exit(r.build())"
    )
    root = str(Path(repro_portable.__file__).parents[2])
    command = [sys.executable, "-c", program, sys.executable, str(Path("build.py").resolve())]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": root}) as process:
        while not (work / "began").exists() and process.poll() is None:
            time.sleep(0.05)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert (work / "ended").exists()


@pytest.mark.parametrize("found", [{}, {"avx2": False, "fma3": False}, {"avx2": True, "fma3": False}])
def test_a_processor_without_avx2_is_one_line(folder, fails, monkeypatch, found):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert fails("repro-portable") == (
        "this processor: has no AVX2 with FMA, got aarch64; expected an x86-64 processor that has them, or `make "
        "repro`, whose results this machine repeats"
    )
    assert not Path("work").exists()


ARITHMETIC = """
import torch
x = torch.ones(64, 64)
x @ x
torch.ops.mkldnn._linear_pointwise(x, torch.ops.mkldnn._reorder_linear_weight(x, 64), None, "none", [], "")
print("ATen", torch.backends.cpu.get_cpu_capability(), torch.get_num_threads())
"""


@needs_avx2
def test_torch_mkl_and_onednn_obey():
    said = subprocess.run(
        [sys.executable, "-c", ARITHMETIC],
        env=repro_portable.environment() | {"MKL_VERBOSE": "1", "ONEDNN_VERBOSE": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "ATen AVX2 1\n" in said
    assert re.findall(r"SGEMM.* CNR:(\w+) ", said) == ["COMPATIBLE"]
    assert re.findall(r"cpu,isa:(.*)", said) == ["Intel AVX2"]


def test_make_repro_portable_only_calls_nmt(project_root):
    lines = (project_root / "Makefile").read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("repro-portable:"))
    assert lines[start + 1 : start + 3] == ["\t@nmt repro-portable", ""]


def nmt(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an `nmt` command in a project."""
    command = [sys.executable, "-m", "pipeline.commands.nmt", *arguments]
    environment = dvc_project.environment() | {"OMP_NUM_THREADS": "2"}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=4 * SECONDS)


NOTE = """

from pathlib import Path as _Path
_Path("work").mkdir(exist_ok=True)
with _Path("work/environments").open("a") as _file:
    print(_Path(sys.argv[0]).stem, *(os.environ.get(name) for name in ({names})), sep="|", file=_file)
"""


@pytest.mark.slow
@needs_avx2
@pytest.mark.usefixtures("dvc_leaves_nothing_behind")
def test_every_stage_gets_the_settings_and_the_project_stays_as_it_was(tmp_path):
    project = Project(dvc_project.copy(tmp_path / "project"))
    with (project.root / "pipeline/cli.py").open("a") as file:
        file.write(NOTE.format(names=", ".join(map(repr, SETTINGS))))
    said = nmt(project.root, "repro-portable", "--renew")
    assert said.returncode == 0, said.stdout + said.stderr
    lines = (project.root / "work/portable/work/environments").read_text().splitlines()
    stages = {"train", "average", "decode", "score", "attend", "package", "report", "encode", "vocabulary", "split"}
    noted = [line.split("|") for line in lines]
    assert {name for name, *_ in noted} >= stages
    assert [values for _, *values in noted] == [list(SETTINGS.values())] * len(noted)
    assert not {"dvc.lock", "data", "runs", "metrics", "models", "report", "mlflow.db"} & {*os.listdir(project.root)}
    again = nmt(project.root, "repro-portable")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "Data and pipelines are up to date." in again.stdout
    assert again.stdout.splitlines()[-1].startswith("portable.json: all ")


@pytest.mark.slow
@needs_avx2
@pytest.mark.usefixtures("dvc_leaves_nothing_behind")
def test_the_default_build_is_that_of_the_list(project_root, tmp_path):
    root = dvc_project.copy(tmp_path / "project")
    shutil.copy(project_root / "params.yaml", root)
    shutil.copytree(project_root / "corpora", root / "corpora", dirs_exist_ok=True)
    said = nmt(root, "repro-portable")
    assert said.returncode == 0, said.stdout + said.stderr
