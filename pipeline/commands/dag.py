"""`nmt dag`: the stages of dvc.yaml by kind, one line each; `dvc dag` draws a box for every system."""

from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from pipeline.commands import project
from pipeline.ensembles import Ensembles
from pipeline.params import read_yaml
from pipeline.system import AXES, SEED, Build, Distillation

PATH = Path("dvc.yaml")


class Kind(NamedTuple):
    """All stages of one name."""

    name: str
    number: int
    each: str  # of what there is one
    after: tuple[str, ...]  # the kinds whose outputs it reads


def dag() -> None:
    """Show the stages by kind: how many of each there are, one of what, and the outputs of which stages they read.

    `dvc dag <stage>` draws what one stage depends on; `dvc dag --mermaid` and `--dot` write the whole for other tools.
    """
    project.check_here()
    print("\n".join(lines(kinds(Build.load("build")))))


def lines(found: list[Kind]) -> Iterator[str]:
    """A table for the terminal."""
    wide = max(len(kind.name) for kind in found)
    for kind in found:
        again = [name for name in kind.after if name.removesuffix(SEED) in kind.after and name.endswith(SEED)]
        names = [*(name for name in kind.after if name not in again), *(["..._seed"] if again else [])]
        after = f"after {', '.join(names)}" if names else ""
        yield f"{kind.name:{wide}}  {kind.number:4}  {kind.each:15}  {after}".rstrip()
    yield f"{'':{wide}}  {sum(kind.number for kind in found):4}  stages"


def kinds(build: Build) -> list[Kind]:
    """The kinds of stages, in an order in which they can run; but what builds a teacher runs before `distill`."""
    teachers, pairs = Distillation.load("distill").teachers, Ensembles.load("ensembles").pairs
    per_key = {
        "distill": (len(teachers), "a taught corpus", per_taught_corpus),
        "ensemble": (len(pairs), "an ensemble", per_ensemble),
    }
    written: dict[str, dict[str, Any]] = {}
    for name, stage in read_yaml(PATH)["stages"].items():
        if "foreach" in stage:
            number, _, rewritten = per_key[name]
            written |= {name: rewritten(stage["do"])} if number else {}
        elif "seed" in stage.get("matrix", ()):
            written |= {name: per_further_seed(stage)} if build.more_seeds else {}
        else:
            written[name] = stage
    sections = {axis: section for section, axis in AXES.items()} | {"seed": "more_seeds"}
    found = []
    for name, stage in written.items():
        axes, count = list(stage.get("matrix", ())), 1
        for axis in axes:
            count *= len(getattr(build, sections[axis]))
        each = f"a {axes[-1]}" if axes else ""
        each = {len(AXES): "a system", len(AXES) + 1: "a further seed"}.get(len(axes), each)
        if name in per_key:
            count, each, _ = per_key[name]
        after = tuple(other for other in written if other != name and feeds(written[other], stage))
        found.append(Kind(name, count, each, after))
    return found


def per_taught_corpus(stage: dict[str, Any]) -> dict[str, Any]:
    """The stage of each taught corpus, its paths written as in the stages of a matrix: for it `key` is that corpus."""
    teacher = "-".join(f"${{item.{axis}}}" for axis in AXES.values())

    def as_in_matrix(path: str) -> str:
        return path.replace("${key}", "${item.corpus}").replace(teacher, "${key}")

    return {kind: [as_in_matrix(path) for path in stage[kind]] for kind in ("deps", "outs")}


def per_ensemble(stage: dict[str, Any]) -> dict[str, Any]:
    """The stage of each ensemble, its paths written as in the stages of a matrix: it may read any seed of a system."""
    deps, members = [], [f"${{item.corpus}}-${{item.vocabulary}}-${{item.{member}}}" for member in ("first", "second")]
    for path in stage["deps"]:
        found = [path.replace(member, "${key}") for member in members if member in path]
        deps += [*found, *(one.replace("${key}", "${key}-${item.seed}") for one in found)] or [path]
    return {"deps": deps, "outs": [str(path).replace("${key}", "${name}") for path in outs(stage)]}


def per_further_seed(stage: dict[str, Any]) -> dict[str, Any]:
    """The stage of each further seed, its paths written as no other stage's are: its `key` holds the seed too."""
    found = {"deps": stage["deps"], "outs": map(str, outs(stage))}
    return stage | {
        kind: [path.replace("${key}", "${key}-${item.seed}") for path in paths] for kind, paths in found.items()
    }


def feeds(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether a stage reads an output of another, as dvc.yaml writes their paths."""
    deps = [PurePath(path) for path in second.get("deps", ())]
    return any(is_within(out, dep) or is_within(dep, out) for out in outs(first) for dep in deps)


def outs(stage: dict[str, Any]) -> list[PurePath]:
    """The outputs of a stage; one with settings is a mapping."""
    found = [*stage.get("outs", ()), *stage.get("metrics", ())]
    return [PurePath(next(iter(out)) if isinstance(out, dict) else out) for out in found]


def is_within(path: PurePath, folder: PurePath) -> bool:
    """Whether a path is a folder or below it."""
    return path == folder or folder in path.parents
