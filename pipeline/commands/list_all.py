"""`nmt list`: what can be built, and what has been built."""

from collections.abc import Iterable, Iterator

from pipeline import catalogue, files
from pipeline.commands import project
from pipeline.files import DataError
from pipeline.params import DEFAULT, PATH, read_yaml
from pipeline.system import Build, System
from pipeline.terminal import printable


def list_all() -> None:
    """Show all corpora, vocabularies, models and sizes, and the systems that were built, with their scores.

    A star marks what `build` of params.yaml chooses.
    """
    project.check_here()
    catalogue.check()
    print("\n".join(map(printable, lines())))


def lines() -> Iterator[str]:
    """The lines of the list."""
    params, build = read_yaml(PATH), Build.load("build")
    for title, names, chosen in (
        ("corpora", catalogue.corpus_names(), build.corpora),
        ("vocabularies", params["vocabularies"], build.vocabularies),
    ):
        yield f"{title}:"
        yield from (f"  {star(name in chosen)} {name}" for name in names)
    yield "models and sizes:"
    for model, sizes in params["models"].items():
        known = ", ".join(f"{name}{'*' * (model in build.models and name in build.sizes)}" for name in of_size(sizes))
        yield f"  {star(model in build.models)} {model}: {known}"
    yield "systems:"
    chosen_ids = [system.id for system in build.all_systems()]
    for system in dict.fromkeys([*chosen_ids, *project.built()]):
        yield f"  {star(system in chosen_ids)} {system}: {state(System.parse(system))}"


def of_size(sizes: Iterable[str]) -> list[str]:
    """The sizes of a model: its sections without the default."""
    return [name for name in sizes if name != DEFAULT]


def star(chosen: bool) -> str:
    """A star if `build` chooses it."""
    return "*" if chosen else " "


def state(system: System) -> str:
    """The scores of a system, or what it lacks."""
    if not project.is_built(system):
        return "not built"
    if not system.metrics.exists():
        return "built, not scored"
    scores = files.read_json(system.metrics)
    try:
        shown = {part: " ".join(map(score, found.items())) for part, found in scores.items() if part != "validation"}
    except (AttributeError, TypeError, ValueError):
        raise DataError(f"{system.metrics}: holds no scores; expected what the stage score writes") from None
    return ", ".join(f"{part} {text}" for part, text in shown.items())


def score(named: tuple[str, float]) -> str:
    """The name and the value of a score or of a number of sentences."""
    name, value = named
    return f"{name} {value:,}" if isinstance(value, int) else f"{name} {value:.1f}"
