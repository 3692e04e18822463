"""dvc.yaml tells the truth: deps and params are exactly what a stage imports and reads; and imports point down."""

import ast
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from dvc.repo import Repo
from gto.constants import assert_name_is_valid
from ruamel.yaml import YAML

from pipeline import fingerprint
from pipeline.system import SEED, Build, System

ROOT = Path(__file__).parents[1]
TRACKED = ("database", "deadline", "location", "notes", "recorded", "registry", "runs", "server", "store", "views")
SHOWING = ("cli", "events", "progress", "terminal", "training_display")
NEUTRAL = {f"pipeline/{name}.py" for name in (*SHOWING, *(f"tracking/{name}" for name in TRACKED))}  # change no result
ROOMS = {  # a stage that imports every file of one depends on the folder
    f"pipeline/{name}"
    for name in (
        *("corpora", "phrasebook", "preparation", "vocabularies", "encoding"),
        *("kernels", "layers", "training", "decoding", "packaging", "evaluation"),
    )
}
BOTTOM = {"params", "files", "ids", "seeding", "terminal", "events", "cores"}  # import nothing else of ours
BELOW = {  # each module or package of `pipeline` -> what else of `pipeline` it may import
    **{name: set() for name in BOTTOM},
    "cli": {"files", "terminal", "events"},
    "options": {"files"},
    "progress": {"terminal", "events"},
    "training_display": {"progress", "system"},
    "system": {"params"},
    "device": set(),
    "fingerprint": {"params", "files"},
    "tracking": {"decoding.translator", "system", "params", "files", "terminal"},
    "phrasebook": {"params", "files", "seeding"},
    "corpora": {"phrasebook", "params", "files", "seeding", "progress", "terminal"},
    "preparation": {"corpora.parts", "params", "files", "seeding", "progress", "summaries", "terminal"},
    "vocabularies": {"preparation.normalisation", "params", "files", "ids", "seeding", "progress", "summaries"},
    "encoding": {"vocabularies.vocabulary", "cores", "params", "files", "ids", "seeding", "progress"},
    "kernels": {"ids"},
    "layers": {"kernels.dispatch", "params", "ids"},
    "models": {"models.interface", "layers", "params", "ids"},
    "training": {
        "system",
        "models.interface",
        "kernels.dispatch",
        "encoding.batching",
        "encoding.budget",
        "encoding.occurrences",
        "encoding.shards",
        "vocabularies.vocabulary",
        "device",
        "evaluation.bleu",
        "decoding.greedy",
        "fingerprint",
        "tracking.runs",
        "params",
        "seeding",
        "ids",
        "files",
        "progress",
        "terminal",
    },
    "decoding": {
        *(
            "models.interface",
            "packaging.package",
            "vocabularies.vocabulary",
            "preparation.seen_words",
            "weights",
            "summaries",
            "device",
            "system",
            "encoding.occurrences",
            "encoding.padding",
            "encoding.shards",
            "kernels.dispatch",
        ),
        *("params", "files", "ids", "seeding", "progress"),
    },
    "packaging": {"layers", "vocabularies.vocabulary", "summaries", "params", "files", "ids"},
    "serving": {
        *("decoding", "packaging.package", "vocabularies.vocabulary", "preparation.normalisation"),
        *("cli", "options", "params", "files", "ids", "terminal"),
    },
    "evaluation": {"params", "files", "seeding", "system", "progress", "summaries", "terminal"},
    "ensembles": {"params", "system"},
    "catalogue": {
        "averaging",
        "ensembles",
        "params",
        "system",
        "corpora",
        "preparation",
        "vocabularies",
        "encoding",
        "models",
        "training",
        "decoding",
        "evaluation",
    },
    "summaries": {"files"},
    "averaging": {"training.checkpoint_file", "params", "files"},
    "weights": {"files"},
}
BELOW["commands"] = {*BELOW, "commands"}  # like a stage, a command imports anything


@cache
def imported(path: Path) -> frozenset[Path]:
    """Files of this repository that the import statements of `path` run; docstring-only ones aside."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for parts in (name.split(".") for name in names):
            for depth in range(1, len(parts) + 1):
                base = ROOT.joinpath(*parts[:depth])
                found |= {p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file() and has_code(p)}
    return frozenset(found)


@cache
def has_code(path: Path) -> bool:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in body)


def defines(path: Path) -> bool:
    """Whether a module holds more than constants."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(node, kinds) for node in ast.parse(path.read_text(encoding="utf-8")).body)


