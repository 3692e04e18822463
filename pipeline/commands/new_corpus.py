"""`nmt new-corpus`: adds a corpus made from the user's own text, and chooses what is built with it."""

import os
import re
import shutil
from collections.abc import Iterator
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
from ..corpora.sources import Download
from ..languages.codes import name_of
from ..languages.identification import knows
from . import catalogue, project, training_length
from .own_texts import Copies, Texts, exchanged, languages, local_part, training_part
from .survey import survey
from .training_length import Size

OVERRIDES = "\n# What this corpus changes of params.yaml, section by section; {} for nothing.\n"
Sources = Annotated[
    list[Path] | None, typer.Option(help="Training sentences, one a line; plain or .gz. May be repeated.")
]
Targets = Annotated[list[Path] | None, typer.Option(help="Their translations, line by line.")]
Tables = Annotated[list[Path] | None, typer.Option(help="Or a table of both, a pair a line, with tabs between.")]
Memories = Annotated[list[Path] | None, typer.Option(help="Or a translation memory (TMX).")]

Quoting = Annotated[
    str | None, typer.Option(help="Of a table's quotes: raw (text) or quoted; by default all of them decide.")
]


def new_corpus(
    name: Annotated[str, typer.Argument(help="What to call it: letters, digits and underscores.")],
    source: Sources = None,
    target: Targets = None,
    table: Tables = None,
    tmx: Memories = None,
    hub: Annotated[str | None, typer.Option(help="Or the id of a data set of the Hugging Face hub.")] = None,
    opus: Annotated[
        list[str] | None, typer.Option(help="Or a corpus of OPUS, such as Europarl/v8; `nmt find-corpus` lists them.")
    ] = None,
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
    updates: Annotated[int | None, typer.Option(min=1, help="Of the training; by default what suits the text.")] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="Add the other direction too.")] = False,
    add: Annotated[bool, typer.Option("--add", help="Build it beside what `build` has, with its models.")] = False,
) -> None:
    """Add a corpus: write corpora/NAME.yaml, with a training that suits its size, and `build` of params.yaml.

    Files are copied into my/, which DVC watches. `nmt repro` then builds the corpus with one Transformer, or with
    --models and --sizes.
    """
    project.check_here()
    if add:  # else `build` is replaced, whatever it names; the project is checked with the corpus
        catalogue.check()
    texts = Texts(source, target, table, tmx, hub, opus)
    codes = languages((source_language, target_language), texts)
    how = {"source_column": source_column, "target_column": target_column, "quoting": quoting}
    names = [name, in_reverse(name, codes)] if reverse else [name]
    paths = [*map(new_corpus_file, names)]
    with undone_on_failure(paths) as made:
        copies = Copies(name, codes, made)
        about: dict[str, Any] = {parts.TRAIN: training_part(copies, texts, how)}
        held_out = {parts.VALIDATION: (validation_source, validation_target), parts.TEST: (test_source, test_target)}
        for part, sides in held_out.items():
            if any(sides):
                about[part] = local_part(copies.part(part, source=sides[0], target=sides[1]), {})
        corpora = {name: corpus_of(codes, about)}
        size = survey(corpora[name], paths[0])
        chosen = {} if add else choices(size, models, sizes)
        sections = suited_sections(about, size, updates, chosen or read_yaml(PATH)["build"])
        sections["clean"] = {"language": True} if opus and all(map(knows, codes)) else {}  # text of the web
        if reverse:
            corpora[names[1]] = corpus_of(codes[::-1], {part: exchanged(sources) for part, sources in about.items()})
        write({name: {"licence": licence} | one for name, one in corpora.items()}, sections)
        build(names, chosen)
    for one in names:
        print(summary(one, size))


def new_corpus_file(name: str, option: str = "NAME") -> Path:
    """The file of a new corpus; an option names it.

    Raises: DataError if there is one of this name, or it is none.
    """
    if not re.fullmatch(NAME, name):
        raise DataError(f"{option}: must be letters, digits and underscores, got {name!r}")
    if os.path.lexists(corpus_file(name)):
        raise DataError(f"{corpus_file(name)}: there is a corpus of this name; expected a new one as {option}")
    return corpus_file(name)


