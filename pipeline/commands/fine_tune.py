"""`nmt fine-tune`: writes a recipe that trains a packaged system further, on the user's own text."""

import contextlib
import os
import random
import re
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer
from ruamel.yaml import YAML

from ..common import files, parts
from ..common.files import DataError
from ..common.params import NAME, PATH, read_yaml
from ..common.system import config_file, split_folder
from ..corpora.importers import local
from ..packaging import package
from ..training.learning import Learning
from . import catalogue, project, training_length
from .new_corpus import OVERRIDES, Memories, Quoting, Sources, Tables, Targets, dumped
from .own_texts import Copies, How, Texts, local_part, training_part
from .survey import survey
from .training_length import Size

TEMPLATE = Path("recipes/fine_tune")
COPIED = {"graph.yaml": "dvc.yaml", **{name: name for name in (".gitignore", ".dvc/config", ".dvc/.gitignore")}}
RATE_SHARE = 0.2  # of the peak rate with which a system of this size starts
MANY = 1_000_000  # updates, with which a rate is highest at the end of warm-up
PASSES = 15  # over the text, at most
PATIENCE = 8  # validations, of which there are about three a pass
GENERAL, GENERAL_TEST = "general", "general_test"  # files in my/: text to mix in, and to test what is forgotten
GENERAL_TIMES = 4  # as many pairs of general text as new ones are kept, so that the share may be raised


def fine_tune(
    model: Annotated[str, typer.Argument(help="A packaged folder, or a built system: its id or a part of it.")],
    source: Sources = None,
    target: Targets = None,
    table: Tables = None,
    tmx: Memories = None,
    source_column: Annotated[str | None, typer.Option(help="Of --table: a number, 1, or a name.")] = None,
    target_column: Annotated[str | None, typer.Option(help="Of --table: a number, 2, or a name.")] = None,
    quoting: Quoting = None,
    test_source: Annotated[Path | None, typer.Option(help="Test sentences; by default some of the others.")] = None,
    test_target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    general: Annotated[
        Path | None,
        typer.Option(help="Folder of general text, as data/split/<corpus>; by default that of the model's corpus."),
    ] = None,
    general_share: Annotated[
        float, typer.Option(min=0, max=0.9, help="Of the training pairs, against forgetting; 0: none.")
    ] = 0.5,
    name: Annotated[str | None, typer.Option(help="Of the folder in recipes/; by default <corpus>_tuned.")] = None,
    licence: Annotated[str, typer.Option(help="Under which the text may be used.")] = "unknown",
) -> None:
    """Write recipes/NAME, which trains a packaged system further on your text; `dvc --cd recipes/NAME repro` builds it.

    The text is translated before and after, and so is the test part of general text, if there is any.
    """
    project.check_here()
    catalogue.check()
    packaged = Path(model) if Path(model).is_dir() else project.parse(model).packaged
    config = package.read(packaged)
    recipe = Path("recipes", name or f"{config.corpus}_tuned")
    if not re.fullmatch(NAME, recipe.name):
        raise DataError(f"--name: must be letters, digits and underscores, got {recipe.name!r}")
    if os.path.lexists(recipe):
        raise DataError(f"{recipe}: there is a recipe of this name; expected a new one, by --name")
    if not (source or target or table or tmx):
        raise DataError("--source, --target, --table or --tmx: is missing; expected the text to train on")
    texts = Texts(absolute(source), absolute(target), absolute(table), absolute(tmx))
    how = {"source_column": source_column, "target_column": target_column, "quoting": quoting}
    tests = {"source": test_source, "target": test_target}
    try:
        for original, copy in COPIED.items():
            (recipe / copy).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(TEMPLATE / original, recipe / copy)
        corpus, size = copy_text(recipe, config, texts, how, tests)
        num_general = copy_general(general or split_folder(config.corpus), recipe / local.FOLDER, size)
        share = general_share if num_general else 0.0
        summary = write(recipe, packaged, config, {"licence": licence, **corpus}, size, share)
    except BaseException:
        shutil.rmtree(recipe, ignore_errors=True)
        raise
    print(summary)


def absolute(paths: list[Path] | None) -> list[Path]:
    """The paths from any folder."""
    return [path.absolute() for path in paths or ()]


