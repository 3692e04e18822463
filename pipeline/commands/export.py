"""`nmt export`: a system as a CTranslate2 model."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline import ctranslate2_export, files
from pipeline.commands import project

POSITIONS = 2048  # the longest source or translation that the folder is good for, EOS counted


def export(
    system: Annotated[str, typer.Option(help="Id of a built system: <corpus>-<vocabulary>-<model>-<size>.")],
    quantization: Annotated[
        str, typer.Option(help="Type of the weights: float32, float16, bfloat16, int16, int8, int8_float16, ...")
    ] = "float32",
    out: Annotated[Path | None, typer.Option(help="Folder of the model; work/export/<system> without it.")] = None,
) -> None:
    """Write a Transformer as a CTranslate2 model, a folder that ctranslate2.Translator reads in Python or C++.

    It reads and writes the pieces of the system's vocabulary (data/vocabulary/), without BOS and EOS, which it adds.
    """
    translator = project.load(system)
    path = out or Path("work/export", system)
    if path.is_dir() and not {entry.name for entry in path.iterdir()} <= ctranslate2_export.FILES:
        raise files.DataError(f"--out: holds other files, got {str(path)!r}; expected a new folder or an export's")
    with files.new_folder(path) as folder:
        ctranslate2_export.save(
            translator.model, translator.vocabulary, folder, quantization=quantization, positions=POSITIONS
        )
    print(path)
