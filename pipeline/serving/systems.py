"""The systems that a server has, as their packages describe them."""

from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from pipeline import files
from pipeline.packaging.package import CARD, CONFIG
from pipeline.serving.errors import ServingError

AUTO = "auto"


class Served(NamedTuple):
    """One system: a pair of languages, an engine, and what its package says of it."""

    id: str
    source: str
    target: str
    engine: str
    config: dict[str, Any]
    card: str

    def about(self) -> dict[str, Any]:
        """What `GET /systems` says."""
        names = dict(zip(("corpus", "vocabulary", "model", "size"), self.id.split("-"), strict=False))
        return {
            "system": self.id,
            **names,
            "source_language": self.source,
            "target_language": self.target,
            "engine": self.engine,
            "scores": self.config.get("scores", {}),
            "validation": self.config.get("validation", {}),
            "card": self.card,
        }


class Systems:
    """All systems of a server; none until a worker has loaded them. The first of a pair is its default."""

    def __init__(self) -> None:
        self.all: list[Served] = []

    def load(self, folders: Sequence[Path], said: Iterable[dict[str, Any]]) -> None:
        """Take what a worker says of the packages in these folders.

        Raises: DataError if a package cannot be read.
        """
        self.all = [
            Served(
                one["system"],
                one["source_language"],
                one["target_language"],
                one["engine"],
                config(folder),
                card(folder),
            )
            for folder, one in zip(folders, said, strict=True)
        ]

    def named(self, name: str) -> Served:
        """The system of this id.

        Raises: ServingError (400).
        """
        for one in self.all:
            if one.id == name:
                return one
        raise ServingError(400, f"system: is not loaded, got {name[:100]!r}; expected one that /systems lists")

    def fitting(self, source: str, target: str, name: str | None) -> list[Served]:
        """The systems for a pair, the source `auto` for any; or the one of this name, which must fit.

        Languages are told in any case; without one for their country, as in `EN-GB`, the one without a country fits.

        Raises: ServingError (400).
        """
        among = [self.named(name)] if name else self.all
        for to, of in product(codes(target), codes(source)):
            if found := [one for one in among if of in (one.source.lower(), AUTO) and one.target.lower() == to]:
                return found
        pairs = sorted({f"{one.source}-{one.target}" for one in among})
        raise ServingError(
            400, f"source, target: no system translates {source[:20]}-{target[:20]}; expected {' or '.join(pairs)}"
        )

    def first_of_each_source(self, among: Sequence[Served]) -> list[Served]:
        """One system for each source language."""
        found: dict[str, Served] = {}
        for one in among:
            found.setdefault(one.source, one)
        return list(found.values())

    def targets(self) -> dict[str, list[str]]:
        """The languages that each language can be translated into; none for one that is a target only."""
        found: dict[str, set[str]] = {}
        for one in self.all:
            found.setdefault(one.source, set()).add(one.target)
            found.setdefault(one.target, set())
        return {source: sorted(found[source]) for source in sorted(found)}


def codes(language: str) -> list[str]:
    """The codes by which a language is looked up, in lower case: its own, and the one without its country."""
    return list(dict.fromkeys((language.lower(), language.lower().partition("-")[0])))


def config(folder: Path) -> dict[str, Any]:
    """What a package's config.json says; nothing if there is none."""
    path = folder / CONFIG
    return dict(files.read_json(path)) if path.exists() else {}


def card(folder: Path) -> str:
    """The model card of a package: Markdown.

    Raises: DataError.
    """
    path = folder / CARD
    try:
        return path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise files.DataError(f"{path}: cannot be read, got {error}; expected Markdown in UTF-8") from None
