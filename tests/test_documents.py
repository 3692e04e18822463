"""What README, CONTRIBUTING and the documents tell a reader to type: programs, options, targets, keys and files exist.

A command of a program that `CHECKS` lacks is a fault: give it a check, or write ```text before a fence that holds none.
"""

import glob
import importlib.util
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer
from dvc import cli as dvc_cli
from dvc.cli.parser import DvcParser
from dvc.repo import Repo
from dvc.utils import hydra
from dvc.utils.cli_parse import to_path_overrides
from markdown_it import MarkdownIt
from ruamel.yaml import YAML

from pipeline import catalogue
from pipeline.commands import completion
from pipeline.commands import nmt as nmt_commands
from pipeline.commands.naming import matching
from tests.documents import Command, read

ROOT = Path(__file__).parents[1]
NAMES = (
    "README.md",
    "CONTRIBUTING.md",
    "benchmarks/README.md",
    *(one.relative_to(ROOT).as_posix() for one in sorted(ROOT.glob("docs/**/*.md"))),
)
BUILT = ("data/", "runs/", "models/", "report/")  # written by stages; metrics/ stands in git
SECONDS = 900


class Edited:
    """A folder with dvc.yaml, params.yaml and corpora/ after the edits that a document asked for."""

    def __init__(self, root: Path, texts: dict[str, str]) -> None:
        self.root, self.texts = root, texts
        shutil.copy(ROOT / "dvc.yaml", root)
        for name, text in texts.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        (root / ".dvc").mkdir()
        (root / ".dvc/config").write_text("[core]\n    no_scm = true\n")
        with chdir(root):
            catalogue.check()

    @cached_property
    def stages(self) -> dict[str, list[str]]:
        """The paths that each stage writes, by DVC's name of the stage."""
        with chdir(self.root):
            return {stage.name: [out.def_path for out in stage.outs] for stage in Repo(".").index.stages}

    def outs(self) -> list[str]:
        """The path of everything that its stages write."""
        return [out for outs in self.stages.values() for out in outs]

    def resolve(self, target: str) -> None:
        """Raise unless DVC has a stage of that name, stages of that name before an `@`, or an output of that path."""
        assert target in {*self.stages, *(name.partition("@")[0] for name in self.stages), *self.outs()}, (
            f"no stage {target}"
        )

    def systems(self) -> list[str]:
        """The ids of its systems."""
        document = YAML(typ="safe").load(self.root / "params.yaml")
        return [str(getattr(one, "id", one)) for one in catalogue.Build.model_validate(document["build"]).all_systems()]


@pytest.fixture(autouse=True)
def dvc_says_why(monkeypatch):
    """DVC's parser raises what it would print."""

    def error(self, message, cmd_cls=None):
        raise AssertionError(message)

    monkeypatch.setattr(DvcParser, "error", error)


@pytest.fixture(scope="module")
def edited(shipped_params, tmp_path_factory) -> Callable[[Command], list[Edited]]:
    """The folders that a command stands in after the edits before it: one, or one a value of a sweep."""
    made: dict[tuple[tuple[str, ...], ...], list[Edited]] = {}

    def folders(edits: tuple[tuple[str, ...], ...]) -> list[Edited]:
        if edits not in made:
            found = [written()]
            if edits:
                scratch = tmp_path_factory.mktemp("scratch")
                found = [after for one in folders(edits[:-1]) for after in edit(one.texts, edits[-1], scratch)]
            made[edits] = [Edited(tmp_path_factory.mktemp("edited"), texts) for texts in found]
        return made[edits]

    return lambda command: folders(command.edits)


def written() -> dict[str, str]:
    """params.yaml and the files of corpora/ as they stand: the text of each by its path."""
    paths = [ROOT / "params.yaml", *sorted(ROOT.glob("corpora/*.yaml"))]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def edit(texts: dict[str, str], edits: tuple[str, ...], folder: Path) -> list[dict[str, str]]:
    """The files after one edit, by way of a folder: another `build`, or what `dvc exp run -S` does."""
    if edits[0] == "yaml":
        yaml, out = YAML(), io.StringIO()
        document = yaml.load(texts["params.yaml"])
        document["build"] = YAML(typ="safe").load(edits[1])["build"]
        yaml.dump(document, out)
        return [texts | {"params.yaml": out.getvalue()}]
    found = []
    for one in hydra.get_hydra_sweeps(to_path_overrides(edits)):
        after = dict(texts)
        for name, values in one.items():
            path = folder / Path(name).name
            path.write_text(texts[name], encoding="utf-8")
            hydra.apply_overrides(path, values)
            after[name] = path.read_text(encoding="utf-8")
        found.append(after)
    return found


