"""`nmt new-corpus`: adds a corpus made from the user's own text, and chooses what is built with it."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer
from ruamel.yaml import YAML

from ..common import files, parts
from ..common.files import DataError
from ..common.params import NAME, PATH, read_yaml
from ..common.system import Build, corpus_file
from ..corpora import archives, readers, tables
from ..corpora.importers import local
from ..languages.codes import name_of, of_file, tag
from . import catalogue, project, training_length
from .survey import survey
from .training_length import Size

OVERRIDES = "\n# What this corpus changes of params.yaml, section by section; {} for nothing.\n"
Sources = Annotated[
    list[Path] | None, typer.Option(help="Training sentences, one a line; plain or .gz. May be repeated.")
]
Targets = Annotated[list[Path] | None, typer.Option(help="Their translations, line by line.")]
Tables = Annotated[list[Path] | None, typer.Option(help="Or a table of both, a pair a line, with tabs between.")]

Quoting = Annotated[
    str | None, typer.Option(help="Of a table's quotes: raw (text) or quoted; by default all of them decide.")
]


def new_corpus(
    name: Annotated[str, typer.Argument(help="What to call it: letters, digits and underscores.")],
    source: Sources = None,
    target: Targets = None,
    table: Tables = None,
    hub: Annotated[str | None, typer.Option(help="Or the id of a data set of the Hugging Face hub.")] = None,
    source_column: Annotated[str | None, typer.Option(help="Of --table or --hub: a name, or a number: 1.")] = None,
    target_column: Annotated[str | None, typer.Option(help="Of --table or --hub: a name, or a number: 2.")] = None,
    quoting: Quoting = None,
    source_language: Annotated[str | None, typer.Option(help="Such as de; by default the ending of --source.")] = None,
    target_language: Annotated[str | None, typer.Option(help="Such as en; by default the ending of --target.")] = None,
    validation_source: Annotated[
        Path | None, typer.Option(help="Validation sentences; by default some of the others.")
    ] = None,
    validation_target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    test_source: Annotated[Path | None, typer.Option(help="Test sentences; by default some of the others.")] = None,
    test_target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    licence: Annotated[str, typer.Option(help="Under which the corpus may be used.")] = "unknown",
    models: Annotated[str, typer.Option(help="To build: names with commas between.")] = training_length.MODEL,
    sizes: Annotated[str | None, typer.Option(help="Of the models; by default what suits the text.")] = None,
    add: Annotated[bool, typer.Option("--add", help="Build it beside what `build` has, with its models.")] = False,
) -> None:
    """Add a corpus: write corpora/NAME.yaml, with a training that suits its size, and `build` of params.yaml.

    Files are copied into my/, which DVC watches. `nmt repro` then builds the corpus with one Transformer, or with
    --models and --sizes.
    """
    project.check_here()
    if add:  # else `build` is replaced, whatever it names; the project is checked with the corpus
        catalogue.check()
    if not re.fullmatch(NAME, name):
        raise DataError(f"NAME: must be letters, digits and underscores, got {name!r}")
    if os.path.lexists(corpus_file(name)):
        raise DataError(f"{corpus_file(name)}: there is a corpus of this name; expected a new one")
    codes = (
        language("--source-language", source_language, source),
        language("--target-language", target_language, target),
    )
    how = {"source_column": source_column, "target_column": target_column, "quoting": quoting}
    with undone_on_failure(corpus_file(name)) as made:
        copies = Copies(name, codes, made)
        train = copies.part(parts.TRAIN, source=source, target=target, table=table)
        about = {parts.TRAIN: hub_part(hub, train, how) if hub else local_part(train | how)}
        held_out = {parts.VALIDATION: (validation_source, validation_target), parts.TEST: (test_source, test_target)}
        for part, sides in held_out.items():
            if any(sides):
                about[part] = local_part(copies.part(part, source=sides[0], target=sides[1]))
        corpus = {"source_language": codes[0], "target_language": codes[1], "parts": about}
        size = survey(corpus, corpus_file(name))
        write(name, {"licence": licence, **corpus}, size, {} if add else choices(size, models, sizes))
    print(summary(name, size))


def choices(size: Size | None, models: str, sizes: str | None) -> dict[str, list[str]]:
    """What `build` of params.yaml gets beside the corpus: the user's models and sizes, or those that suit the text."""
    band = training_length.band(size)
    usual = band.size if models == training_length.MODEL else band.other_size
    return {
        "vocabularies": [training_length.vocabulary(size)],
        "models": models.split(","),
        "sizes": (sizes or usual).split(","),
    }


