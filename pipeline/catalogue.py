"""The whole of `params.yaml` at once: every section by its class, and what the sections must agree on."""

import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from pydantic import Field, create_model

from pipeline import models
from pipeline.build import Build, Name
from pipeline.corpora import local
from pipeline.corpora.sources import Download
from pipeline.decoding.attending import Attending
from pipeline.decoding.translate import CorpusDecoding, Decoding
from pipeline.encoding.budget import Training
from pipeline.evaluation.pages import Report
from pipeline.evaluation.scores import Scoring
from pipeline.models import interface
from pipeline.params import PATH, ParamsError, Section, nearest, read_yaml
from pipeline.preparation.cleaning import Cleaning
from pipeline.preparation.splits import Splitting, check_shares
from pipeline.training.averaging import Averaging, CorpusAveraging
from pipeline.training.learning import Learning
from pipeline.vocabularies.subwords import Subwords
from pipeline.vocabularies.words import Words


class Corpus(Section):
    """Section `corpora.<corpus>`."""

    download: Download
    clean: Cleaning
    split: Splitting
    training: Training
    decode: CorpusDecoding
    average: CorpusAveraging


class Catalogue(Section):
    """All of `params.yaml`; `whole` adds the models."""

    build: Build
    corpora: dict[Name, Corpus]
    vocabularies: dict[Name, Annotated[Subwords | Words, Field(discriminator="kind")]]
    average: Averaging
    attend: Attending
    decode: Decoding
    score: Scoring
    report: Report


def check(path: Path = PATH) -> None:
    """Nothing, where the file at `path` is right.

    Raises: ParamsError listing every fault of the file.
    """
    node = read_yaml(path)
    faults = shape_faults, choice_faults, share_faults, local_faults, average_faults
    if found := [line for faults_of in faults for line in faults_of(node, path)]:
        raise ParamsError("\n".join(found))


def shape_faults(node: dict[str, Any], path: Path) -> Iterator[str]:
    """Unknown, missing and wrong keys and values, each by the class of its section."""
    sizes: dict[str, Any] = {name: (dict[Name, size(interface.find(name))], {}) for name in model_names()}  # type: ignore[misc]
    found: type[Section] = create_model("Models", __base__=Section, **sizes)
    whole: type[Section] = create_model("Whole", __base__=Catalogue, models=(found, ...))
    return whole.faults(node, "", path)


def model_names() -> list[str]:
    """Every model there is, chosen or not."""
    return [module.name for module in pkgutil.iter_modules(models.__path__) if module.name != "interface"]


def size(model: ModuleType) -> type[Section]:
    """The class of section `models.<model>.<size>`."""
    return create_model("Size", __base__=Section, arch=(model.Arch, ...), learning=(Learning, ...))


def choice_faults(node: dict[str, Any], path: Path) -> Iterator[str]:
    """Names of `build` that the catalogue does not hold, and systems that cannot be built."""
    if next(Build.faults(node.get("build"), "build", path), None):
        return
    build = Build.model_validate(node["build"])
    catalogue = {name: mapping(node, name) for name in ("corpora", "vocabularies", "models")}
    for section, known in catalogue.items():
        for name in getattr(build, section):
            if name not in known:
                one = {"corpora": "corpus", "vocabularies": "vocabulary", "models": "model"}[section]
                yield f"{path}: build.{section}: unknown {one}, got {name!r}{nearest(name, map(str, known))}"
    for model in filter(catalogue["models"].__contains__, build.models):
        known = mapping(catalogue["models"], model)
        for name in build.sizes:
            if name not in known:
                yield f"{path}: build.sizes: unknown size of {model}, got {name!r}{nearest(name, map(str, known))}"
            elif mapping(known, name, "arch").get("tied_embeddings") == "all":
                yield from tie_faults(f"{model} {name}", build.vocabularies, catalogue["vocabularies"], path)


def tie_faults(model: str, chosen: list[str], vocabularies: dict[str, Any], path: Path) -> Iterator[str]:
    """Chosen vocabularies that have two sets of embeddings, of which `model` has one."""
    for name in chosen:
        about = mapping(vocabularies, name)
        if about.get("joint") is False or about.get("kind") == "word":
            yield (
                f"{path}: build: {model} ties source and target embeddings, which {name} does not share; "
                "expected a joint vocabulary or tied_embeddings: none|output"
            )


def share_faults(node: dict[str, Any], path: Path) -> Iterator[str]:
    """Corpora whose `split` does not carve just those parts that their `download` does not bring."""
    for name in mapping(node, "corpora"):
        download, split = mapping(node, "corpora", name, "download"), mapping(node, "corpora", name, "split")
        if any((*Download.faults(download, ""), *Splitting.faults(split, ""))):
            continue
        try:
            check_shares(Splitting.model_validate(split), download["parts"], f"corpora.{name}.split")
        except ParamsError as error:
            yield str(error)


def local_faults(node: dict[str, Any], path: Path) -> Iterator[str]:
    """The user's own files that DVC does not watch."""
    for name in mapping(node, "corpora"):
        download = mapping(node, "corpora", name, "download")
        if not any(Download.faults(download, "")):
            found = local.faults(Download.model_validate(download))
            yield from (f"{path}: corpora.{name}.download.{fault}" for fault in found)


def average_faults(node: dict[str, Any], path: Path) -> Iterator[str]:
    """Averages of more checkpoints than a training on the corpus keeps, and of sizes that no model has."""
    models, build = mapping(node, "models"), mapping(node, "build")
    sizes = {str(size) for model in models for size in mapping(models, model)}
    all_known = all(isinstance(sizes_of, dict) for sizes_of in models.values())
    for name in mapping(node, "corpora"):
        own = mapping(node, "corpora", name, "average")
        for size in own:
            if all_known and size not in sizes:
                yield f"{path}: corpora.{name}.average: unknown size, got {size!r}{nearest(str(size), sizes)}"
        wanted = {f"corpora.{name}.average.{size}": number for size, number in own.items()}
        if name in sequence(build, "corpora") and set(sequence(build, "sizes")) - set(own):
            wanted["average.checkpoints"] = mapping(node, "average").get("checkpoints")
        kept = mapping(node, "corpora", name, "training").get("last_checkpoints")
        for where, number in wanted.items():
            if isinstance(number, int) and isinstance(kept, int) and number > kept:
                yield f"{path}: {where}: must not exceed corpora.{name}.training.last_checkpoints {kept}, got {number}"


def sequence(node: dict[str, Any], name: str) -> list[str]:
    """The names in the list at `name`, where that is one; else, and its fault is named elsewhere, none."""
    found = node.get(name)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def mapping(node: Any, *names: str) -> dict[str, Any]:
    """What stands below `names`, where that is a mapping; else, and its fault is named elsewhere, an empty one."""
    for name in names:
        node = node.get(name) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}
