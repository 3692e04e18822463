"""The files of a packaged system, which are checked before anything in them is opened; package.py writes them."""

import re
import shutil
import stat
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from ..common import files
from ..common.files import DataError
from ..common.params import NAME, first_fault

CONFIG, WEIGHTS, VOCABULARY = "config.json", "model.safetensors", "vocabulary"
CTRANSLATE2 = "ctranslate2"  # the folder of the same model for CTranslate2; Transformers have one
LARGE = (WEIGHTS, f"{CTRANSLATE2}/model.bin")
SMALL = 1 << 25  # bytes of any other file at most, which are read into memory; a million words take less
POSITIONS = 2048  # of the longest source or translation in CTranslate2's form, EOS counted
CARD, CHECKSUMS = "README.md", "checksums.json"
FILE = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")  # a file's path inside the folder: never outside, never hidden
EXPECTED = "a folder that the stage `package` wrote"

FORMAT = 2  # rises when older code cannot read the folder any more, or newer code an older folder
Name = Annotated[str, Field(pattern=NAME)]
Count = Annotated[int, Field(ge=0)]
Language = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]  # such as pt-BR
T = TypeVar("T")


class Record(BaseModel):
    """A mapping in a file of a package, of which some keys are read."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class Config(Record):
    """config.json: what the model is, how it translates and what it scored."""

    format: Literal[2]
    system: str
    corpus: Name
    vocabulary: Name
    model: Name
    size: Name
    source_language: Language
    target_language: Language
    licence: str
    arch: dict[str, Any]  # `Arch` of the model
    precision: Literal["fp32", "bf16"]  # of the products of its training, and of the same here
    max_source_pieces: Annotated[int, Field(gt=0)]  # the longest source in training, without EOS
    decoding: dict[str, Any]  # section `decode` as the scores below were made
    num_parameters: Count
    validation: dict[str, float]  # of the training's best validation
    scores: dict[str, dict[str, float]]  # test part -> metric -> score

    @field_validator("decoding")
    @classmethod
    def _complete(cls, decoding: dict[str, Any]) -> dict[str, Any]:
        return {"no_repeat_ngram_size": 0} | decoding  # an older package has no such key


class SealedFile(Record):
    """A file in checksums.json."""

    size: Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def copy_vocabulary(vocabulary: Path, folder: Path) -> None:
    """Copy the files of a vocabulary, but not their modes: those in DVC's cache are for reading alone."""
    shutil.copytree(vocabulary, folder, copy_function=shutil.copyfile, dirs_exist_ok=True)


def read(folder: Path) -> Config:
    """The config of a folder whose files are all there, all listed and all unchanged.

    Raises: DataError naming the first fault.
    """
    check(folder)
    path = folder / CONFIG
    content = files.read_json(path)
    if (number := content.get("format") if isinstance(content, dict) else None) != FORMAT:
        is_newer = isinstance(number, int) and number > FORMAT
        what = "or a newer nmt-pipeline" if is_newer else "so package the system again"
        raise DataError(f"{path}: unknown format, got {number}; expected {FORMAT}, {what}")
    return parse(path, Config)


def parse(path: Path, kind: type[T], expected: str = EXPECTED) -> T:
    """The JSON at `path` as one of these classes.

    Raises: DataError with the first fault.
    """
    try:
        return TypeAdapter(kind).validate_python(files.read_json(path))
    except ValidationError as error:
        raise DataError(f"{path}: {first_fault(error, kind.__name__)}; expected {expected}") from None


def check(folder: Path) -> None:
    """Check kinds, names, sizes and SHA-256 sums of all files of a folder against its checksums.json.

    Nothing is opened but regular files that checksums.json lists.

    Raises: DataError naming the first file that is wrong.
    """
    if not folder.is_dir():
        what = "not a folder" if folder.exists() else "no such folder"
        raise DataError(f"{folder}: {what}; expected {EXPECTED}")
    path, config = folder / CHECKSUMS, folder / CONFIG
    if not path.exists() and config.is_file() and config.stat().st_size <= SMALL:
        content = files.read_json(config)
        if isinstance(content, dict) and "model_type" in content:
            what = f"is a model of Hugging Face's transformers (see `nmt import`), got {content['model_type']!r}"
            raise DataError(f"{folder}: {what}; expected {EXPECTED}")
    sizes = list_files(folder)
    listed = parse(path, dict[str, SealedFile])  # every other file of the folder
    sizes.pop(CHECKSUMS)
    if unsafe := [name for name in listed if not FILE.fullmatch(name)]:
        raise DataError(f"{path}: not a file inside the folder, got {unsafe[0]!r}; expected {EXPECTED}")
    for name in sorted({CONFIG, WEIGHTS, *listed} - sizes.keys()):
        raise DataError(f"{folder / name}: no such file; expected {EXPECTED}")
    for name in sorted(sizes.keys() - listed.keys()):
        raise DataError(f"{folder / name}: not in {CHECKSUMS}; expected {EXPECTED}")
    for name, sealed in listed.items():
        if sizes[name] != sealed.size:
            raise DataError(f"{folder / name}: must have {sealed.size} bytes, got {sizes[name]}; expected {EXPECTED}")
        if files.sha256(folder / name) != sealed.sha256:
            raise DataError(f"{folder / name}: other bytes than {CHECKSUMS} says; expected {EXPECTED}")


def list_files(folder: Path) -> dict[str, int]:
    """Every file of a folder and its size, but for what is hidden, as .gitattributes is.

    Raises: DataError for what is neither a folder nor a regular file, or a link to one, and for one that is too large.
    """
    sizes = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts) or (path.is_dir() and not path.is_symlink()):
            continue
        state = path.stat() if path.exists() else path.lstat()
        if not stat.S_ISREG(state.st_mode):
            raise DataError(f"{path}: must be a regular file, got another kind or a link; expected {EXPECTED}")
        if state.st_size > SMALL and name.as_posix() not in LARGE:
            raise DataError(f"{path}: must have {SMALL} bytes at most, got {state.st_size}; expected {EXPECTED}")
        sizes[name.as_posix()] = state.st_size
    return sizes
