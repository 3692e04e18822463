"""`nmt new-corpus`: a corpus of the user's own."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pipeline import catalogue, files
from pipeline.commands import project
from pipeline.corpora import downloading, local, parts
from pipeline.corpora.fetching import Store
from pipeline.corpora.sources import Download
from pipeline.encoding import suggestion
from pipeline.files import DataError
from pipeline.params import DEFAULT, NAME, PATH
from pipeline.system import corpus_file

HEAD = """\
# yaml-language-server: $schema=schema.json
# {about}
# `clean`, `split` and `decode` hold what is other for this corpus than in params.yaml.
"""


class Found(NamedTuple):
    """What was counted in the training part."""

    pairs: int
    words: int  # of the target language


def new_corpus(
    name: Annotated[str, typer.Argument(help="What to call it: letters, digits and underscores.")],
    source: Annotated[Path | None, typer.Option(help="Training sentences, one a line; plain or .gz.")] = None,
    target: Annotated[Path | None, typer.Option(help="Their translations, line by line.")] = None,
    table: Annotated[Path | None, typer.Option(help="Or a table of both, a pair a line, with tabs between.")] = None,
    hub: Annotated[str | None, typer.Option(help="Or the id of a data set of the Hugging Face hub.")] = None,
    source_column: Annotated[str | None, typer.Option(help="Of --table (a number, 1) or --hub (a name).")] = None,
    target_column: Annotated[str | None, typer.Option(help="Of --table (a number, 2) or --hub (a name).")] = None,
    source_language: Annotated[str | None, typer.Option(help="Such as de; by default the ending of --source.")] = None,
    target_language: Annotated[str | None, typer.Option(help="Such as en; by default the ending of --target.")] = None,
    test_source: Annotated[Path | None, typer.Option(help="Test sentences; by default some of the others.")] = None,
    test_target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    licence: Annotated[str, typer.Option(help="Under which the corpus may be used.")] = "unknown",
    only: Annotated[bool, typer.Option("--only", help="Build no other corpus.")] = False,
) -> None:
    """Add a corpus: write corpora/NAME.yaml, a training budget that suits its size, and its name in `build`.

    Files are copied into my/, which DVC watches. `make repro` then builds the corpus's systems.
    """
    project.check_here()
    catalogue.check()
    check_name(name)
    kinds = {"--source and --target": source or target, "--table": table, "--hub": hub}
    if sum(one is not None for one in kinds.values()) != 1:
        raise DataError(f"nmt new-corpus: expected one of {', '.join(kinds)}")
    source_code = language("--source-language", source_language, source)
    target_code = language("--target-language", target_language, target)
    codes = source_code, target_code
    with Copies(name) as copies:
        if hub is not None:
            train = hub_part(hub, source_column, target_column)
        elif table is not None:
            train = copies.table(table, source_column, target_column)
        else:
            train = copies.pair("train", codes, "", source, target)
        about: dict[str, Any] = {"source_language": source_code, "target_language": target_code}
        about["parts"] = {parts.TRAIN: train}
        if test_source or test_target:
            about["parts"][parts.TEST] = copies.pair("test", codes, "test-", test_source, test_target)
        if faults := list(Download.faults(about, "", corpus_file(name))):
            raise DataError("\n".join(faults))
        download = Download.model_validate(about)
        found = None if hub else count(download)
        write(name, download, licence, found, only=only)
        copies.keep()
    size = f"{found.pairs:,} pairs" if found else f"the data set {hub}"
    print(f"{corpus_file(name)}: {size}; `make repro` builds it")


def check_name(name: str) -> None:
    """Check that a corpus can be called so.

    Raises: DataError.
    """
    if not re.fullmatch(NAME, name) or name == DEFAULT:
        raise DataError(f"NAME: must be letters, digits and underscores, and not {DEFAULT!r}, got {name!r}")
    if corpus_file(name).exists():
        raise DataError(f"{corpus_file(name)}: there is a corpus of this name; expected a new one")


def language(option: str, text: str | None, path: Path | None) -> str:
    """The language of one side: as it is given, or the ending of its file.

    Raises: DataError where neither says it.
    """
    if text is not None:
        return text
    endings = [ending.removeprefix(".") for ending in (path.suffixes if path else [])]
    found = [one for one in endings if re.fullmatch(r"[A-Za-z]{2,3}", one) and one not in ("gz", "txt", "tsv")]
    if not found:
        raise DataError(f"{option}: the name of the file does not end in a language; expected one, such as de")
    return found[-1]


def number(option: str, text: str | None, usual: int) -> int:
    """A column of a table.

    Raises: DataError where it is no number.
    """
    if text is not None and not text.isdecimal():
        raise DataError(f"{option}: must be the number of a column of the table, got {text!r}; expected 1 or more")
    return usual if text is None else int(text)


def hub_part(dataset: str, source_column: str | None, target_column: str | None) -> dict[str, Any]:
    """The training part of a data set: the columns that are named, or else the field `translation`."""
    where = {"kind": "hub", "dataset": dataset, "revision": "main", "split": "train"}
    if source_column is None and target_column is None:
        return where | {"translation_field": "translation"}
    return where | {"source_column": source_column, "target_column": target_column}


class Copies:
    """Copies of the user's files in my/, which are taken back unless they are to be kept."""

    def __init__(self, name: str) -> None:
        self.name, self.made, self.kept = name, list[Path](), False

    def __enter__(self) -> "Copies":
        return self

    def __exit__(self, *_: object) -> None:
        if not self.kept:
            for path in self.made:
                path.unlink(missing_ok=True)

    def keep(self) -> None:
        """All has gone well."""
        self.kept = True

    def pair(self, part: str, languages: tuple[str, str], prefix: str, *paths: Path | None) -> dict[str, str]:
        """A part of two parallel files.

        Raises: DataError where one of the two is not given.
        """
        sides = dict(zip(("source", "target"), paths, strict=True))
        if missing := [side for side, path in sides.items() if path is None]:
            raise DataError(f"--{prefix}{missing[0]}: is missing; expected both --{prefix}source and --{prefix}target")
        names = {side: f"{part}.{code}" for side, code in zip(sides, languages, strict=True)}
        if languages[0] == languages[1]:
            names = {side: f"{part}.{side}" for side in sides}
        return {"kind": "local"} | {side: self.add(path, names[side]) for side, path in sides.items() if path}

    def table(self, path: Path, source_column: str | None, target_column: str | None) -> dict[str, Any]:
        """A part of a table.

        Raises: DataError where a column is no number.
        """
        columns = {
            "source_column": number("--source-column", source_column, 1),
            "target_column": number("--target-column", target_column, 2),
        }
        return {"kind": "local", "table": self.add(path, "train.tsv")} | columns

    def add(self, path: Path, name: str) -> str:
        """A file below my/: the file itself if it stands there, else a copy of it, by a path from the project's folder.

        Raises: DataError where the file is not there, or another one has the name.
        """
        if not path.is_file():
            raise DataError(f"{path}: no such file; expected one of sentences")
        inside = Path(os.path.relpath(path.absolute(), Path.cwd()))
        if inside.parts[:1] == local.FOLDER.parts:
            return inside.as_posix()
        copy = local.FOLDER / f"{self.name}.{name}{'.gz' if path.suffix == '.gz' else ''}"
        if copy.exists():
            raise DataError(f"{copy}: already there; expected a new name, or this path in place of {path}")
        copy.parent.mkdir(exist_ok=True)
        self.made.append(copy)
        files.copy_file(path, copy)
        return copy.as_posix()


