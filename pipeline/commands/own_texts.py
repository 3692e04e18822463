"""The texts that a user names on the command line: copied into my/, and as bitexts of a corpus, in order of trust."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import chain, count, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from ..common import files, parts
from ..common.files import DataError
from ..corpora import archives, readers, tables
from ..corpora.importers import local

How = dict[str, str | None]  # the columns and quotes of a table or data set, as they are given
Paths = Sequence[Path] | None


class Texts(NamedTuple):
    """Training text: files of two sides, tables, and a data set of the hub."""

    source: Paths = None
    target: Paths = None
    table: Paths = None
    hub: str | None = None


class Copies:
    """Copies of the user's files in my/."""

    def __init__(self, name: str, codes: tuple[str, str], made: list[Path]) -> None:
        self.name, self.made = name, made
        endings = ("source", "target") if codes[0] == codes[1] else codes
        self.endings = {"source": endings[0], "target": endings[1], "table": "tsv"}

    def part(self, part: str, **given: Path | None) -> dict[str, Any]:
        """The keys of a part or bitext whose files are copied, or stand in my/ already."""
        return {
            key: self.copied(path, f"{self.name}.{part}.{self.endings[key]}") for key, path in given.items() if path
        }

    def copied(self, path: Path, name: str) -> str:
        """The path below my/ of a file.

        Raises: DataError if there is no such file, or the copy's name is taken.
        """
        if not path.is_file():
            raise DataError(f"{path}: no such file; expected one of sentences")
        inside = Path(os.path.relpath(path.absolute(), Path.cwd()))
        if inside.parts[:1] == local.FOLDER.parts:
            return inside.as_posix()
        # The reader tells by the name whether a file is packed, has commas, and has tags between its lines.
        tagged = "train.tags." if readers.is_tagged(path.name) else ""
        packed = path.suffix if path.suffix in archives.PACKED else ""
        name = name.replace(".tsv", ".csv") if tables.is_csv(path.name) else name
        copy = local.FOLDER / f"{tagged}{name}{packed}"
        if os.path.lexists(copy):
            raise DataError(f"{copy}: already there; expected a new name, or this path in place of {path}")
        self.made.append(copy)
        with files.new_file(copy, "wb") as file, path.open("rb") as original:
            shutil.copyfileobj(original, file)
        return copy.as_posix()


def training_part(copies: Copies, texts: Texts, how: How) -> dict[str, Any] | list[dict[str, Any]]:
    """One source, or a list of bitexts: the user's own first, by the names of their files."""
    sides = zip_longest(texts.source or (), texts.target or ())
    own = [{"source": source, "target": target} for source, target in sides]
    own += [{"table": table} for table in texts.table or ()]
    stems = [next(filter(None, paths.values())).name for paths in own] + ([texts.hub] if texts.hub else [])
    names = [*unique(stems)] if len(stems) > 1 else [parts.TRAIN]
    usual = how if not texts.table and not texts.hub else {}  # so that a column of no table is a fault
    items = [
        local_part(copies.part(name, **paths), how if "table" in paths else usual)
        for name, paths in zip(names, own, strict=False)
    ]
    items += [hub_part(texts.hub, how)] if texts.hub else []
    if len(items) > 1:
        return [{"name": name, **item} for name, item in zip(names, items, strict=True)]
    return items[0] if items else local_part({}, usual)


def unique(stems: Sequence[str]) -> Iterator[str]:
    """A name of letters, digits and underscores for each file or data set; of equal ones the others get a number."""
    names = set[str]()
    for stem in stems:
        base = re.sub(r"\W+", "_", stem.split("/")[-1].split(".")[0], flags=re.ASCII).strip("_").lower() or "text"
        name = next(each for each in chain([base], (f"{base}_{number}" for number in count(2))) if each not in names)
        names.add(name)
        yield name


def local_part(keys: dict[str, Any], how: How) -> dict[str, Any]:
    """A part of the user's own files; the columns of a table are numbers, by default the first two."""
    usual = {"source_column": "1", "target_column": "2"} if "table" in keys else {}
    given = keys | usual | {key: value for key, value in how.items() if value}
    return {"kind": "local"} | {
        key: int(value) if key.endswith("_column") and value.isdecimal() else value for key, value in given.items()
    }


def hub_part(dataset: str, how: How) -> dict[str, Any]:
    """A part of a data set: the named columns, or else the field `translation`."""
    keys = {key: value for key, value in how.items() if value}
    field = {} if {*keys} - {"quoting"} else {"translation_field": "translation"}
    return {"kind": "hub", "dataset": dataset, "revision": "main", "split": "train", **field, **keys}