def closure(*entries: Path) -> set[str]:
    """Paths from the root of everything that running `entries` imports, `entries` included."""
    seen, todo = set(), list(entries)
    while todo:
        if (path := todo.pop()) not in seen:
            seen.add(path)
            todo += imported(path)
    return {name(path) for path in seen} - NEUTRAL


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def modules(*folders: str) -> list[Path]:
    """Every Python file with code below the folders."""
    return sorted(p for folder in folders for p in ROOT.glob(f"{folder}/**/*.py") if has_code(p))


def instances(root: Path) -> dict[str, dict[str, object]]:
    """Stage name -> {item of its matrix, or "": the stage}."""
    found = defaultdict(dict)
    for stage in Repo(root).index.stages:
        stage_name, _, item = stage.name.partition("@")
        found[stage_name][item] = stage
    return found


def with_teacher(params: dict) -> None:
    """Give a corpus of params.yaml a teacher; a fresh project has none."""
    lists = {"vocabulary": "vocabularies", "model": "models", "size": "sizes"}
    teacher = {axis: params["build"][key][0] for axis, key in lists.items()}
    params["build"]["corpora"] = [TEACHER, TAUGHT]
    params["distill"]["teachers"] = {TAUGHT: {"corpus": TEACHER, **teacher}}
    params["distill"]["keep_references"] = [TAUGHT]


def with_seeds(params: dict) -> None:
    """Choose further seeds; a fresh project has none."""
    params["build"]["more_seeds"] = [2, 3]


def with_ensemble(params: dict) -> None:
    """Have two systems translate together; in a fresh project none do."""
    params["build"]["more_seeds"] = [2]
    first = f"{params['build']['models'][0]}-{params['build']['sizes'][0]}"
    vocabulary = params["build"]["vocabularies"][0]
    pair = {"corpus": TEACHER, "vocabulary": vocabulary, "first": first, "second": f"{first}-2"}
    params["build"]["corpora"] = [TEACHER]
    params["ensembles"]["pairs"] = {"two": pair}


def edited(edit: Callable[[dict], None]) -> dict[str, dict[str, object]]:
    """`instances` of a project whose params.yaml is edited."""
    yaml = YAML()
    params = yaml.load(ROOT / "params.yaml")
    edit(params)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / "dvc.yaml", folder)
        shutil.copytree(ROOT / "corpora", Path(folder, "corpora"))
        yaml.dump(params, Path(folder, "params.yaml"))
        Repo.init(folder, no_scm=True).close()
        return instances(Path(folder))


WRITTEN = YAML(typ="safe").load(ROOT / "dvc.yaml")["stages"]
TEACHER, TAUGHT = "multi30k_de_en", "multi30k_en_de"
TAUGHT_STAGES = edited(with_teacher)
ENSEMBLE_STAGES = edited(with_ensemble)
SEED_STAGES = {name: items for name, items in edited(with_seeds).items() if name.endswith(SEED)}
PER_KEY = {"distill": TAUGHT_STAGES["distill"], "ensemble": ENSEMBLE_STAGES["ensemble"]}
STAGES = {**instances(ROOT), **PER_KEY, **SEED_STAGES}
AXES = {stage: list(about.get("matrix", ())) for stage, about in WRITTEN.items()}
MODELS = {p for p in ROOT.glob("pipeline/models/*.py") if p.stem not in ("__init__", "interface")}  # chosen or not


def axes(stage: str, item: str) -> dict[str, str]:
    """The value of each axis in the instance `item` of a stage; of `distill`, the taught corpus and the teacher's.

    Of `ensemble`, its name and the corpus of its systems, whose models differ.
    """
    if stage == "ensemble":
        return {"name": item, "corpus": TEACHER}
    if stage == "distill":
        [teacher] = [dep.def_path for dep in STAGES[stage][item].deps if str(dep.def_path).endswith("/average")]
        return {**System.parse(teacher.split("/")[1])._asdict(), "corpus": item}
    return dict(zip(AXES[stage], item.split("-"), strict=True)) if item else {}


def script(stage: str) -> Path:
    """The script that a stage runs."""
    return ROOT / f"stages/{stage.removesuffix(SEED)}.py"


def reads(stage: str) -> tuple[str, ...]:
    """What a stage's script declares to read."""
    tree = ast.parse(script(stage).read_text(encoding="utf-8"))
    return next(
        ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "READS"
    )