@contextmanager
def undone_on_failure(corpus: Path) -> Iterator[list[Path]]:
    """A block after whose failure params.yaml is as it was, and the corpus's file and what the list names are gone."""
    before, made = PATH.read_bytes(), [corpus]
    try:
        yield made
    except BaseException:
        for path in made:
            path.unlink(missing_ok=True)
        PATH.write_bytes(before)
        raise


def language(option: str, text: str | None, paths: Sequence[Path] | None) -> str:
    """The language of one side: the option, or the ending of its first file.

    Raises: DataError if neither gives one.
    """
    code = (tag(text) or text) if text else of_file(paths[0].name) if paths else None
    if not code:
        raise DataError(f"{option}: is missing, and no name of a file ends in a language; expected one, such as de")
    return code


class Copies:
    """Copies of the user's files in my/."""

    def __init__(self, name: str, codes: tuple[str, str], made: list[Path]) -> None:
        self.name, self.made = name, made
        endings = ("source", "target") if codes[0] == codes[1] else codes
        self.endings = {"source": endings[0], "target": endings[1], "table": "tsv"}

    def part(self, part: str, **given: Sequence[Path] | Path | None) -> dict[str, Any]:
        """The keys of a part whose files are copied, or stand in my/ already; several files of a key are a list."""
        keys: dict[str, Any] = {}
        for key, value in given.items():
            paths = [value] if isinstance(value, Path) else value or []
            copies = [
                self.copied(path, f"{self.name}.{part}{number if number > 1 else ''}.{self.endings[key]}")
                for number, path in enumerate(paths, 1)
            ]
            keys |= {key: copies if len(copies) > 1 else copies[0]} if copies else {}
        return keys

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


def local_part(keys: dict[str, Any]) -> dict[str, Any]:
    """A part of the user's own files; the columns of a table are numbers, by default the first two."""
    usual = {"source_column": "1", "target_column": "2"} if "table" in keys else {}
    given = usual | {key: value for key, value in keys.items() if value}
    return {"kind": "local"} | {
        key: int(value) if key.endswith("_column") and value.isdecimal() else value for key, value in given.items()
    }


def hub_part(dataset: str, files_given: dict[str, Any], how: dict[str, str | None]) -> dict[str, Any]:
    """A part of a data set: the named columns, or else the field `translation`.

    Raises: DataError if files are given too.
    """
    if files_given:
        raise DataError(f"--hub: has both sides, got --{next(iter(files_given))} too; expected one source of text")
    keys = {key: value for key, value in how.items() if value}
    field = {} if {*keys} - {"quoting"} else {"translation_field": "translation"}
    return {"kind": "hub", "dataset": dataset, "revision": "main", "split": "train", **field, **keys}


def write(name: str, corpus: dict[str, Any], size: Size | None, chosen: dict[str, list[str]]) -> None:
    """Write the corpus's file and, in `build` of params.yaml, what is chosen or, beside the others, the corpus.

    Raises: ParamsError if the project has faults with them.
    """
    share = training_length.held_out_share(size)
    sections = {
        "clean": {},
        "split": {
            f"{part}_share": 0.0 if part in corpus["parts"] else share for part in (parts.VALIDATION, parts.TEST)
        },
        "training": training_length.suggest(size) if size else {},
        "average": {},
        "decode": {},
        "score": {},
    }
    with files.new_file(corpus_file(name)) as file:
        file.write(dumped(corpus) + OVERRIDES + dumped(sections))
    params = YAML().load(PATH.read_text(encoding="utf-8"))
    build = params["build"]
    for axis, names in {"corpora": [name] if chosen else [*build["corpora"], name], **chosen}.items():
        build[axis][:] = names
    with files.new_file(PATH.resolve()) as file:  # a link stays one
        file.write(dumped(params))
    catalogue.check()


def dumped(content: Any) -> str:
    """YAML in block style; comments stay."""
    yaml, stream = YAML(), StringIO()
    yaml.default_flow_style, yaml.width = False, 4096
    yaml.dump(content, stream)
    return stream.getvalue()


def summary(name: str, size: Size | None) -> str:
    """What was written, how long the build may take, and the command for it."""
    build = Build.load("build")
    corpus = read_yaml(corpus_file(name))
    codes = [corpus["source_language"], corpus["target_language"]]
    sides = " to ".join(f"{name_of(code.split('-')[0])} ({code})" for code in codes)
    text = f"{sides}, {f'{size.pairs:,} pairs' if size else 'a data set of the hub'}"
    systems = [system for system in build.systems() if system.corpus == name]
    minutes = training_length.minutes([system.size for system in systems], size)
    estimate = f", about {minutes} min of training here" if minutes else ""
    models = ", ".join(f"{system.model} {system.size} with {system.vocabulary}" for system in systems)
    return f"{corpus_file(name)}: {text}; `nmt repro` builds {models}{estimate}"
