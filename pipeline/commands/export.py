"""`nmt export`: a Transformer for CTranslate2, or for Argos Translate and LibreTranslate."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ..common import files
from ..common.files import DataError
from ..packaging import argos, ctranslate2_form, loading, sealed
from . import project

WORK = Path("work/export")


def export(
    system: Annotated[
        str | None, typer.Option(help="Built system: its id, or a part of it that no other one has.")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Or the folder of a packaged system, here or anywhere.")] = None,
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

    CTranslate2 reads and writes the pieces of the system's vocabulary (data/vocabulary/, or vocabulary/ of the
    package), without BOS and EOS, which it adds. Argos Translate and LibreTranslate take text.
    """
    if (system is None) == (model is None):
        raise DataError("--system, --model: must be one of the two; expected a system built here, or a packaged folder")
    if model:
        config, translator, vocabulary = sealed.read(model), loading.load(model), model / sealed.VOCABULARY
        name, about = config.system, config.model_dump()
    else:
        named = project.parse(system or "")
        name, translator, vocabulary = named.id, project.load(named), named.vocabulary_folder
        about = files.read_json(named.languages) if format == "argos" else {}
    if format == "argos":
        path = out or WORK / f"{name}{argos.SUFFIX}"
        if path.suffix != argos.SUFFIX:  # a file of the user's may stand there
            raise DataError(
                f"--out: must end with {argos.SUFFIX}, got {str(path)!r}; expected such as my{argos.SUFFIX}"
            )
        source, target = about["source_language"], about["target_language"]
        argos.save(translator.model, vocabulary, path, source=source, target=target, quantization=quantization)
    else:
        path, known = out or WORK / name, ctranslate2_form.FILES
        if path.exists() and (not path.is_dir() or any(file.name not in known for file in path.iterdir())):
            raise DataError(
                f"--out: holds something else, got {str(path)!r}; expected a new folder, or an exported model"
            )
        with files.new_folder(path) as folder:
            ctranslate2_form.save(translator.model, translator.vocabulary, folder, quantization=quantization)
    print(path)