def corpus_of(codes: tuple[str, str], about: dict[str, Any]) -> dict[str, Any]:
    """What a corpus is, without its licence."""
    return {"source_language": codes[0], "target_language": codes[1], "parts": about}


def in_reverse(name: str, codes: tuple[str, str]) -> str:
    """The name of a corpus in the other direction: of `shop_de_en` it is `shop_en_de`."""
    source, target = (code.replace("-", "_") for code in codes)
    ending = f"_{source}_{target}"
    return f"{name.removesuffix(ending)}_{target}_{source}" if name.endswith(ending) else f"{name}_reversed"


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
def undone_on_failure(paths: list[Path]) -> Iterator[dict[Path, Path]]:
    """A block after whose failure params.yaml is as it was, and the files at the paths and in the mapping are gone.

    The mapping has what each copy was made of, by which an error names it.
    """
    before, made = PATH.read_bytes(), {path: path for path in paths}
    try:
        yield made
    except BaseException as error:
        for path in made:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        PATH.write_bytes(before)
        if not isinstance(error, DataError):
            raise
        text = str(error)
        for copy, original in made.items():
            text = text.replace(str(copy), str(original))
        raise DataError(text) from None


def suited_sections(
    about: dict[str, Any], size: Size | None, updates: int | None, axes: dict[str, list[str]]
) -> dict[str, Any]:
    """What a corpus changes of params.yaml, and of configs/ if the `axes` of the build have what suits it.

    Raises: DataError if nothing says how long to train.
    """
    if updates:
        training = training_length.schedule(size, updates) | {"updates": updates}
    elif size:
        training = training_length.suggest(size)
    else:
        what = "is missing, and nothing says how many pairs the text has"
        raise DataError(f"--updates: {what}; expected the updates of the training, such as 100000")
    share, band, model = training_length.held_out_share(size), training_length.band(size), training_length.MODEL
    is_suited = band.learning and model in axes["models"] and axes["sizes"] == [band.size]
    return {
        "split": {f"{part}_share": 0.0 if part in about else share for part in (parts.VALIDATION, parts.TEST)},
        "training": training,
        "models": {model: band.learning} if is_suited else {},
    }


def write(corpora: dict[str, dict[str, Any]], sections: dict[str, Any]) -> None:
    """Write the file of each corpus."""
    for name, corpus in corpora.items():
        with files.new_file(corpus_file(name)) as file:
            about = {"licence": corpus["licence"], **{key: corpus[key] for key in Download.model_fields}}
            about |= {key: corpus.get(key, {}) for key in ("tags", "mixture", "start")}
            changes = {key: sections.get(key, {}) for key in (*catalogue.OVERRIDABLE, "models")}
            file.write(dumped(about) + OVERRIDES + dumped(changes))


def build(names: list[str], chosen: dict[str, list[str]]) -> None:
    """Write into `build` of params.yaml what is chosen or, beside the others, the corpora.

    Raises: ParamsError if the project has faults with them.
    """
    params = YAML().load(PATH.read_text(encoding="utf-8"))
    axes = params["build"]
    for axis, values in {"corpora": names if chosen else [*axes["corpora"], *names], **chosen}.items():
        axes[axis][:] = values
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
    chosen = Build.load("build")
    corpus = read_yaml(corpus_file(name))
    codes = [corpus["source_language"], corpus["target_language"]]
    sides = " to ".join(f"{name_of(code.split('-')[0])} ({code})" for code in codes)
    text = f"{sides}, {f'{size.pairs:,} pairs' if size else 'of unknown size'}"
    systems = [system for system in chosen.systems() if system.corpus == name]
    minutes = training_length.minutes([system.size for system in systems], size)
    estimate = f", about {minutes} min of training here" if minutes else ""
    models = ", ".join(f"{system.model} {system.size} with {system.vocabulary}" for system in systems)
    return f"{corpus_file(name)}: {text}; `nmt repro` builds {models}{estimate}"
