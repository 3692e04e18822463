"""dvc.yaml tells the truth: deps cover what a stage imports, params are what it reads; and imports point down."""

import ast
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from dvc.repo import Repo
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
# Modules that show and track: they change no output, so no stage depends on them.
NEUTRAL = ("console", "tracking")
# Stages that run for hours: an edit of a file that they never import runs none of them.
DEAR = ("clean", "encode", "train", "decode")
# The rooms from bottom to top: a module imports its own room and those before it.
ROOMS = (
    *("console", "common", "compute", "languages", "corpora", "preparation", "vocabularies", "encoding", "layers"),
    *("models", "evaluation", "averaging", "decoding", "packaging", "tracking", "training", "report", "serving"),
    "commands",
)


@cache
def imported(path: Path) -> frozenset[Path]:
    """Files of this repository that the import statements of `path` run; those with no code aside."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = absolute(path, node)
            names += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    files = set()
    for parts in (name.split(".") for name in names):
        for depth in range(1, len(parts) + 1):
            base = ROOT.joinpath(*parts[:depth])
            files |= {p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file() and has_code(p)}
    return frozenset(files)


def absolute(path: Path, node: ast.ImportFrom) -> str:
    """The full name of the module in a `from` statement, which may be relative."""
    if not node.level:
        return node.module or ""
    package = path.relative_to(ROOT).parts[: -node.level]
    return ".".join([*package, *filter(None, [node.module])])


@cache
def has_code(path: Path) -> bool:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in body)


def closure(*entries: Path) -> set[str]:
    """Paths from the root of all that running `entries` imports, `entries` included, without neutral modules.

    Importers and rules are found by name, all of them.
    """
    seen, todo = set(), list(entries)
    while todo:
        if (path := todo.pop()) not in seen:
            seen.add(path)
            todo += [] if is_neutral(path) else imported(path)
            if path.match("importers/interface.py") or path.match("rules/interface.py"):
                todo += modules(name(path.parent))
    return {name(path) for path in seen if not is_neutral(path)}


def is_neutral(path: Path) -> bool:
    return name(path).startswith("pipeline/") and room(path) in NEUTRAL


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def room(path: Path) -> str:
    """The folder of `pipeline` that a module belongs to."""
    return path.relative_to(ROOT / "pipeline").parts[0]


def modules(folder: str) -> list[Path]:
    return sorted(path for path in ROOT.glob(f"{folder}/**/*.py") if has_code(path))


def instances() -> dict[str, dict[str, object]]:
    """Stage name -> {item of its matrix, or "": the stage}."""
    stages = defaultdict(dict)
    for stage in Repo(ROOT).index.stages:
        stage_name, _, item = stage.name.partition("@")
        stages[stage_name][item] = stage
    return stages


WRITTEN = YAML(typ="safe").load(ROOT / "dvc.yaml")["stages"]
STAGES = instances()
MODELS = {path for path in modules("pipeline/models") if path.stem != "interface"}
MODEL_NAMES = {name(path) for path in MODELS}


def axes(stage: str, item: str) -> dict[str, str]:
    """The value of each axis of the matrix in an instance of a stage."""
    return dict(zip(WRITTEN[stage].get("matrix", ()), item.split("-"), strict=True)) if item else {}


def script(stage: str) -> Path:
    return ROOT / f"stages/{stage}.py"


@pytest.mark.parametrize("stage", STAGES)
def test_deps_cover_the_imported_modules_and_nothing_else(stage):
    """Each imported module is a dep or lies in a folder that is one, and no other code is a dep.

    A stage that finds models by name depends on the file of its own model, and on all that any model imports.
    """
    finds = "pipeline/models/interface.py" in closure(script(stage))
    code = closure(script(stage), *(MODELS if finds else ())) - MODEL_NAMES
    for item, built in STAGES[stage].items():
        model = axes(stage, item).get("model")
        own = {f"pipeline/models/{model}.py"} if model else MODEL_NAMES
        wanted = code | (own if finds else set())
        deps = {str(dep.def_path) for dep in built.deps if str(dep.def_path).startswith(("pipeline/", "stages/"))}
        uncovered = {path for path in wanted if not any(path == dep or path.startswith(f"{dep}/") for dep in deps)}
        idle = {dep for dep in deps if not any(path == dep or path.startswith(f"{dep}/") for path in wanted)}
        assert not uncovered, f"{built.addressing}: imports, but does not declare"
        assert {dep for dep in idle if dep.endswith(".py") or "." not in dep} == set(), f"{built.addressing}: unused"
        folders = [dep for dep in deps if not dep.endswith(".py")]
        declared = {name(path) for folder in folders for path in modules(folder)} - MODEL_NAMES
        never_imported = sorted(declared - wanted)
        print(f"{built.addressing}: declares, but never imports {never_imported}")
        assert stage not in DEAR or not never_imported


@pytest.mark.parametrize("stage", STAGES)
def test_params_are_the_sections_read(stage):
    tree = ast.parse(script(stage).read_text(encoding="utf-8"))
    reads = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "READS"
    )
    for item, built in STAGES[stage].items():
        declared = {
            key if dep.def_path == "params.yaml" else f"{dep.def_path}:{key}"
            for dep in built.deps
            for key in getattr(dep, "params", ())
        }
        assert declared == {read.format(**axes(stage, item)) for read in reads}, built.addressing


def test_every_stage_has_a_script_and_every_script_a_stage():
    assert {path.stem for path in modules("stages")} == {script(stage).stem for stage in WRITTEN}


@pytest.mark.parametrize("path", modules("pipeline"), ids=name)
def test_imports_point_down(path):
    reached = {room(other) for other in imported(path) if name(other).startswith("pipeline/")}
    assert reached <= {*ROOMS[: ROOMS.index(room(path)) + 1]}


def loaded_by(*paths: Path) -> set[str]:
    """The modules in a fresh interpreter that imports the files."""
    names = ", ".join(name(path).removesuffix(".py").replace("/", ".") for path in paths)
    command = [sys.executable, "-c", f"import sys; import {names}; print(*sys.modules)"]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


def test_training_and_decoding_run_on_a_bare_gpu_machine():
    """With torch, numpy, sentencepiece and small pure packages: no MLflow, DVC, datasets or pandas."""
    rooms = ("training", "models", "decoding", "layers", "packaging")
    loaded = loaded_by(*(path for room in rooms for path in modules(f"pipeline/{room}")))
    assert not {"mlflow", "dvc", "datasets", "pandas", "ctranslate2"} & loaded


def test_preparation_and_evaluation_need_no_torch():
    rooms = ("corpora", "preparation", "vocabularies", "evaluation")
    loaded = loaded_by(*(path for room in rooms for path in modules(f"pipeline/{room}")))
    assert not {"torch", "mlflow", "dvc"} & loaded