@pytest.mark.parametrize("stage", STAGES)
def test_deps_are_the_imported_modules(stage):
    """A stage that finds models declares the file of its own (or the folder of all of them, if no axis names one), and
    every brick that any model uses (cautious, never stale)."""
    finds = "pipeline/models/interface.py" in closure(script(stage))
    shared = closure(script(stage), *(MODELS if finds else ())) - {name(path) for path in MODELS}
    for item, built in STAGES[stage].items():
        model = axes(stage, item).get("model")
        own = {f"pipeline/models/{model}.py"} if model else {name(path) for path in MODELS}
        rooms = {*ROOMS, "pipeline/models"}
        declared = {dep.def_path for dep in built.deps if str(dep.def_path).endswith(".py") or dep.def_path in rooms}
        assert declared == by_room(shared | (own if finds else set()), stage), built.addressing


def test_a_teacher_is_built_before_the_corpus_that_it_teaches_is_encoded():
    """Both are in one graph, by what they read and write; the teacher's own corpus waits for nobody."""
    teacher = next(dep for dep in TAUGHT_STAGES["distill"][TAUGHT].deps if str(dep.def_path).endswith("/average"))
    assert teacher.def_path in {out.def_path for stage in TAUGHT_STAGES["average"].values() for out in stage.outs}
    [translations] = [out.def_path for out in TAUGHT_STAGES["distill"][TAUGHT].outs]
    for item, stage in TAUGHT_STAGES["encode"].items():
        waits = any(str(translations).startswith(f"{dep.def_path}/") for dep in stage.deps)
        assert waits == item.startswith(f"{TAUGHT}-")


def test_an_ensemble_waits_for_both_its_systems():
    """It reads the averages of two trainings, which are in the same graph, and what it writes the report reads."""
    stage = ENSEMBLE_STAGES["ensemble"]["two"]
    waits = {dep.def_path for dep in stage.deps if str(dep.def_path).endswith("/average")}
    written = (
        out for name in ("average", "average_seed") for one in ENSEMBLE_STAGES[name].values() for out in one.outs
    )
    assert len(waits) == 2
    assert waits <= {out.def_path for out in written}
    read = [str(dep.def_path) for dep in ENSEMBLE_STAGES["report"][""].deps]
    assert all(any(str(out.def_path).startswith(f"{dep}/") for dep in read) for out in stage.outs)


def test_style_sheets_and_scripts_are_deps_of_the_report():
    """They stand beside the module that reads them, and no import names them."""
    assets = {name(path) for pattern in ("*.css", "*.js") for path in ROOT.glob(f"pipeline/evaluation/{pattern}")}
    assert assets
    assert {dep for dep in WRITTEN["report"]["deps"] if dep.endswith((".css", ".js"))} == assets


def by_room(paths: set[str], stage: str) -> set[str]:
    """The same with one folder in place of all the files of a room; `check` has it in place of any of them.

    An ensemble has systems of any models.
    """
    for room in {*ROOMS, "pipeline/models"} if stage in ("check", "ensemble") else ROOMS:
        inside = {name(path) for path in modules(room)}
        if paths & inside and (inside <= paths or stage == "check"):
            paths = paths - inside | {room}
    return paths


@pytest.mark.parametrize("stage", STAGES)
def test_params_are_the_sections_read(stage):
    for item, built in STAGES[stage].items():
        declared = {place(dep.def_path, key) for dep in built.deps for key in getattr(dep, "params", ())}
        assert declared == {read.format(**axes(stage, item)) for read in reads(stage)}, built.addressing


def place(path, key):
    """How a stage's READS names a section of a file."""
    return key if path == "params.yaml" else f"{path}:{key}"


def test_check_depends_on_the_whole_files():
    """And on no section of them, so that it runs before DVC asks for one that is not there."""
    assert reads("check") == ()
    assert {"params.yaml", "corpora"} <= set(WRITTEN["check"]["deps"])
    assert "params" not in WRITTEN["check"]
    assert "data/check/params.txt" in WRITTEN["download"]["deps"]


def test_neutral_modules_are_neutral_to_a_fingerprint_too():
    assert {f"{module.replace('.', '/')}.py" for module in fingerprint.NEUTRAL} == NEUTRAL


def test_every_packaged_system_is_an_artifact():
    """By the name of its model, which GTO wants without underscores; a new model needs one more."""
    artifacts = Repo(ROOT).artifacts.read()["dvc.yaml"]
    for artifact in artifacts:
        assert_name_is_valid(artifact)
    assert set(artifacts) == {path.stem.replace("_", "-") for path in MODELS}
    build = Build.load("build", ROOT / "params.yaml")
    first = build.model_copy(update={axis: getattr(build, axis)[:1] for axis in ("corpora", "vocabularies", "sizes")})
    packaged = {f"models/{system.id}" for system in first.systems()}
    assert packaged <= {out.def_path for stage in STAGES["package"].values() for out in stage.outs}
    assert packaged <= {artifact.path for artifact in artifacts.values()}


