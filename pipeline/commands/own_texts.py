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
from ..corpora import archives, readers, tables, tmx
from ..corpora.importers import local
from ..languages.codes import of_file, tag

How = dict[str, str | None]  # the columns and quotes of a table or data set, as they are given
Paths = Sequence[Path] | None


class Texts(NamedTuple):
    """Training text: files of two sides, tables, translation memories, a data set of the hub, and corpora of OPUS."""

    source: Paths = None
    target: Paths = None
    table: Paths = None
    tmx: Paths = None
    hub: str | None = None
    opus: Sequence[str] | None = None


def languages(given: tuple[str | None, str | None], texts: Texts) -> tuple[str, str]:
    """The languages of both sides: those given, else of the ending of the first file, else of a translation memory.

    Raises: DataError if none of them says one.
    """
    codes = [
        (tag(text) or text) if text else of_file(paths[0].name) if paths else None
        for text, paths in zip(given, (texts.source, texts.target), strict=True)
    ]
    if None in codes and texts.tmx:
        path = existing(texts.tmx[0])
        found = tmx.languages_of(readers.TextFile(str(path), path))
        others = [code for code in found if code.split("-")[0] not in {code and code.split("-")[0] for code in codes}]
        if len(found) != 2:
            got = ", ".join(found) or "no language"
            raise DataError(f"{path}: is in {got}; expected two, or --source-language and --target-language")
        codes = [code or others.pop(0) for code in codes]
    for side, code in zip(("source", "target"), codes, strict=True):
        if not code:
            raise DataError(
                f"--{side}-language: is missing, and no name of a file ends in a language; expected one, such as de"
            )
    return str(codes[0]), str(codes[1])


def existing(path: Path) -> Path:
    """A path, checked to be that of a file."""
    if not path.is_file():
        raise DataError(f"{path}: no such file; expected one of sentences")
    return path


class Copies:
    """Copies of the user's files in my/."""

    def __init__(self, name: str, codes: tuple[str, str], made: dict[Path, Path]) -> None:
        self.name, self.made = name, made
        endings = ("source", "target") if codes[0] == codes[1] else codes
        self.endings = {"source": endings[0], "target": endings[1], "table": "tsv", "tmx": "tmx"}

    def part(self, part: str, **given: Path | None) -> dict[str, Any]:
        """The keys of a part or bitext whose files are copied, or stand in my/ already."""
        return {
            key: self.copied(path, f"{self.name}.{part}.{self.endings[key]}") for key, path in given.items() if path
        }

    def copied(self, path: Path, name: str) -> str:
        """The path below my/ of a file.

        Raises: DataError if there is no such file, or the copy's name is taken.
        """
        inside = Path(os.path.relpath(existing(path).absolute(), Path.cwd()))
        if inside.parts[:1] == local.FOLDER.parts:
            return inside.as_posix()
        # The reader tells by the name whether a file is packed, has commas, and has tags between its lines.
        tagged = "train.tags." if readers.is_tagged(path.name) else ""
        packed = path.suffix if path.suffix in archives.PACKED else ""
        name = name.replace(".tsv", ".csv") if tables.is_csv(path.name) else name
        copy = self.reserve(f"{tagged}{name}{packed}", path)
        with files.new_file(copy, "wb") as file, path.open("rb") as original:
            shutil.copyfileobj(original, file)
        return copy.as_posix()

    def reserve(self, name: str, original: Path) -> Path:
        """The path below my/ of a copy to be made.

        Raises: DataError if it is taken.
        """
        copy = local.FOLDER / name
        if os.path.lexists(copy):
            raise DataError(f"{copy}: already there; expected a new name, or this path in place of {original}")
        self.made[copy] = original
        return copy


def training_part(copies: Copies, texts: Texts, how: How) -> dict[str, Any] | list[dict[str, Any]]:
    """One source, or a list of bitexts: the user's own first, by the names of their files, then public ones."""
    own, how = list[dict[str, Path]](), {key: value for key, value in how.items() if value}
    for source, target in zip_longest(texts.source or (), texts.target or ()):
        own.append({key: path for key, path in (("source", source), ("target", target)) if path})
    own += [{"table": path} for path in texts.table or ()] + [{"tmx": path} for path in texts.tmx or ()]
    public: list[dict[str, Any]] = []
    if texts.hub:
        columns = {} if {*how} - {"quoting"} else {"translation_field": "translation"}
        public = [{"kind": "hub", "dataset": texts.hub, "revision": "main", "split": "train", **columns, **how}]
    public += [{"kind": "opus", "corpus": corpus} for corpus in texts.opus or ()]
    stems = [next(iter(paths.values())).name for paths in own]
    stems += [item.get("dataset") or item["corpus"].split("/")[0] for item in public]
    names = [*unique(stems)] if len(stems) > 1 else [parts.TRAIN]
    usual = {} if texts.table or texts.hub else how  # so that a column of no table is a fault
    items = [
        local_part(copies.part(name, **paths), how if "table" in paths else usual)
        for name, paths in zip(names, own, strict=False)
    ]
    items = [*items, *public] or [local_part({}, usual)]
    return items[0] if len(items) == 1 else [{"name": name} | item for name, item in zip(names, items, strict=True)]


def unique(stems: Sequence[str]) -> Iterator[str]:
    """A name of letters, digits and underscores for each file or data set; of equal ones the others get a number."""
    names = set[str]()
    for stem in stems:
        base = re.sub(r"\W+", "_", stem.split("/")[-1].split(".")[0], flags=re.ASCII).strip("_").lower() or "text"
        name = next(each for each in chain([base], (f"{base}_{number}" for number in count(2))) if each not in names)
        names.add(name)
        yield name


def exchanged(part: Any) -> Any:
    """A part, or a list of bitexts, in the other direction."""
    if isinstance(part, list):
        return [*map(exchanged, part)]
    swapped = {"source": "target", "target": "source"}
    swapped |= {f"{side}_column": f"{other}_column" for side, other in swapped.items()}
    return {swapped.get(key, key): value for key, value in part.items()}


def local_part(keys: dict[str, Any], how: How) -> dict[str, Any]:
    """A part of the user's own files; the columns of a table are numbers, by default the first two."""
    usual = {"source_column": "1", "target_column": "2"} if "table" in keys else {}
    return {"kind": "local"} | {
        key: int(value) if key.endswith("_column") and value.isdecimal() else value
        for key, value in (keys | usual | how).items()
    }
