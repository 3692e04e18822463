"""Make the corpus `tuned` and the system `before`: data/split/text/ and a packaged system -> data/, runs/.

The corpus is the new text, its training part mixed with pairs of my/general.*; it has the vocabulary of the packaged
system. That system, as it is, becomes one of this folder, of size `before`: `train` starts from it, and the report
compares with it.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field, StringConstraints

from pipeline.common import files, parts
from pipeline.common.params import Section
from pipeline.common.system import Build, System
from pipeline.compute import ids
from pipeline.console import cli
from pipeline.console.progress import say
from pipeline.encoding.shards import Encoded, pack
from pipeline.packaging import loading, package
from pipeline.training.batching import collate, sorted_batches
from pipeline.training.validation import token_scores
from pipeline.vocabularies.equals import listed
from pipeline.vocabularies.vocabulary import Vocabulary, digest

TEXT = "text"  # the corpus of the new text
MY = Path("my")
GENERAL, GENERAL_TEST = "general", "general_test"  # parts in my/, which may be missing; the first is a test part here
TOKENS_PER_BATCH = 1000  # padded positions
MOST_UNKNOWN = 0.01  # of the pieces of a side: with more, the vocabulary is one of another script or text


class Base(Section):
    """Section `base`: the packaged system to start from, and how much general text is mixed in."""

    package: Annotated[str, StringConstraints(min_length=1)]
    general_share: Annotated[float, Field(ge=0, lt=1)]


def main() -> None:
    """Write the corpus, its vocabulary, and the packaged system as one of this folder.

    Raises: DataError if the package is damaged, translates another pair of languages, or cannot spell the new text.
    """
    base, [before, *_] = Base.load("base"), Build.load("build").systems()
    folder = Path(base.package)
    config = package.read(folder)
    check_languages(config, folder)
    with files.new_folder(before.vocabulary_folder) as vocabulary:
        package.copy_vocabulary(folder / package.VOCABULARY, vocabulary)
    check_spelling(Vocabulary.load(before.vocabulary_folder), folder)
    write_corpus(before, base.general_share)
    write_system(before, config, folder)


def check_languages(config: package.Config, folder: Path) -> None:
    """Check that the new text is of the package's languages."""
    about = files.read_json(Path("data/split", TEXT, "languages.json"))
    new, old = (
        f"{about['source_language']}-{about['target_language']}",
        f"{config.source_language}-{config.target_language}",
    )
    if new != old:
        raise files.DataError(f"{folder}: must translate the languages of the new text, {new}, got {old}")


def check_spelling(vocabulary: Vocabulary, folder: Path) -> None:
    """Check that the package's vocabulary has pieces for nearly all of the new training text; say which it lacks."""
    sides = (vocabulary.encode_source, vocabulary.source_equals), (vocabulary.encode_target, vocabulary.target_equals)
    texts = zip(*parts.read(Path("data/split", TEXT), parts.TRAIN), strict=True)
    for side, lines, (encode, equals) in zip(("source", "target"), texts, sides, strict=True):
        total, unknown, lacking = 0, 0, Counter[str]()
        for line in lines:
            [pieces] = encode([line])
            if ids.UNK in pieces:
                unknown += pieces.count(ids.UNK)
                lacking.update(equals.missing(line))
            total += len(pieces)
        where = f"data/split/{TEXT}: {side} sentences"
        if unknown > MOST_UNKNOWN * total:
            raise files.DataError(
                f"{where} must be text that the vocabulary of {folder} can spell, got {unknown / total:.0%} unknown "
                f"pieces ({listed(lacking)}); expected at most {MOST_UNKNOWN:.0%}: train a system of its own on it "
                "(nmt new-corpus)"
            )
        if lacking:
            say(where, f"no piece of {folder} spells {listed(lacking)}")


def write_corpus(before: System, share: float) -> None:
    """Write the parts: those of the new text, with general pairs after its training pairs, and a test part of these."""
    old, counts = Path("data/split", TEXT), {}
    with files.new_folder(before.split) as folder:
        for part in parts.names(old):
            counts[part] = parts.copy(part, old, folder)
        shards = parts.read_bitexts(old)
        shutil.copytree(old / parts.TRAIN, folder / parts.TRAIN)
        wanted = round(sum(shard.pairs for shard in shards) * share / (1 - share))
        shards += parts.write_shards(folder, f"{GENERAL}_text", parts.encoded(general_pairs(wanted)))
        parts.write_bitexts(folder, shards)
        counts[parts.TRAIN] = sum(shard.pairs for shard in shards)
        if parts.paths(MY, GENERAL_TEST)[0].exists():
            counts[GENERAL] = parts.write(folder, GENERAL, parts.read(MY, GENERAL_TEST))
        shutil.copyfile(old / "languages.json", folder / "languages.json")
    with files.new_folder(Path("data/clean", before.corpus)) as folder:
        shutil.copyfile(Path("data/clean", TEXT, "clean.json"), folder / "clean.json")
    summary = files.read_json(Path("data/split", f"{TEXT}.json"))
    files.write_json(before.split_summary, summary | {"pairs": counts})


def general_pairs(number: int) -> Iterator[parts.Pair]:
    """The first pairs of general text, drawn at random as they are."""
    return islice(parts.read(MY, GENERAL), number) if number else iter(())


def validation_loss(before: System, packaged: Path) -> float:
    """The loss of a package without one (`nmt import`), in nats per token of the new text's validation part."""
    translator = loading.load(packaged)
    vocabulary, (sources, targets) = (
        translator.vocabulary,
        zip(*parts.read(before.split, parts.VALIDATION), strict=True),
    )
    encoded = vocabulary.encode_source(sources), vocabulary.encode_target(targets)
    part = Encoded(pack(encoded[0], vocabulary.source_size), pack(encoded[1], vocabulary.target_size))
    batches = (collate(part, pairs) for pairs in sorted_batches(part, TOKENS_PER_BATCH))
    with torch.inference_mode():
        scored = list(token_scores(translator.model, batches, precision="fp32", device=translator.where))
    return sum(loss for loss, _, _ in scored) / sum(tokens for *_, tokens in scored)


def write_system(before: System, config: package.Config, packaged: Path) -> None:
    """Write the package as what `train` and `average` would have left of it, without curves."""
    sizes = {"arch": config.arch, "training": {"max_length": config.max_source_pieces + 1}}
    training: dict[str, Any] = {
        "vocabulary": digest(before.vocabulary_folder),
        "updates": 0,
        "stopped": "updates",
        "best": {"update": 0, **(config.validation or {"validation_loss": validation_loss(before, packaged)})},
        "precision": config.precision,
        "padding_share": 0.0,
        "num_parameters": config.num_parameters,
        "mixture": {},
        "base": config.system,
        "params": sizes,
    }
    with files.new_folder(before.trained) as folder:
        files.write_json(folder / "training.json", training)
    with files.new_folder(before.averaged) as folder:
        shutil.copyfile(packaged / package.WEIGHTS, folder / before.weights.name)
        files.write_json(folder / "average.json", {"checkpoints": []})


if __name__ == "__main__":
    cli.run(main)
