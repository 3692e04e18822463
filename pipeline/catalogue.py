"""Checks all of `params.yaml` and `corpora/*.yaml` at once: each section by its class, then what must agree."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NamedTuple

from pydantic import Field, create_model

from pipeline.averaging import Averaging
from pipeline.corpora import local
from pipeline.corpora.sources import Download, Text
from pipeline.decoding.attending import Attending
from pipeline.decoding.translate import Decoding
from pipeline.encoding.budget import Training
from pipeline.ensembles import Ensembles, Pair
from pipeline.evaluation.pages import Report
from pipeline.evaluation.scores import Scoring
from pipeline.models import interface
from pipeline.params import DEFAULT, PATH, Node, ParamsError, Section, fields, nearest, partial, read_yaml
from pipeline.preparation.cleaning import Cleaning
from pipeline.preparation.splits import Decontamination, Splitting, check_shares
from pipeline.system import AXES, Build, Distillation, Name, corpus_file
from pipeline.training.learning import Learning
from pipeline.vocabularies.subwords import Subwords
from pipeline.vocabularies.words import Words

CORPORA = Path("corpora")
CorpusCleaning = partial(Cleaning)
CorpusSplitting = partial(Splitting, required=("carve_by", "validation_share", "test_share"))
CorpusDecoding = partial(Decoding)
CorpusTraining = partial(Training)


class CorpusFile(Download):
    """`corpora/<corpus>.yaml`: `clean`, `split` and `decode` hold the keys that differ from `params.yaml`."""

    licence: Text
    clean: CorpusCleaning  # type: ignore[valid-type]
    split: CorpusSplitting  # type: ignore[valid-type]
    decode: CorpusDecoding  # type: ignore[valid-type]


class Params(Section):
    """All of `params.yaml`; `whole` adds the models."""

    build: Build
    clean: Cleaning
    split: Decontamination
    distill: Distillation
    training: dict[Name, CorpusTraining]  # type: ignore[valid-type]
    vocabularies: dict[Name, Annotated[Subwords | Words, Field(discriminator="kind")]]
    average: dict[Name, Averaging]
    decode: Decoding
    ensembles: Ensembles
    score: Scoring
    attend: Attending
    report: Report


class Project(NamedTuple):
    """The content of the files, right or wrong."""

    params: dict[str, Any]
    corpora: dict[str, dict[str, Any]]  # the content of each corpus's file, by the corpus's name


Faults = Callable[[Project], Iterator[str]]


def check() -> None:
    """Check all the files of the working directory.

    Raises: ParamsError listing every fault.
    """
    corpora, found = {}, []
    params = read_yaml(PATH)
    for name in corpus_names():
        try:
            corpora[name] = read_yaml(corpus_file(name))
        except ParamsError as error:
            found.append(str(error))
    project = Project(params, corpora)
    kinds: tuple[Faults, ...] = (
        *(shape_faults, merged_faults, choice_faults, seed_faults, teacher_faults),
        *(reference_faults, ensemble_faults, share_faults, local_faults, average_faults),
    )
    found += [line for faults in kinds for line in faults(project)]
    if found:
        raise ParamsError("\n".join(dict.fromkeys(found)))


def corpus_names() -> list[str]:
    """Every corpus that has a file, chosen or not; hidden files are those of editors."""
    return sorted(path.stem for path in CORPORA.glob("[!.]*.yaml"))


def whole() -> type[Section]:
    """The class of all of `params.yaml`."""
    sizes: dict[str, Any] = {name: (dict[Name, size(interface.find(name))], {}) for name in interface.names()}  # type: ignore[misc]
    found: type[Section] = create_model("Models", __base__=Section, **sizes)
    return create_model("Whole", __base__=Params, models=(found, ...))


def size(model: ModuleType) -> type[Section]:
    """The class of section `models.<model>.<size>`: the keys of the architecture and of learning."""
    keys = {**partial(model.Arch).model_fields, **partial(Learning).model_fields}
    given: dict[str, Any] = {name: (field.annotation, field) for name, field in keys.items()}
    return create_model("Size", __base__=Section, **given)


def shape_faults(project: Project) -> Iterator[str]:
    """Unknown, missing and wrong keys and values, by the class of each section; and names that cannot be paths."""
    params = whole()
    yield from file_faults(params, project.params, PATH, CorpusFile, "corpora/<corpus>.yaml")
    for name, node in project.corpora.items():
        yield from file_faults(CorpusFile, node, corpus_file(name), params, PATH)
        if next(NamedFile.details({"name": name}), None):
            yield f"{corpus_file(name)}: must be named in letters, digits and underscores, got {name!r}"
    if DEFAULT in project.corpora:
        yield f"{corpus_file(DEFAULT)}: no corpus can have this name, which stands for the values of all in `training`"


def file_faults(
    kind: type[Section], node: dict[str, Any], path: Path, other: type[Section], home: Path | str
) -> Iterator[str]:
    """The faults of a whole file of class `kind`; an unknown key that class `other` has belongs in the file `home`."""
    for keys, what in kind.details(node):
        if what.startswith("unknown key") and has_key(other, keys):
            what = f"unknown key; it belongs in {home}"
        yield f"{path}: {'.'.join(keys)}: {what}"


def has_key(kind: Any, keys: list[str]) -> bool:
    """Whether a file of class `kind` has a key at this place."""
    for key in keys:
        if key not in fields(kind):
            return False
        kind = fields(kind)[key].annotation
    return True


class NamedFile(Section):
    """The name of a corpus."""

    name: Name


def merged_faults(project: Project) -> Iterator[str]:
    """Faults that remain after the keys of a corpus or a size have replaced the defaults."""
    training = mapping(project.params, "training")
    if training and DEFAULT not in training:
        yield f"{PATH}: training.{DEFAULT}: is missing; expected the values that a corpus may replace, {{}} for none"
    for name in of_mappings(training):
        yield from Training.merged_faults(nodes(project.params, f"training.{DEFAULT}", f"training.{name}"))
    for name, node in project.corpora.items():
        for key, kind in (("clean", Cleaning), ("split", Splitting), ("decode", Decoding)):
            own = Node(mapping(node, key), key, corpus_file(name))
            if isinstance(project.params.get(key), dict) and isinstance(node.get(key), dict):
                yield from kind.merged_faults([*nodes(project.params, key), own])
    for model in filter(mapping(project.params, "models").__contains__, interface.names()):
        yield from model_faults(project.params, model)


def model_faults(params: dict[str, Any], model: str) -> Iterator[str]:
    """The same of every size of a model."""
    where = f"models.{model}"
    sizes = mapping(params, "models", model)
    if sizes and DEFAULT not in sizes:
        yield f"{PATH}: {where}.{DEFAULT}: is missing; expected the values that a size may replace, {{}} for none"
    for name in of_mappings(sizes):
        both = nodes(params, f"{where}.{DEFAULT}", f"{where}.{name}")
        for kind in (interface.find(model).Arch, Learning):
            yield from kind.merged_faults([node.only(kind.model_fields) for node in both])
        keys = both[0].value | both[1].value
        if keys.get("r_drop") and not any(value for key, value in keys.items() if str(key).endswith("dropout")):
            yield f"{PATH}: {where}.{name}.r_drop: has no effect without dropout, got {keys['r_drop']}; expected 0.0"


def of_mappings(section: dict[str, Any]) -> list[str]:
    """The names in a section to which its default applies; `shape_faults` names those that are no mappings."""
    if not isinstance(section.get(DEFAULT, {}), dict):
        return []
    return [name for name, node in section.items() if name != DEFAULT and isinstance(node, dict)]


def nodes(params: dict[str, Any], *names: str) -> list[Node]:
    """Sections of `params.yaml` by their dotted names; an empty one for each that the file lacks."""
    return [Node(mapping(params, *name.split(".")), name, PATH) for name in names]


def choice_faults(project: Project) -> Iterator[str]:
    """Unknown names in `build`, and systems that cannot be built."""
    build = chosen(project)
    if not build:
        return
    vocabularies, sizes_of = mapping(project.params, "vocabularies"), mapping(project.params, "models")
    kinds = {"corpora": ("corpus", corpus_names()), "vocabularies": ("vocabulary", vocabularies)}
    for section, (one, known) in {**kinds, "models": ("model", sizes_of)}.items():
        for name in getattr(build, section):
            if name not in known:
                yield f"{PATH}: build.{section}: unknown {one}, got {name!r}{nearest(name, map(str, known))}"
    training = mapping(project.params, "training")
    for name in filter(project.corpora.__contains__, build.corpora):
        if name not in training:
            yield f"{PATH}: training.{name}: is missing; expected the keys that differ from training.{DEFAULT}, or {{}}"
    for model in filter(sizes_of.__contains__, build.models):
        known = {name: node for name, node in mapping(sizes_of, model).items() if name != DEFAULT}
        for name in build.sizes:
            if name not in known:
                yield f"{PATH}: build.sizes: unknown size of {model}, got {name!r}{nearest(name, map(str, known))}"
            elif (mapping(sizes_of, model, DEFAULT) | mapping(known, name)).get("tied_embeddings") == "all":
                yield from tie_faults(f"{model} {name}", build.vocabularies, vocabularies)


def seed_faults(project: Project) -> Iterator[str]:
    """Further seeds that a chosen corpus is trained with anyway."""
    build = chosen(project)
    for corpus in build.corpora if build else ():
        default, own = (mapping(project.params, "training", one) for one in (DEFAULT, corpus))
        seed = (default | own).get("seed")
        if build and seed in build.more_seeds:
            where = f"training.{corpus if 'seed' in own else DEFAULT}.seed"
            yield f"{PATH}: build.more_seeds: must differ from {where} of {corpus}, got {seed}; expected other seeds"


def teacher_faults(project: Project) -> Iterator[str]:
    """Teachers and taught corpora that `build` does not choose, and teachers that would wait for themselves."""
    build, distill = chosen(project), distillation(project)
    if not build or not distill:
        return
    teachers = distill.teachers
    for taught, teacher in teachers.items():
        where = f"{PATH}: distill.teachers.{taught}"
        if taught not in build.corpora:
            yield f"{where}: not in build.corpora, got {taught!r}{nearest(taught, build.corpora)}"
        for section, axis in AXES.items():
            name, chosen_names = getattr(teacher, axis), getattr(build, section)
            if name not in chosen_names:
                yield f"{where}.{axis}: not in build.{section}, got {name!r}{nearest(name, chosen_names)}"
        got, expected = (languages(project, corpus) for corpus in (teacher.corpus, taught))
        if got and expected and got != expected:
            yield f"{where}.corpus: translates {got}, got {teacher.corpus!r}; expected a corpus of {expected}"
        line = [taught]
        while line[-1] in teachers and len(line) <= len(teachers):
            line.append(teachers[line[-1]].corpus)
        if taught in line[1:]:
            yield f"{where}: its teacher is trained on {taught!r} in the end; expected a teacher from another corpus"


def reference_faults(project: Project) -> Iterator[str]:
    """Corpora that keep their references although no teacher replaces them."""
    distill = distillation(project)
    if not distill:
        return
    for name in distill.keep_references:
        if name not in distill.teachers:
            expected = nearest(name, distill.teachers) or "; expected a name in distill.teachers"
            yield f"{PATH}: distill.keep_references: has no teacher, got {name!r}{expected}"


def languages(project: Project, corpus: str) -> str:
    """The languages of a corpus, as `fr-en`; empty if its file does not say, which `shape_faults` names."""
    facts = project.corpora.get(corpus, {})
    found = [facts.get(f"{side}_language") for side in ("source", "target")]
    return "-".join(map(str, found)) if all(found) else ""


def ensemble_faults(project: Project) -> Iterator[str]:
    """Ensembles of systems that `build` does not choose, of one alone, or whose files others would overwrite."""
    build, node = chosen(project), mapping(project.params, "ensembles", "pairs")
    systems = [system.id for system in build.all_systems()] if build else []
    for name, about in node.items() if build else ():
        where = f"{PATH}: ensembles.pairs.{name}"
        if name in project.corpora:
            yield f"{where}: must not have the name of a corpus, got {name!r}; expected another name"
        if any(Pair.faults(about, "")):
            continue  # `shape_faults` names them
        pair = Pair.model_validate(about)
        for key, system in zip(("first", "second"), pair.systems, strict=True):
            if system.id not in systems:
                yield f"{where}.{key}: not a system of `build`, got {system.id!r}{nearest(system.id, systems)}"
        if pair.first == pair.second:
            yield f"{where}: must be two systems, got {pair.first!r} twice"


def tie_faults(model: str, chosen: list[str], vocabularies: dict[str, Any]) -> Iterator[str]:
    """Chosen vocabularies that need two sets of embeddings, although `model` has one."""
    for name in chosen:
        about = mapping(vocabularies, name)
        if about.get("joint") is False or about.get("kind") == "word":
            yield (
                f"{PATH}: build: {model} ties source and target embeddings, which {name} does not share; "
                "expected a joint vocabulary or tied_embeddings: none|output"
            )


def share_faults(project: Project) -> Iterator[str]:
    """Corpora whose `split` carves a part that they bring, or does not carve one that they lack."""
    for name, node in project.corpora.items():
        both = [*nodes(project.params, "split"), Node(mapping(node, "split"), "split", corpus_file(name))]
        if downloads(node) and not any(Splitting.merged_faults(both)):
            try:
                check_shares(Splitting.merged(both), node["parts"], f"{corpus_file(name)}: split")
            except ParamsError as error:
                yield str(error)


def local_faults(project: Project) -> Iterator[str]:
    """The user's own files that DVC does not watch."""
    for name, node in project.corpora.items():
        if download := downloads(node):
            yield from (f"{corpus_file(name)}: {fault}" for fault in local.faults(download))


