"""Packaged systems as MLflow models made from code, and which version of a corpus is its champion."""

import contextlib
import importlib.metadata
import itertools
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline import files
from pipeline.system import System
from pipeline.tracking import notes

if TYPE_CHECKING:
    from mlflow.models import Model

CHAMPION = "champion"  # the alias of the version with the best validation BLEU
DIGEST, COMPARABLE, BLEU = "nmt.digest", "nmt.validation", "validation_bleu"  # tags of a version
CROWNED = "nmt.champion"  # tag of a registered model: the version that we made champion, while no user has moved it
# What loading and translating imports; the model gets the versions that are installed here.
REQUIRED = (
    *("mlflow", "numpy", "pandas", "pydantic", "rich", "ruamel.yaml", "ruamel.yaml.clib", "sacremoses"),
    *("safetensors", "sentencepiece", "torch"),
)
CODE = Path(__file__).parents[1]  # our package, copied into each model: one needs no wheel, and keeps its own code
SERVED = Path(__file__).with_name("served.py")
SCRATCH = ("__pycache__", "*.pyc")


class About(NamedTuple):
    """What the stage knows of a packaged system besides its folder."""

    split: Path  # the corpus's sentences: validation scores on others cannot be compared
    validation_sentences: int  # how many of its validation part were translated

    @property
    def comparable(self) -> str:
        """The same for systems that were validated on the same sentences."""
        sums = files.sha256(self.split / "validation.source.txt", self.split / "validation.target.txt")
        return f"{sums[:16]}, {self.validation_sentences} sentences"

    def examples(self) -> list[str]:
        """Two sentences to try a model with."""
        return list(itertools.islice(files.read_lines(self.split / "validation.source.txt"), 2))


class Packaged(NamedTuple):
    """A packaged system as the registry sees it."""

    folder: Path
    config: Mapping[str, Any]  # its config.json
    about: About

    @classmethod
    def read(cls, folder: Path, about: About) -> "Packaged":
        """The system in a folder."""
        return cls(folder, files.read_json(folder / "config.json"), about)

    @property
    def name(self) -> str:
        """The registered model that it is a version of."""
        return str(self.config["corpus"])

    @property
    def digest(self) -> str:
        """The SHA-256 sum of its list of SHA-256 sums: the same for the same bytes."""
        return files.sha256(self.folder / "checksums.json")

    @property
    def tags(self) -> dict[str, str]:
        """What tells its version from others: the system, its scores, its bytes."""
        axes = ("system", "vocabulary", "model", "size")
        scores = {f"{part}/{name}": value for part, by in self.config["scores"].items() for name, value in by.items()}
        if BLEU in self.config["validation"]:
            scores[BLEU] = self.config["validation"][BLEU]
        return {
            **{name: str(self.config[name]) for name in axes},
            **{name: f"{value:g}" for name, value in scores.items()},
            DIGEST: self.digest,
            COMPARABLE: self.about.comparable,
        }


def requirements() -> list[str]:
    """What a served model needs, in the versions of this environment; a build of torch is not named: `2.9.0`."""
    return [f"{name}=={importlib.metadata.version(name).partition('+')[0]}" for name in REQUIRED]


def save(packaged: Packaged, folder: Path, model: "Model") -> None:
    """Write an MLflow model into `folder`, which must not exist yet; `model` holds its ids."""
    import mlflow.pyfunc
    import pandas
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema

    decoding = packaged.config["decoding"]
    beam_size = ParamSpec("beam_size", DataType.long, int(decoding["beam_size"]))
    length_penalty = ParamSpec("length_penalty", DataType.double, float(decoding["length_penalty"]))
    signature = ModelSignature(
        inputs=Schema([ColSpec(DataType.string, "source")]),
        outputs=Schema([ColSpec(DataType.string, "translation")]),
        params=ParamSchema([beam_size, length_penalty]),
    )
    code = folder.with_name("code") / CODE.name
    shutil.copytree(CODE, code, ignore=shutil.ignore_patterns(*SCRATCH))
    mlflow.pyfunc.save_model(
        folder,
        python_model=str(SERVED),
        artifacts={"system": str(packaged.folder)},
        code_paths=[str(code)],
        signature=signature,
        input_example=pandas.DataFrame({"source": packaged.about.examples()}),
        pip_requirements=requirements(),
        mlflow_model=model,
    )
    model.flavors["python_function"]["model_code_path"] = SERVED.name  # instead of its place on this machine
    model.save(str(folder / "MLmodel"))


def is_registered(client: Any, packaged: Packaged) -> bool:
    """Whether a version has the very bytes of a packaged system."""
    where = f"name = '{packaged.name}' and tags.`{DIGEST}` = '{packaged.digest}'"
    return bool(client.search_model_versions(where, max_results=1))


def register(client: Any, packaged: Packaged, model_id: str, run_id: str, tags: Mapping[str, str]) -> None:
    """Add a logged model as the newest version of its corpus."""
    from mlflow.exceptions import MlflowException

    config = packaged.config
    languages = f"{config['source_language']} to {config['target_language']}"
    about = (
        f"Translates {languages}: every version is a system trained on `{packaged.name}`. The alias `{CHAMPION}` names "
        "the one with the best validation BLEU, by greedy search with the best checkpoint; no test score is looked at."
    )
    with contextlib.suppress(MlflowException):  # it exists
        client.create_registered_model(packaged.name, description=about)
    facts = notes.Facts(*(config[name] for name in notes.Facts._fields))
    client.create_model_version(
        packaged.name,
        f"models:/{model_id}",
        run_id,
        tags={**packaged.tags, **tags},
        description=notes.text(System.parse(config["system"]), facts),
        model_id=model_id,
    )


def best(versions: Sequence[Any], comparable: str) -> Any | None:
    """The version with the highest validation BLEU among those validated alike; the first among equals."""
    scored = [version for version in versions if BLEU in version.tags and version.tags.get(COMPARABLE) == comparable]
    return max(scored, key=lambda found: (float(found.tags[BLEU]), -int(found.version)), default=None)


def crown(client: Any, name: str, comparable: str, *, is_experiment: bool = False) -> None:
    """Make the best version of a registered model its champion, unless a user has moved the alias.

    The best of those that were validated as what was just packaged. In an experiment of DVC a champion that was
    validated otherwise stays: what is undone later must not have dethroned it.
    """
    for _ in range(10):  # another stage may register a better one meanwhile: whoever is last sees all
        model = client.get_registered_model(name)
        now = str(model.aliases.get(CHAMPION, ""))
        versions = client.search_model_versions(f"name='{name}'")
        found = best(versions, comparable)
        moved_by_hand = now and now not in model.tags.get(CROWNED, "").split()
        if found is None or moved_by_hand or now == str(found.version):
            return
        reigning = next((version for version in versions if str(version.version) == now), None)
        if is_experiment and reigning is not None and reigning.tags.get(COMPARABLE) != comparable:
            return
        chosen = str(found.version)
        client.set_registered_model_tag(name, CROWNED, f"{now} {chosen}".strip())  # after a kill, either is ours
        client.set_registered_model_alias(name, CHAMPION, chosen)
        client.set_registered_model_tag(name, CROWNED, chosen)
