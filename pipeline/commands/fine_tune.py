"""`nmt fine-tune`: adds a corpus whose training goes on from a packaged system, on the user's own text."""

import shutil
import tempfile
from itertools import compress
from pathlib import Path
from typing import Annotated, Any

import typer

from ..common import files, parts
from ..common.files import DataError
from ..common.params import PATH, read_yaml
from ..common.seeding import sample
from ..common.system import config_file, corpus_file, split_folder
from ..packaging import sealed
from ..training.learning import Learning
from . import catalogue, new_corpus, project, training_length
from .new_corpus import Memories, Quoting, Sources, Tables, Targets
from .own_texts import Copies, Texts, local_part, training_part
from .survey import survey
from .training_length import Size

RATE_SHARE = 0.2  # of the peak rate with which a system of this size starts
MANY = 1_000_000  # updates, with which a rate is highest at the end of warm-up
PASSES = 15  # over the text, at most
PATIENCE = 8  # validations, of which there are about three a pass
TEXT, GENERAL = "text", "general"  # bitexts: the user's own, and what is mixed in; the latter is a test part too
GENERAL_TIMES = 4  # as many pairs of general text as own ones are kept: each pass takes others
VOCABULARY = "package"  # of params.yaml


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
    name: Annotated[str | None, typer.Option(help="Of the corpus; by default that of the model, and _tuned.")] = None,
    licence: Annotated[str, typer.Option(help="Under which the text may be used.")] = "unknown",
) -> None:
    """Add a corpus that trains a packaged system further on your text: corpora/NAME.yaml, and `build` of params.yaml.

    `nmt repro` then builds it. The text is translated before and after, and so is the test part of general text, if
    there is any.
    """
    project.check_here()
    catalogue.check()
    packaged = Path(model) if Path(model).is_dir() else project.parse(model, "MODEL (no such folder)").packaged
    config = sealed.read(packaged)
    corpus_path = new_corpus.new_corpus_file(name := name or f"{config.corpus}_tuned", "--name")
    if not (source or target or table or tmx):
        raise DataError("--source, --target, --table or --tmx: is missing; expected the text to train on")
    how = {"source_column": source_column, "target_column": target_column, "quoting": quoting}
    codes, folder = (config.source_language, config.target_language), general or split_folder(config.corpus)
    with new_corpus.undone_on_failure([corpus_path]) as made:
        copies = Copies(name, codes, made)
        about: dict[str, Any] = {parts.TRAIN: training_part(copies, Texts(source, target, table, tmx), how)}
        if test_source or test_target:
            about[parts.TEST] = local_part(copies.part(parts.TEST, source=test_source, target=test_target), {})
        size = survey(new_corpus.corpus_of(codes, about), corpus_path)
        assert size, "a part of files"
        own = about[parts.TRAIN] if isinstance(about[parts.TRAIN], list) else [{"name": TEXT} | about[parts.TRAIN]]
        mixture = mix(about, own, copies, folder, size, general_share)
        sections = tuning_sections(config, size, general_share if mixture else 0.0)
        sections["split"] |= {"carve_from": [bitext["name"] for bitext in own] if mixture else []}
        sections["split"]["test_share"] *= parts.TEST not in about
        start = kept(packaged, copies)
        pinned = {"package": start.as_posix(), "sha256": files.sha256(start / sealed.CHECKSUMS)}
        corpus = {"licence": licence, **new_corpus.corpus_of(codes, about), "mixture": mixture, "start": pinned}
        new_corpus.write({name: corpus}, sections)
        chosen = {"vocabularies": [VOCABULARY], "models": [config.model], "sizes": [size_of(config)]}
        new_corpus.build([name], chosen)
    print(summary(name, config, size, mixture, general_share))


def kept(packaged: Path, copies: Copies) -> Path:
    """The folder of a package; of one built here a copy, as DVC takes away what `build` no longer names.

    Raises: DataError if the copy's name is taken.
    """
    if packaged.name not in project.built() or packaged.resolve() != Path("models", packaged.name).resolve():
        return packaged
    with files.new_folder(copy := copies.reserve(f"{copies.name}.start", packaged)) as partial:
        shutil.copytree(packaged, partial, dirs_exist_ok=True)
    return copy


def mix(
    about: dict[str, Any], own: list[dict[str, Any]], copies: Copies, folder: Path, size: Size, share: float
) -> dict[str, float]:
    """Add general text to the parts of a corpus, the test part and a bitext behind its own; returns `mixture`."""
    if (test := parts.paths(folder, parts.TEST))[0].exists():
        about[GENERAL] = local_part(copies.part(f"{GENERAL}_test", source=test[0], target=test[1]), {})
    if not share or not (folder / parts.TRAIN).is_dir():
        return {}
    with tempfile.TemporaryDirectory() as drawn:
        total = sum(shard.pairs for shard in parts.read_bitexts(folder))
        chosen = sample(total, GENERAL_TIMES * size.pairs, 1)
        num_pairs = parts.write(Path(drawn), GENERAL, compress(parts.read(folder, parts.TRAIN), chosen))
        source, target = parts.paths(Path(drawn), GENERAL)
        bitext = local_part(copies.part(GENERAL, source=source, target=target), {})
    about[parts.TRAIN] = [*own, {"name": GENERAL} | bitext]
    return {GENERAL: float(f"{size.pairs * share / (1 - share) / num_pairs:.3g}")}


def size_of(config: sealed.Config) -> str:
    """The size of configs/ from which a package learns further: its own, or of those that have another the first."""
    sizes = catalogue.sizes_of(read_yaml(config_file(config.model)))
    return config.size if config.size in sizes else sizes[0]


def tuning_sections(config: sealed.Config, size: Size, share: float) -> dict[str, Any]:
    """What the corpus changes of params.yaml and of configs/, for `size` of text and a share of general text."""
    mixed = Size(round(size.pairs / (1 - share)), round(size.words / (1 - share)))
    training: dict[str, Any] = training_length.suggest(mixed, PASSES)
    training |= {"validation_interval": training["checkpoint_interval"], "max_length": config.max_source_pieces + 1}
    training |= {"patience": PATIENCE, "best_checkpoints": 1}
    path, held_out = config_file(config.model), training_length.held_out_share(size)
    schedule = Learning.load_own(f"{path}:{catalogue.SHARED}", f"{path}:{size_of(config)}").schedule
    peak = RATE_SHARE * schedule.rate(max(1, schedule.warmup), width=config.arch["width"], updates=MANY)
    linear = {"kind": "linear", "peak_rate": float(f"{peak:.2g}"), "warmup": max(1, training["updates"] // 10)}
    page = read_yaml(PATH)["decode"]
    return {
        "split": {"validation_share": held_out, "test_share": held_out},
        "training": training,
        "average": {"checkpoints": 1},
        "decode": {key: value for key, value in config.decoding.items() if key in page and page[key] != value},
        "models": {config.model: {"schedule": linear, "r_drop": 0.0}},
    }


def summary(name: str, config: sealed.Config, size: Size, mixture: dict[str, float], share: float) -> str:
    """What was decided, and the command that builds it."""
    how = f"mixed with general text ({share:.0%} of the pairs)" if mixture else "without general text"
    corpus = read_yaml(corpus_file(name))
    rate = corpus["models"][config.model]["schedule"]["peak_rate"]
    return (
        f"{corpus_file(name)}: {config.system} on {size.pairs:,} pairs, {how}; at most "
        f"{corpus['training']['updates']:,} updates, peak rate {rate:g}, until {PATIENCE} validations bring no lower "
        "loss\n`nmt repro` builds it; then see report/index.html"
    )
