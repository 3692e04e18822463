"""The wheel: one package under a name of our own, which translates without the packages of the stages."""

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pipeline.decoding.translator import Translator
from tests.toys import packages
from tests.toys.systems import PARTS

# What the wheel's own dependencies bring; with anything else of the environment hidden, an import of it fails.
HIDDEN = (
    "dvc",
    "mlflow",
    "datasets",
    "sacrebleu",
    "pandas",
    "matplotlib",
    "plotly",
    "psutil",
    "requests",
    "ctranslate2",
)
HIDE = f"""
import sys
for name in {HIDDEN}:
    sys.modules[name] = None
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, project_root) -> Path:
    """The wheel of a copy of the project, unpacked."""
    root = tmp_path_factory.mktemp("wheel")
    for name in ("pipeline", "stages"):
        shutil.copytree(project_root / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(project_root / name, root)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
        "-w",
        "dist",
        ".",
    ]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    [path] = (root / "dist").iterdir()
    with zipfile.ZipFile(path) as archive:
        archive.extractall(root / "unpacked")
    return root / "unpacked"


def python(wheel: Path, code: str, cwd: Path) -> str:
    """What Python prints that finds the wheel's package, and no package of the stages."""
    environment = os.environ | {"PYTHONPATH": str(wheel)}
    command = [sys.executable, "-c", HIDE + code]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_but_a_package_of_our_name(wheel):
    assert {path.name for path in wheel.iterdir() if not path.name.endswith(".dist-info")} == {"nmt_pipeline"}
    ours = {path.relative_to(Path(__file__).parents[1] / "pipeline") for path in modules("pipeline")}
    assert {path.relative_to(wheel / "nmt_pipeline") for path in wheel.rglob("*.py")} == ours


def modules(folder: str) -> list[Path]:
    return sorted((Path(__file__).parents[1] / folder).rglob("*.py"))


def test_no_module_names_the_repositorys_packages(wheel):
    for path in sorted(wheel.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & {"pipeline", "stages"}, path


def test_every_import_statement_can_be_renamed():
    """setup.py renames the beginning of a statement: `import pipeline.files` would leave the name in the code."""
    for path in modules("pipeline"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not any(alias.name.startswith("pipeline") for alias in node.names), path


def test_it_translates_a_packaged_system(wheel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = packages.build(tmp_path)
    code = f"""
from pathlib import Path
from nmt_pipeline.decoding.translator import Translator
print(*Translator.load(Path({str(folder)!r})).best({PARTS["test"]!r}), sep="\\n")
assert not any(name.partition(".")[0] in ("pipeline", "stages") for name in sys.modules)
"""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert python(wheel, code, elsewhere).splitlines() == Translator.load(folder).best(PARTS["test"])


def test_the_command_translates_and_names_what_others_need(wheel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = packages.build(tmp_path)
    code = """
import io
from nmt_pipeline.commands import nmt
sys.argv[1:] = {arguments!r}
nmt.app()
"""
    said = python(wheel, code.format(arguments=["translate", "--model", str(folder), "le chat dort"]), tmp_path)
    assert len(said.splitlines()) == 1
    with pytest.raises(AssertionError, match=r"nmt list: needs the package .*expected nmt-pipeline\[build\]"):
        python(wheel, code.format(arguments=["list"]), tmp_path)