# One check a program: raise unless the words after it are right.


def check_make(command: Command, words: list[str], folder: Edited) -> None:
    targets = [word for word in words if not word.startswith("-") and "=" not in word]
    known = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert set(targets) <= set(known), f"no such target; expected one of {', '.join(known)}"


def check_dvc(command: Command, words: list[str], folder: Edited) -> None:
    parsed = dvc_cli.parse_args(words)
    if parsed.func.__name__ in ("CmdRepro", "CmdExperimentsRun", "CmdCommit", "CmdStatus", "CmdDataStatus"):
        for target in getattr(parsed, "targets", None) or []:
            folder.resolve(target)
    elif parsed.func.__name__ in ("CmdMetricsShow", "CmdMetricsDiff"):
        for target in parsed.targets or []:
            assert glob.glob(str(ROOT / target)), f"no such file: {target}"


def check_nmt(command: Command, words: list[str], folder: Edited) -> None:
    if words[0] in completion.TOP:  # of which one would write into the reader's shell
        return
    group = typer.main.get_command(nmt_commands.root)
    name, one, rest = group.resolve_command(group.make_context("nmt", list(words)), list(words))
    if command.named and not rest:
        return
    given = one.make_context(name, rest).params
    systems = given.get("system") or []
    for system in [systems] if isinstance(systems, str) else systems:
        assert len(matching(system, folder.systems())) == 1, f"{system}: not in the build; it has {folder.systems()}"
    if given.get("file"):
        check_path(str(given["file"]), folder)


def check_python(command: Command, words: list[str], folder: Edited) -> None:
    if words[0] == "-m":
        assert importlib.util.find_spec(words[1]), f"no module {words[1]}"
        if words[1].startswith("stages.") and words[2:]:
            folder.resolve(f"{words[1].removeprefix('stages.')}@{'-'.join(words[2:])}")
    elif words[0] == "-c":
        compile(words[1], "<document>", "exec")
    else:
        check_benchmark(words[0].removeprefix("benchmarks/"), words[1:])