@pytest.mark.parametrize("stage", WRITTEN)
def test_command_is_the_stage_with_its_axes(stage):
    words = ["${key}"] if "foreach" in WRITTEN[stage] else [f"${{item.{axis}}}" for axis in AXES[stage]]
    assert WRITTEN[stage].get("do", WRITTEN[stage])["cmd"] == " ".join(
        [f"python -m stages.{script(stage).stem}", *words]
    )


def test_a_further_seed_has_the_stages_of_a_system():
    """Each reads and writes what the first seed's does, its own runs, and no stage of the first one changes."""
    assert list(SEED_STAGES) == [f"{name}{SEED}" for name in ("train", "average", "decode", "score")]
    for name, items in SEED_STAGES.items():
        first = STAGES[name.removesuffix(SEED)]
        assert set(items) == {f"{item}-{seed}" for item in first for seed in (2, 3)}
        for item, stage in items.items():
            system = System.parse(item)
            before = first[system._replace(seed="").id]
            assert stage.name == system.stage(name.removesuffix(SEED))
            for mine, its in ((stage.deps, before.deps), (stage.outs, before.outs)):
                paths = [out.def_path.replace(system._replace(seed="").id, item) for out in its]
                assert [out.def_path for out in mine] == paths
    again = edited(with_seeds)
    assert {name: {*items} for name, items in again.items() if name not in SEED_STAGES} == {
        name: {*items} for name, items in instances(ROOT).items()
    }


def test_one_name_for_one_stage():
    stages = {script(stage).stem for stage in WRITTEN}
    assert {p.stem for p in modules("stages")} == stages
    assert {p.stem.removeprefix("test_") for p in ROOT.glob("tests/stages/test_*.py")} == stages


def test_one_name_for_a_module_and_its_test():
    """Of modules that define a function or a class; tables and constants are tested by what uses them."""
    tested = {name(path) for path in ROOT.glob("tests/pipeline/**/test_*.py")}
    mirrored = {f"tests/{name(path.with_name(f'test_{path.name}'))}" for path in modules("pipeline") if defines(path)}
    assert sorted(tested - mirrored) == []
    assert sorted(mirrored - tested) == []


@pytest.mark.parametrize("path", modules("pipeline"), ids=name)
def test_imports_point_down(path):
    """Within a package anything goes, but for models, which know no sibling."""
    own = part(path)
    for reached in map(part_of_import, imported(path)):
        package = reached.partition(".")[0]
        inside = package == own and package != "models"
        assert inside or {package, reached} & BELOW[own], f"{name(path)} imports {reached}"


def part(path: Path) -> str:
    """The module or package of `pipeline` that a file belongs to."""
    return path.relative_to(ROOT / "pipeline").parts[0].removesuffix(".py")


def part_of_import(path: Path) -> str:
    """`encoding.batching` for pipeline/encoding/batching.py; stages keep their `stages`, which nothing may import."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[1:] if parts[0] == "pipeline" else parts)


DATA = [f"pipeline/{room}" for room in ("corpora", "phrasebook", "preparation", "vocabularies", "encoding")]
LIGHT = [p for p in modules(*DATA) if p.stem not in ("batching", "occurrences", "padding")] + [
    ROOT / f"pipeline/{n}.py" for n in sorted(BOTTOM)
]
NUMERIC = [
    *modules("pipeline/training", "pipeline/models", "pipeline/decoding", "pipeline/layers", "pipeline/kernels"),
    *modules("pipeline/packaging"),
]
ENGINES = ("engines", "torch_engine", "ctranslate2_engine")  # in workers
SERVER = [path for path in modules("pipeline/serving") if path.stem not in ENGINES]


@pytest.mark.parametrize(
    ("paths", "unwanted"),
    [
        (LIGHT, {"torch", "mlflow", "dvc", "pandas"}),
        (modules("pipeline/evaluation"), {"torch", "mlflow", "dvc", "datasets"}),
        (SERVER, {"torch", "mlflow", "dvc", "ctranslate2"}),
        (NUMERIC, {"mlflow", "dvc", "datasets", "pandas", "ctranslate2"}),
    ],
    ids=["light", "evaluation", "server", "numeric"],
)
def test_libraries_stay_out(paths, unwanted):
    """Not by way of another module either: a fresh interpreter imports them all and shows what it has loaded."""
    wanted = ", ".join(name(path).removesuffix(".py").replace("/", ".") for path in paths)
    command = [sys.executable, "-c", f"import sys; import {wanted}; print(*sys.modules)"]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert not unwanted & set(loaded.stdout.split())