def count(download: Download) -> Found:
    """How many pairs the training part has, and words of the target language.

    Raises: DataError where the files are no parallel text.
    """
    store = Store(Path("work/downloads"), None)
    with downloading.opened(download.parts[parts.TRAIN], download, store) as (pairs, sides, _):
        num_pairs = num_words = 0
        for num_pairs, (_, target) in enumerate(pairs, 1):  # noqa: B007 (the count is wanted)
            num_words += len(target.split())
    if not num_words:
        raise DataError(f"{sides[1]}: holds no text; expected sentences")
    return Found(num_pairs, num_words)


def write(name: str, download: Download, licence: str, found: Found | None, *, only: bool) -> None:
    """Write the corpus's file, then its training line and its name in params.yaml; both or none.

    Raises: ParamsError where the project would not be right with it.
    """
    from dvc.utils.serialize import modify_yaml  # DVC takes a second to import

    path, before = corpus_file(name), PATH.read_bytes()
    try:
        with files.new_file(path) as file:
            file.write("".join(corpus_text(download, licence, found)))
        with modify_yaml(PATH) as params:
            params["training"][name] = flow(suggestion.training(*found) if found else {})
            others = [] if only else list(params["build"]["corpora"])
            params["build"]["corpora"] = [*others, name]
        catalogue.check()
    except BaseException:
        path.unlink(missing_ok=True)
        with files.new_file(PATH, "wb") as file:
            file.write(before)
        raise


def flow(values: dict[str, int]) -> Any:
    """A mapping that stands on one line."""
    from ruamel.yaml.comments import CommentedMap

    found = CommentedMap(values)
    found.fa.set_flow_style()
    return found


def corpus_text(download: Download, licence: str, found: Found | None) -> Iterator[str]:
    """The lines of the corpus's file."""
    from dvc.utils.serialize import dumps_yaml

    yield HEAD.format(about=f"{found.pairs:,} pairs." if found else "A data set of the Hugging Face hub.")
    yield dumps_yaml({"licence": licence} | download.model_dump(exclude_none=True))
    yield "clean: {}\n"
    share = suggestion.held_out_share(found.pairs) if found else 0.001
    yield "split: # the shares of the pairs that are held out, 0.0 for a part that stands above\n"
    yield f"  carve_by: source\n  validation_share: {share}\n"
    yield f"  test_share: {0.0 if parts.TEST in download.parts else share}\n"
    yield "decode: {}\n"
