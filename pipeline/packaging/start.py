"""The package that the training of a corpus goes on from, pinned by its checksum."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, StringConstraints

from ..common import files
from ..common.params import ParamsError, Section
from . import sealed


class Start(Section):
    """The key `start` of a corpus: a packaged folder, and the SHA-256 of its checksums.json, by which DVC knows it."""

    package: Annotated[str, StringConstraints(min_length=1)]
    sha256: str = "none"  # of no package, so that one that is not pinned is refused


class Starting(Section):
    """The package to start from; {} for random weights."""

    start: Annotated[Start | None, BeforeValidator(lambda value: value or None)]


class Base(NamedTuple):
    """A package to start from."""

    folder: Path
    config: sealed.Config


def load(corpus: str, models: Collection[str] = ()) -> Base | None:
    """The package that a corpus starts from, whole and pinned; None for random weights.

    Raises: DataError if it is missing or damaged; ParamsError if it is another one, or none of the `models`.
    """
    place = f"corpora/{corpus}.yaml"
    if not (start := Starting.load_own(f"{place}:").start):
        return None
    folder = Path(start.package)
    config, pinned = sealed.read(folder), files.sha256(folder / sealed.CHECKSUMS)
    if start.sha256 != pinned:
        what = f"must be that of {folder / sealed.CHECKSUMS}"
        raise ParamsError(f"{place}: start.sha256: {what}, got {start.sha256}; expected {pinned}")
    if others := sorted({*models} - {config.model}):
        what = f"{folder} is no {others[0]}, got build.models: {', '.join(models)}"
        raise ParamsError(f"{place}: start.package: {what}; expected {config.model} alone")
    return Base(folder, config)


def vocabulary_fault(corpus: str, kind: str, *, starts: bool) -> str | None:
    """The line about a kind of vocabulary that a corpus cannot have: with a start it is the package's, else never."""
    if starts == (kind == "package"):
        return None
    expected = "one of kind package" if starts else "a package, or a vocabulary of another kind"
    a = "a" if starts else "no"
    return f"corpora/{corpus}.yaml: start: there is {a} package, got a vocabulary of kind {kind}; expected {expected}"
