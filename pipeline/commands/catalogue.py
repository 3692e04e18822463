"""All of `params.yaml`, `configs/*.yaml` and `corpora/*.yaml`: what a system gets, and every fault at once."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NamedTuple

from pydantic import Field, create_model

from ..averaging.checkpoints import Averaging
from ..common.params import NAME, PATH, Node, ParamsError, Section, joined, nearest, partial, read_yaml
from ..common.system import Build, Name, System, config_file, corpus_file
from ..corpora.importers.interface import NonEmpty
from ..corpora.sources import Download
from ..decoding.attending import Attending
from ..decoding.settings import Decoding
from ..evaluation.settings import Scoring
from ..models import interface
from ..preparation.cleaning import Cleaning
from ..preparation.splits import Splitting, check_shares
from ..report.sentences import Report
from ..training.budget import Training
from ..training.learning import Learning
from ..vocabularies.subwords import Subwords
from ..vocabularies.words import Words

CORPORA = Path("corpora")
SHARED = "shared"  # keys of a model that all its sizes have
# Sections of params.yaml that a corpus may override, key by key.
OVERRIDABLE: dict[str, type[Section]] = {
    "clean": Cleaning,
    "split": Splitting,
    "training": Training,
    "average": Averaging,
    "decode": Decoding,
    "score": Scoring,
}


class Params(Section):
    """`params.yaml`: what is built, and how."""

    build: Build
    clean: Cleaning
    split: Splitting
    vocabularies: dict[Name, Annotated[Subwords | Words, Field(discriminator="kind")]]
    training: Training
    average: Averaging
    decode: Decoding
    score: Scoring
    attend: Attending
    report: Report


class CorpusFile(Download):
    """`corpora/<corpus>.yaml`: what a corpus is, and the keys of params.yaml that it overrides; {} for none."""

    licence: NonEmpty


OVERRIDES: dict[str, Any] = {name: partial(kind) for name, kind in OVERRIDABLE.items()}
Corpus = create_model("Corpus", __base__=CorpusFile, **OVERRIDES)


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
    project = Project(
        params=read([PATH], faults)[PATH.stem],
        corpora=read([corpus_file(name) for name in corpus_names()], faults),
        configs=read([path for path in map(config_file, interface.names()) if path.exists()], faults),
    )
    for kinds in ((file_faults, config_faults), (corpus_faults, choice_faults)):
        for kind in kinds:
            faults += kind(project)
        if faults:
            raise ParamsError("\n".join(dict.fromkeys(faults)))


def read(paths: list[Path], faults: list[str]) -> dict[str, dict[str, Any]]:
    """The content of each file by its stem; a file that cannot be read is empty, and a line of `faults`."""
    content: dict[str, dict[str, Any]] = {}
    for path in paths:
        try:
            content[path.stem] = read_yaml(path)
        except ParamsError as error:
            faults.append(str(error))
            content[path.stem] = {}
    return content


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
        for size in sizes_of(content):
            both = [Node(content[name], name, path) for name in (SHARED, size)]
            for key in both[0].value.keys() & both[1].value.keys():
                yield f"{path}: {size}.{key}: stands in {SHARED} too; expected it there or in every size"
            yield from size_faults(interface.find(model), both)


def size_faults(module: ModuleType, both: list[Node]) -> Iterator[str]:
    """The faults of one size: each key belongs to the architecture or to learning."""
    kinds = (module.Arch, Learning)
    known = [key for kind in kinds for key in kind.model_fields]
    for node in both:
        for key in node.value.keys() - known:
            yield f"{node.path}: {node.name}.{key}: unknown key{nearest(str(key), known)}"
    for kind in kinds:
        yield from kind.merged_faults([node.only(kind.model_fields) for node in both])
    values = joined(both)
    if values.get("r_drop") and not any(value for key, value in values.items() if str(key).endswith("dropout")):
        yield f"{both[1].path}: {both[1].name}.r_drop: has no effect without dropout, got {values['r_drop']}"


def corpus_faults(project: Project) -> Iterator[str]:
    """Corpora whose local files are missing, or whose sections have faults once they override those of params.yaml.

    `split` must carve the parts that a corpus lacks, and none that it brings.
    """
    for name, content in project.corpora.items():
        path = corpus_file(name)
        download = Download.model_validate({key: content[key] for key in Download.model_fields})
        for part, source in download.parts.items():
            yield from (f"{path}: parts.{part}: {fault}" for fault in source.unwatched())
        for section, kind in OVERRIDABLE.items():
            yield from kind.merged_faults(overridden(project, section, name))
        both = overridden(project, "split", name)
        if not any(Splitting.merged_faults(both)):
            try:
                check_shares(Splitting.merged(both), content["parts"], f"{path}: split")
            except ParamsError as error:
                yield str(error)


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
    for model in filter(project.configs.__contains__, build.models):
        content = project.configs[model]
        for size in build.sizes:
            if size not in sizes_of(content):
                yield f"{PATH}: build.sizes: unknown size of {model}, got {size!r}{nearest(size, sizes_of(content))}"
            elif (content[SHARED] | content[size]).get("tied_embeddings") == "all":
                for name in filter(vocabularies.__contains__, build.vocabularies):
                    if not vocabularies[name].get("joint"):
                        yield (
                            f"{PATH}: build: {model} {size} ties source and target embeddings, which {name} does not "
                            "share; expected a joint vocabulary or tied_embeddings: none|output"
                        )
    for corpus in filter(project.corpora.__contains__, build.corpora):
        kept = joined(overridden(project, "training", corpus))["last_checkpoints"]
        if (number := joined(overridden(project, "average", corpus))["checkpoints"]) > kept:
            what = f"must not exceed training.last_checkpoints {kept}, got {number}"
            yield f"{PATH}: average.checkpoints of {corpus}: {what}"


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
    corpus, config = corpus_file(system.corpus), config_file(system.model)
    get = {name: [name, f"{corpus}:{name}"] if name in OVERRIDABLE else [name] for name in Params.model_fields}
    del get["build"]
    get["vocabularies"] = [f"vocabularies.{system.vocabulary}"]
    values = {name: joined([Node.read(place) for place in places]) for name, places in get.items()}
    return values | {system.model: joined([Node.read(f"{config}:{name}") for name in (SHARED, system.size)])}