def copy_text(
    recipe: Path, config: package.Config, texts: Texts, how: How, tests: dict[str, Path | None]
) -> tuple[dict[str, Any], Size]:
    """Copy the files into the recipe's my/: what its corpus is, and how large."""
    page, codes = PATH.absolute(), (config.source_language, config.target_language)
    test = {key: path.absolute() for key, path in tests.items() if path}
    with contextlib.chdir(recipe):
        local.FOLDER.mkdir()
        copies = Copies("text", codes, [])
        about: dict[str, Any] = {parts.TRAIN: training_part(copies, texts, how)}
        if test:
            about[parts.TEST] = local_part(copies.part(parts.TEST, **test), {})
        corpus = {"source_language": codes[0], "target_language": codes[1], "parts": about}
        size = survey(corpus, Path("corpora/text.yaml"), page)
        assert size, "a part of files"
    return corpus, size


def copy_general(folder: Path, out: Path, size: Size) -> int:
    """Copy general text: the test part, and pairs of the training part, drawn at random; returns how many."""
    for old, new in zip(parts.paths(folder, parts.TEST), parts.paths(out, GENERAL_TEST), strict=True):
        if old.exists():
            shutil.copyfile(old, new)
    if not (folder / parts.TRAIN).is_dir():
        return 0
    total = sum(1 for _ in parts.read(folder, parts.TRAIN))
    lines = random.Random(1).sample(range(total), min(total, GENERAL_TIMES * size.pairs))
    wanted = set(lines)
    drawn = {line: pair for line, pair in enumerate(parts.read(folder, parts.TRAIN)) if line in wanted}
    return parts.write(out, GENERAL, (drawn[line] for line in lines))


def learning(config: package.Config, updates: int) -> dict[str, Any]:
    """The keys of the package's model and of its learning, which are those of its size where configs/ has it."""
    sizes = read_yaml(config_file(config.model))
    shared = sizes.pop(catalogue.SHARED)
    size = config.size if config.size in sizes else next(iter(sizes))
    keys, place = shared | sizes[size] | config.arch, f"{config_file(config.model)}:"
    schedule = Learning.load_own(f"{place}{catalogue.SHARED}", f"{place}{size}").schedule
    peak = schedule.rate(max(1, schedule.warmup), width=config.arch["width"], updates=MANY)
    linear = {"kind": "linear", "peak_rate": float(f"{RATE_SHARE * peak:.2g}"), "warmup": max(1, updates // 10)}
    return keys | {"schedule": linear, "lsi_pairs": 0}


def write(
    recipe: Path, packaged: Path, config: package.Config, corpus: dict[str, Any], size: Size, share: float
) -> str:
    """Write the recipe's parameter files; returns what was decided, and the command that builds it."""
    mixed = Size(round(size.pairs / (1 - share)), round(size.words / (1 - share)))
    training = training_length.suggest(mixed, PASSES)
    training |= {
        "validation_interval": training["checkpoint_interval"],
        "max_length": config.max_source_pieces + 1,
        "patience": PATIENCE,
        "best_checkpoints": 1,
    }
    page = YAML().load(PATH.read_text(encoding="utf-8"))
    del page["vocabularies"]
    page["build"] = {
        "corpora": ["tuned"],
        "vocabularies": [config.vocabulary],
        "models": [config.model],
        "sizes": ["before", "after"],  # the packaged system, and what it becomes
        "seeds": [1],
    }
    page.insert(0, "base", {"package": os.path.relpath(packaged, recipe), "general_share": share})
    page["average"]["checkpoints"] = 1
    page["score"].update(references={}, external={})  # of parts and programs that are not in this folder
    page["decode"].update({key: value for key, value in config.decoding.items() if key in page["decode"]})
    held_out = training_length.held_out_share(size)
    split = {"validation_share": held_out, "test_share": 0.0 if parts.TEST in corpus["parts"] else held_out}
    keys = learning(config, training["updates"])
    rate = keys["schedule"]["peak_rate"]
    none: dict[str, Any] = {"tags": {}, "mixture": {}, "average": {}, "decode": {}, "score": {}}
    texts = {
        "params.yaml": dumped(page),
        "corpora/text.yaml": dumped(corpus) + OVERRIDES + dumped({"clean": {}, "split": split}),
        "corpora/tuned.yaml": dumped({"licence": corpus["licence"], "training": training} | none),
        f"configs/{config.model}.yaml": dumped({"shared": {"lsi_pairs": keys.pop("lsi_pairs")}, "after": keys}),
    }
    for path, text in texts.items():
        with files.new_file(recipe / path) as file:
            file.write(text)
    how = f", mixed with general text ({share:.0%} of the pairs)" if share else ", without general text"
    return (
        f"{recipe}: {config.system} on {size.pairs:,} pairs{how}; at most {training['updates']:,} updates, "
        f"peak rate {rate:g}, until {PATIENCE} validations bring no lower loss\n"
        f"`dvc --cd {recipe} repro` builds it; then see {recipe}/report/index.html"
    )
