"""All of `params.yaml`, `configs/*.yaml` and `corpora/*.yaml`: what a system gets, and every fault at once."""

import os
import re
from collections.abc import Iterator
from itertools import filterfalse, product
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, NamedTuple

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from ..averaging.checkpoints import Averaging
from ..common.files import DataError
from ..common.params import NAME, PATH, Node, ParamsError, Section, joined, name_faults, nearest, read_yaml
from ..common.system import Build, Name, System, config_file, corpus_file
from ..corpora.importers import local
from ..corpora.importers.interface import NonEmpty
from ..corpora.sources import Download
from ..decoding.attending import Attending
from ..decoding.settings import Decoding
from ..evaluation.settings import Scoring
from ..models import interface
from ..packaging import start
from ..packaging.start import Starting
from ..packaging.vocabulary import Packaged
from ..preparation import cleaning
from ..preparation.cleaning import Cleaning
from ..preparation.splits import Splitting, check_shares
from ..report.sentences import Report
from ..training.budget import Training
from ..training.learning import Overriding, model_nodes, model_section
from ..training.mixture import Mixing
from ..vocabularies.samples import Tagging
from ..vocabularies.subwords import Subwords
from ..vocabularies.words import Words

CORPORA = Path("corpora")
SHARED = "shared"  # keys of a model that all its sizes have


class Params(Section):
    """`params.yaml`: what is built, and how."""

    build: Build
    clean: Cleaning
    split: Splitting
    vocabularies: dict[Name, Annotated[Subwords | Words | Packaged, Field(discriminator="kind")]]
    training: Training
    average: Averaging
    decode: Decoding
    score: Scoring
    attend: Attending
    report: Report


def partial(kind: type[Section]) -> type[Section]:
    """A class with the keys and types of `kind`, each of which may be left out."""
    keys: dict[str, Any] = {
        name: (field.annotation, FieldInfo.merge_field_infos(field, default=None))
        for name, field in kind.model_fields.items()
    }
    return create_model(f"Partial{kind.__name__}", __base__=Section, __doc__=kind.__doc__, **keys)


# Sections of params.yaml that a corpus may override, key by key.
OVERRIDABLE: dict[str, Any] = {
    name: Params.model_fields[name].annotation for name in ("clean", "split", "training", "average", "decode", "score")
}
OVERRIDES: dict[str, Any] = {name: partial(kind) for name, kind in OVERRIDABLE.items()}
by_bitext: Any = GenericAlias(dict, (str, OVERRIDES["clean"]))
OVERRIDES["clean"] = create_model("Cleaning", __base__=OVERRIDES["clean"], of=(by_bitext, Field(default={})))
# `corpora/<corpus>.yaml`: what a corpus is, and the keys of params.yaml that it overrides; {} for none.
BASES = (Download, Tagging, Mixing, Starting, Overriding)
Corpus = create_model("Corpus", __base__=BASES, licence=(NonEmpty, ...), **OVERRIDES)


class Project(NamedTuple):
    """The content of the files, right or wrong."""

    params: dict[str, Any]
    corpora: dict[str, dict[str, Any]]  # by the corpus's name
    configs: dict[str, dict[str, Any]]  # by the model's name


def check() -> None:
    """Check all the files of the working directory, each by itself; if all are right, then whether they fit together.

    Raises: ParamsError listing every fault.
    """
    faults: list[str] = []

    def read(path: Path) -> dict[str, Any]:
        try:
            return read_yaml(path)
        except ParamsError as error:
            faults.append(str(error))
            return {}

    models = [name for name in interface.names() if config_file(name).exists()]
    project = Project(
        params=read(PATH),
        corpora={name: read(corpus_file(name)) for name in corpus_names()},
        configs={name: read(config_file(name)) for name in models},
    )
    for kinds in ((file_faults, config_faults), (corpus_faults, choice_faults)):
        faults += [fault for kind in kinds for fault in kind(project)]
        if faults:
            raise ParamsError("\n".join(dict.fromkeys(faults)))


def file_faults(project: Project) -> Iterator[str]:
    """Unknown, missing and wrong keys of params.yaml and of every corpus's file, and bad names of these files."""
    yield from Params.faults(project.params, "", PATH) if project.params else ()
    for name, content in project.corpora.items():
        path = corpus_file(name)
        yield from Corpus.faults(content, "", path) if content else ()
        if not re.fullmatch(NAME, name):
            yield f"{path}: must be named in letters, digits and underscores, got {name!r}"


def config_faults(project: Project) -> Iterator[str]:
    """Faults of the sizes of every model: a key stands in `shared` or in every size, and has a value of its type."""
    for model, content in project.configs.items():
        path, shared = config_file(model), content.get(SHARED)
        if content and not isinstance(shared, dict):
            yield f"{path}: {SHARED}: is missing; expected the keys that all sizes have, {{}} for none"
            continue
        kind = model_section(interface.find(model))
        for size in sizes_of(content):
            nodes = [Node(content[name], name, path) for name in (SHARED, size)]
            for key in content[SHARED].keys() & content[size].keys():
                yield f"{path}: {size}.{key}: stands in {SHARED} too; expected it there or in every size"
            yield from kind.merged_faults(nodes)
            values = joined(nodes)
            if values.get("r_drop") and not any(values[key] for key in values if str(key).endswith("dropout")):
                yield f"{path}: {size}.r_drop: has no effect without dropout, got {values['r_drop']}"