def downloads(node: dict[str, Any]) -> Download | None:
    """The languages and parts of a corpus's file; None if they have faults, which `shape_faults` names."""
    own = {key: node[key] for key in Download.model_fields if key in node}
    return None if any(Download.faults(own, "")) else Download.model_validate(own)


def average_faults(project: Project) -> Iterator[str]:
    """Sizes without a number of checkpoints to average, and numbers greater than a chosen corpus's training keeps."""
    build, average = chosen(project), mapping(project.params, "average")
    models = mapping(project.params, "models").values()
    sizes = list(dict.fromkeys(str(size) for model in models for size in mapping(model) if size != DEFAULT))
    for name in sizes:
        if name not in average:
            yield f"{PATH}: average.{name}: is missing; expected a number of checkpoints for each size"
    for name in average if all(isinstance(model, dict) for model in models) else ():
        if name not in sizes:
            yield f"{PATH}: average: unknown size, got {name!r}{nearest(str(name), sizes)}"
    for corpus in build.corpora if build else ():
        default, own = (mapping(project.params, "training", one) for one in (DEFAULT, corpus))
        kept = (default | own).get("last_checkpoints")
        where = f"training.{corpus if 'last_checkpoints' in own else DEFAULT}.last_checkpoints"
        for name in build.sizes if build else ():
            number = mapping(average, name).get("checkpoints")
            if isinstance(number, int) and isinstance(kept, int) and number > kept:
                yield f"{PATH}: average.{name}.checkpoints: must not exceed {where} {kept}, got {number}"


def chosen(project: Project) -> Build | None:
    """Section `build`; None if it has faults, which `shape_faults` names."""
    node = project.params.get("build")
    return None if any(Build.faults(node, "build")) else Build.model_validate(node)


def distillation(project: Project) -> Distillation | None:
    """Section `distill`; None if it has faults, which `shape_faults` names."""
    node = project.params.get("distill")
    return None if any(Distillation.faults(node, "distill")) else Distillation.model_validate(node)


def mapping(node: Any, *names: str) -> dict[str, Any]:
    """The mapping below `names`; an empty one if there is none, a fault that `shape_faults` names."""
    for name in names:
        node = node.get(name) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}