def check_benchmark(name: str, words: list[str]) -> None:
    path = ROOT / "benchmarks" / name
    assert path.is_file(), f"no such file: benchmarks/{name}"
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(f"benchmark_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    app = typer.Typer()
    app.command()(module.main)
    typer.main.get_command(app).make_context(name, list(words))


def check_pip(command: Command, words: list[str], folder: Edited) -> None:
    found = subprocess.run([sys.executable, "-m", "pip", *words, "--help"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    for option, value in pairwise(words):
        assert option not in ("-r", "--requirement") or (ROOT / value).is_file(), f"no such file: {value}"


def check_git(command: Command, words: list[str], folder: Edited) -> None:
    said = subprocess.run(["git", words[0], "-h"], capture_output=True, text=True, check=False)
    assert said.returncode == 129, f"no command of git: {words[0]}"


def check_uv(command: Command, words: list[str], folder: Edited) -> None:
    """The lock's own first lines have the command that wrote it; what else a reader adds are `--upgrade...` options."""
    said = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()[1].lstrip("# ")
    kept = re.sub(r" --upgrade(-package [\w.-]+)?", "", " ".join(["uv", *words]))
    assert kept == said, f"not the command in requirements.lock: {said}"


def check_sacrebleu(command: Command, words: list[str], folder: Edited) -> None:
    pipes = signal.getsignal(signal.SIGPIPE)
    from sacrebleu import sacrebleu

    signal.signal(signal.SIGPIPE, pipes)  # the import sets it so that a reader who has gone kills all of the tests
    before, sys.argv = sys.argv, ["sacrebleu", *words]
    try:
        references = sacrebleu.parse_args().refs
    finally:
        sys.argv = before
    for path in references:
        check_path(path, folder)


def check_torchrun(command: Command, words: list[str], folder: Edited) -> None:
    from torch.distributed.run import get_args_parser

    assert importlib.util.find_spec(get_args_parser().parse_args(words).training_script)


def check_bash(command: Command, words: list[str], folder: Edited) -> None:
    said = subprocess.run(["bash", *words[:1]], input=words[1], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr


def check_source(command: Command, words: list[str], folder: Edited) -> None:
    assert words[0].endswith("/bin/activate"), "expected the activation of an environment"


def check_path(path: str, folder: Edited) -> None:
    """Raise unless a file stands in the project, or is or lies in something that a stage writes."""
    if path.startswith(BUILT):
        assert any(path == out or path.startswith(f"{out}/") for out in folder.outs()), f"no stage writes {path}"
    else:
        assert (ROOT / path).exists(), f"no such file: {path}"


def check_curl(command: Command, words: list[str], folder: Edited) -> None:
    """Of a server of ours, a path that it has."""
    from pipeline.serving import deepl, inspection, libretranslate, operations

    known = {route.path for one in (deepl, inspection, libretranslate, operations) for route in one.router.routes}
    [path] = [urlsplit(word).path for word in words if word.startswith("http://localhost:")]
    assert path in known, f"no route {path}; expected one of {', '.join(sorted(known))}"


def check_nothing(command: Command, words: list[str], folder: Edited) -> None:
    """Of a program that is not this project's: what a reader types is plain."""


CHECKS = {
    "make": check_make,
    "dvc": check_dvc,
    "nmt": check_nmt,
    "python": check_python,
    "pip": check_pip,
    "git": check_git,
    "uv": check_uv,
    "sacrebleu": check_sacrebleu,
    "torchrun": check_torchrun,
    "bash": check_bash,
    "source": check_source,
    "curl": check_curl,
    **dict.fromkeys(("cd", "export", "cp", "rm", "mkdir", "ls", "cat", "pre-commit", "ruff"), check_nothing),
}
BENCHMARKS = frozenset(path.name for path in ROOT.glob("benchmarks/*.py"))
PROGRAMS = frozenset({*CHECKS, *BENCHMARKS}) - {"export", "bash", "ls", "cat", "cp", "rm", "cd", "mkdir"}


def check(command: Command, folders: list[Edited]) -> None:
    """Raise unless a reader can type a command."""
    program, words = os.path.basename(command.words[0]), list(command.words[1:])
    if program in BENCHMARKS:
        program, words = "python", [f"benchmarks/{program}", *words]
    program = re.sub(r"^(python|pip)[\d.]+$", r"\1", program)
    assert program in CHECKS, (
        "no check of this program; add one to tests/test_documents.py, or write ```text before the fence"
    )
    for folder in folders:
        CHECKS[program](command, words, folder)


def faults(document: Path, edited: Callable[[Command], list[Edited]]) -> str:
    """A line for each command of a document that is wrong, and what is wrong with it."""
    try:
        commands = read(document, document.name, PROGRAMS)
    except AssertionError as error:
        return str(error)
    found = []
    for command in commands:
        try:
            check(command, edited(command))
        except Exception as error:
            found.append(f"{command}: {error} {error.__cause__ or ''}".rstrip())
    return "\n".join(found)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_of_a_document_is_right(name, edited):
    found = faults(ROOT / name, edited)
    assert not found, found


BUILD = """```yaml
build: {corpora: [multi30k_de_en], vocabularies: [bpe_8k], models: [rnnsearch], sizes: [small], more_seeds: []}
```
"""
MULTI30K = "multi30k_de_en-bpe_8k-rnnsearch-small"


@pytest.mark.parametrize(
    "text",
    [
        '```\nmake test  # it\'s "quoted"\n```',
        "```\nCHECKPOINT_MINUTES=2 dvc repro && make ui; dvc dag | cat\n```",
        f"{BUILD}\n```\ndvc repro train@{MULTI30K}\n```",
        "```\ndvc exp run -S build.corpora=[multi30k_de_en] -S build.vocabularies=[bpe_8k] \\\n"
        f"  -S build.sizes=[small]\nnmt translate --system {MULTI30K} < some.de\n```",
        "```\ndvc exp run --queue -S 'decode.beam_size=1,5'\ndvc queue start\n```",
        "```text\nwhatever this is\n```",
        "The command `nmt export` and the file `dvc.yaml`.",
    ],
)
def test_a_right_command_passes(tmp_path, edited, text):
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    assert faults(tmp_path / "page.md", edited) == ""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```\nmake rerpo\n```", "no such target"),
        ("Say `make rerpo`.", "no such target"),
        ("```\ndvc repor\n```", "invalid choice: 'repor'"),
        ("```\ndvc repro --fast\n```", "unrecognized arguments: --fast"),
        ("```\ndvc repro trian@x\n```", "trian"),
        (f"```\ndvc repro train@{MULTI30K}\n```", "train@multi30k"),
        (f"{BUILD}\n# Another heading\n\n```\ndvc repro train@{MULTI30K}\n```", "train@multi30k"),
        ("```\ndvc exp run -S decode.beam=1\n```", "Invalid `--set-param` value Could not override 'decode.beam'"),
        ("```\ndvc exp run -S decode.beam_size=many\n```", "decode.beam_size: should be a valid integer, got 'many'"),
        ("```\ndvc exp run -S build.corpora=[nowhere]\n```", "build.corpora"),
        ("```\ndvc metrics show metric/*.json\n```", "no such file: metric/*.json"),
        ("```\nnmt translate --system <id> --fast x\n```", "--fast"),
        ("```\nnmt transalte --system <id> x\n```", "transalte"),
        (f"```\nnmt translate --system {MULTI30K} x\n```", "not in the build"),
        ("```\nnmt translate --system <id> --file data/splti/x.txt\n```", "no stage writes data/splti/x.txt"),
        ("```\npython benchmarks/speed.py\n```", "no such file: benchmarks/speed.py"),
        ("```\npython benchmarks/scaling.py --fast\n```", "--fast"),
        ("Run `scaling.py --fast`.", "--fast"),
        ("```\npython -m stages.trian\n```", "no module stages.trian"),
        ("```\npython -m stages.train <corpus> <vocabulary> <model> big\n```", "train@"),
        ("```\npip install --fast torch\n```", "--fast"),
        ("```\npip install -r requirements.txt\n```", "no such file: requirements.txt"),
        ("```\ngit chekcout main\n```", "no command of git: chekcout"),
        ("```\nuv pip compile pyproject.toml\n```", "not the command in requirements.lock"),
        ("```\nfrobnicate --all\n```", "no check of this program"),
        ("```\ncurl http://localhost:5050/trans -d q=a\n```", "no route /trans"),
        ("```\ndata/    what's kept\n```", "no shell command"),
        ("```\ndvc repro <stage>\n```", "no value for <stage>"),
        ("```\n#!/bin/bash\nif true; then\n```", "syntax error"),
    ],
)
def test_a_wrong_command_is_a_fault(tmp_path, edited, text, fault, capsys):
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    assert fault in faults(tmp_path / "page.md", edited) + capsys.readouterr().err


def anchors(path: Path) -> set[str]:
    """What a link into a Markdown file may name: its headings, as GitHub spells them."""
    tokens = MarkdownIt("commonmark").parse(path.read_text(encoding="utf-8"))
    titles = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", [*NAMES, "LOG.md", "CHANGELOG.md"])
def test_every_link_to_a_file_has_its_file(name):
    document = ROOT / name
    tokens = MarkdownIt("commonmark").enable("table").parse(document.read_text(encoding="utf-8"))
    children = [child for token in tokens for child in token.children or []]
    links = [
        child.attrGet("href") or child.attrGet("src") for child in children if child.type in ("link_open", "image")
    ]
    broken = []
    for link in links:
        path, _, anchor = unquote(link).partition("#")
        if re.match(r"\w+:", path):
            continue
        found = document.parent / path if path else document
        if not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(link)
    assert broken == []


def test_the_table_of_results_is_that_of_the_last_build():
    """README's scores are those that git keeps in metrics/, whose build dvc.lock describes."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", text, re.M)
    built = {path.stem.split("-")[2]: path for path in ROOT.glob("metrics/phrasebook_fr_en-bpe_2k-*-tiny.json")}
    assert [row[0] for row in rows] == [row[0] for row in sorted(rows, key=lambda row: -float(row[1]))]
    assert {row[0] for row in rows} == set(built)
    for model, *scores in rows:
        found = json.loads(built[model].read_text(encoding="utf-8"))
        parts = [found[part][metric] for metric in ("bleu", "chrf") for part in ("test", "compositional")]
        assert [f"{one:.1f}" for one in parts] == scores, model


@pytest.fixture(scope="module")
def history() -> None:
    """All commits; a shallow clone, as CI makes, has the last one only."""
    said = git("rev-parse", "--is-shallow-repository")
    if said != "false":
        pytest.skip("no history: a shallow clone, or no clone at all")


def git(*words: str) -> str:
    """What a command of git says."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


@pytest.mark.parametrize("name", [*NAMES, "LOG.md"])
def test_every_commit_that_is_named_is_in_the_history(name, history):
    named = re.findall(r"\bcommit\s+([0-9a-f]{7,40})\b", (ROOT / name).read_text(encoding="utf-8"))
    assert [one for one in named if git("cat-file", "-t", one) != "commit"] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("docs/comparison")])
def test_every_section_with_figures_names_its_commit_and_the_commands_that_repeat_them(name):
    sections = re.split(r"^# ", (ROOT / name).read_text(encoding="utf-8"), flags=re.M)[1:]
    assert len(sections) >= 2
    for section in sections:
        title = section.partition("\n")[0]
        assert re.search(r"\bcommit\s+[0-9a-f]{7}\b", section), title
        assert "\ndvc exp run " in section or " dvc exp run " in section, title
