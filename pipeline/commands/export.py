"""`nmt export`: a Transformer for CTranslate2, or for Argos Translate and LibreTranslate."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ..common import files
from ..common.files import DataError
from ..common.system import System
from ..decoding.translator import Translator
from ..packaging import argos, ctranslate2_form
from . import project

WORK = Path("work/export")


def export(
    system: Annotated[str, typer.Option(help="Built system: its id, or a part of it that no other one has.")],
    format: Annotated[
        Literal["ctranslate2", "argos"],
        typer.Option(help="A folder for CTranslate2, or the .argosmodel that Argos Translate installs."),
    ] = "ctranslate2",
    quantization: Annotated[
        str, typer.Option(help="Type of the weights: float32, float16, bfloat16, int16, int8, int8_float16, ...")
    ] = "float32",
    out: Annotated[Path | None, typer.Option(help="Folder or file; below work/export/ without it.")] = None,
) -> None:
    """Write a Transformer for other programs: CTranslate2 in Python or C++, Argos Translate, LibreTranslate.

    CTranslate2 reads and writes the pieces of the system's vocabulary (data/vocabulary/), without BOS and EOS, which it
    adds. Argos Translate and LibreTranslate take text.
    """
    named = project.parse(system)
    if format == "argos":
        print(export_argos(named, project.load(named), out, quantization))
        return
    path = out or WORK / named.id
    if path.exists() and (not path.is_dir() or any(one.name not in ctranslate2_form.FILES for one in path.iterdir())):
        raise DataError(f"--out: holds something else, got {str(path)!r}; expected a new folder, or an exported model")
    translator = project.load(named)
    with files.new_folder(path) as folder:
        ctranslate2_form.save(translator.model, translator.vocabulary, folder, quantization=quantization)
    print(path)


def export_argos(system: System, translator: Translator, out: Path | None, quantization: str) -> Path:
    """The file that was written for Argos Translate.

    Raises: DataError if `out` has another ending: a file of the user's may stand there.
    """
    path = out or WORK / f"{system.id}{argos.SUFFIX}"
    if path.suffix != argos.SUFFIX:
        raise DataError(f"--out: must end with {argos.SUFFIX}, got {str(path)!r}; expected such as my{argos.SUFFIX}")
    languages = files.read_json(system.languages)
    argos.save(
        translator.model,
        system.vocabulary_folder,
        path,
        source=languages["source_language"],
        target=languages["target_language"],
        quantization=quantization,
    )
    return path
