"""The JSON that stages write for later stages: the keys that these read, checked when they are read."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError

from pipeline import files

Count = Annotated[int, Field(ge=0)]
Language = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]  # such as pt-BR
Part = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]
Precision = Literal["fp32", "bf16"]  # of the products of a training
Weights = Annotated[str, Field(pattern=r"^update_[0-9]+\.safetensors$")]  # never a path


class Summary(BaseModel):
    """A mapping of which some keys are read."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class Languages(Summary):
    """data/split/<corpus>/languages.json."""

    source_language: Language
    target_language: Language


class Sizes(Summary):
    """Keys of vocabulary.json that every reader of the vocabulary checks."""

    source_size: Count
    target_size: Count


class Written(Summary):
    """A part in download.json."""

    pairs: Count


class Downloaded(Languages):
    """data/download/<corpus>/download.json."""

    parts: dict[Part, Written]


class Cleaned(Languages):
    """data/clean/<corpus>/clean.json."""

    pairs: dict[Part, Count]


class Leaks(Summary):
    """Pairs of a part that share a sentence with a held-out part."""

    exact_source: Count
    exact_target: Count
    near_source: Count
    near_target: Count
    dropped: Count


class Split(Summary):
    """data/split/<corpus>.json."""

    pairs: dict[Part, Count]
    leakage: dict[str, Leaks]


class CheckpointList(Summary):
    """checkpoints.json beside the checkpoints of a training."""

    last: Annotated[list[Weights], Field(min_length=1)]


class TrainingSummary(Summary):
    """runs/<system>/train/training.json."""


class TrainingForTranslator(TrainingSummary):
    """Keys of training.json that translating depends on."""

    vocabulary: str
    precision: Precision
    params: dict[str, Any]


class Lowest(Summary):
    """The lowest validation loss."""

    validation_loss: float


class Best(Lowest):
    """The validation of the lowest loss."""

    update: Count


class TrainingForPackage(TrainingSummary):
    """Keys of training.json that a packaged system tells."""

    params: dict[str, Any]
    best: Best
    updates: Count
    precision: Precision
    num_parameters: Count


class DecodeSettings(RootModel[dict[str, str | int | float | bool | None]]):
    """data/decode/<system>/decode.json."""


class Detail(Summary):
    """How one metric was computed."""

    score: float
    signature: str
    interval: list[float] | None


class Details(RootModel[dict[Part, dict[str, Detail]]]):
    """data/score/<system>/scores.json."""


class Scores(RootModel[dict[Part, dict[str, float]]]):
    """metrics/<system>.json."""

    model_config = ConfigDict(strict=True)


def read(path: Path, kind: type[BaseModel], *keys: str) -> Any:
    """All of the JSON at `path`, checked to be a `kind` and to have these keys; `test.bleu` is a key below another.

    Raises: DataError with the first fault if the file is missing, is not JSON, or lacks what later stages read.
    """
    value = files.read_json(path)
    try:
        kind.model_validate(value)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(str(key) for key in fault["loc"] if key != "[key]")
        got = "" if fault["type"] == "missing" else f", got {shortened(fault['input'])}"
        what = fault["msg"].removeprefix("Input ")
        raise files.DataError(
            f"{path}: {where + ': ' if where else ''}{what[:1].lower()}{what[1:]}{got}; expected what the stage writes"
        ) from None
    if missing := [key for key in keys if not has(value, key)]:
        raise files.DataError(f"{path}: {missing[0]}: field required; expected what the stage writes")
    return value


def has(value: Any, key: str) -> bool:
    """Whether nested mappings have a dotted key."""
    for name in key.split("."):
        if name not in value:
            return False
        value = value[name]
    return True


def shortened(value: object) -> str:
    """A value in a length that fits a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