def corpus_faults(project: Project) -> Iterator[str]:
    """Faults of a corpus's sections in place of those of params.yaml; `split` must carve the parts that it lacks."""
    for name, content in project.corpora.items():
        path = corpus_file(name)
        for section, kind in OVERRIDABLE.items():
            if section != "clean":
                yield from kind.merged_faults(overridden(project, section, name))
        page, own = overridden(project, "clean", name)
        download = Download.model_validate({key: content[key] for key in Download.model_fields})
        for source in (*download.bitexts.values(), *download.parts.values()):
            if isinstance(source, local.Source) and name in project.params["build"]["corpora"]:
                for missing in filterfalse(os.path.isfile, source.files):
                    yield f"{path}: parts: no such file, got {missing}; expected one in {local.FOLDER}/"
        try:
            cleaning.sections(page, own, download.bitexts)
        except ParamsError as error:
            yield from str(error).splitlines()
        yield from name_faults(content["tags"], download.bitexts, f"{path}: tags")
        carve_from = joined(overridden(project, "split", name))["carve_from"]
        yield from name_faults(carve_from, download.bitexts, f"{path}: split.carve_from")
        yield from Mixing(mixture=content["mixture"]).bitext_faults(download.bitexts, f"{path}: mixture")
        for model, keys in content["models"].items():
            if model not in project.configs:
                yield f"{path}: models.{model}: no such model{nearest(model, project.configs)}"
            config, own = project.configs.get(model, {}), Node(keys, f"models.{model}", path)
            for size in sizes_of(config):
                nodes = [Node(config[key], key, config_file(model)) for key in (SHARED, size)]
                yield from model_section(interface.find(model)).merged_faults([*nodes, own])
        try:
            check_shares(Splitting.merged(overridden(project, "split", name)), content["parts"], f"{path}: split")
        except ParamsError as error:
            yield from str(error).splitlines()


def overridden(project: Project, section: str, corpus: str) -> list[Node]:
    """A section of params.yaml, then that of a corpus, whose keys replace those before."""
    own = Node(project.corpora[corpus][section], section, corpus_file(corpus))
    return [Node(project.params[section], section, PATH), own]


def choice_faults(project: Project) -> Iterator[str]:
    """Unknown names in `build`, and systems that cannot be built."""
    build, vocabularies = Build.model_validate(project.params["build"]), project.params["vocabularies"]
    known = {"corpora": project.corpora, "vocabularies": vocabularies, "models": project.configs}
    for axis, names in known.items():
        for name in getattr(build, axis):
            if name not in names:
                yield f"{PATH}: build.{axis}: unknown name, got {name!r}{nearest(name, map(str, names))}"
    for model, size in product(filter(project.configs.__contains__, build.models), build.sizes):
        content = project.configs[model]
        sizes = sizes_of(content)
        if size not in sizes:
            yield f"{PATH}: build.sizes: unknown size of {model}, got {size!r}{nearest(size, sizes)}"
        elif (content[SHARED] | content[size]).get("tied_embeddings") == "all":
            for name in filter(vocabularies.__contains__, build.vocabularies):
                if not vocabularies[name].get("joint") and vocabularies[name]["kind"] != "package":
                    yield (
                        f"{PATH}: build: {model} {size} ties source and target embeddings, which {name} does not "
                        "share; expected a joint vocabulary or tied_embeddings: none|output"
                    )
    for corpus in filter(project.corpora.__contains__, build.corpora):
        starts = bool(project.corpora[corpus]["start"])
        kinds = [vocabularies[name]["kind"] for name in build.vocabularies if name in vocabularies]
        yield from filter(None, (start.vocabulary_fault(corpus, kind, starts=starts) for kind in kinds))
        try:
            start.load(corpus, build.models)
        except (DataError, ParamsError) as error:
            yield str(error)
        kept = joined(overridden(project, "training", corpus))["last_checkpoints"]
        if (number := joined(overridden(project, "average", corpus))["checkpoints"]) > kept:
            where = f"{PATH}: average.checkpoints of {corpus}"
            yield f"{where}: must not exceed training.last_checkpoints {kept}, got {number}"


def corpus_names() -> list[str]:
    """Every corpus that has a file, chosen or not; hidden files are those of editors."""
    return sorted(path.stem for path in CORPORA.glob("[!.]*.yaml"))


def sizes_of(content: dict[str, Any]) -> list[str]:
    """The sizes in a file of configs/."""
    return [str(name) for name, section in content.items() if name != SHARED and isinstance(section, dict)]


def sections(system: System) -> dict[str, dict[str, Any]]:
    """All that a system gets, section by section, with its corpus's keys in place of those of params.yaml.

    Raises: ParamsError if a file or a section is missing.
    """
    corpus = corpus_file(system.corpus)
    get = {name: [name, f"{corpus}:{name}"] if name in OVERRIDABLE else [name] for name in Params.model_fields}
    del get["build"]
    get["vocabularies"] = [f"vocabularies.{system.vocabulary}"]
    values = {name: joined([Node.read(place) for place in places]) for name, places in get.items()}
    return values | {system.model: joined(model_nodes(system, start.load(system.corpus, [system.model])))}
