"""`nmt export`: a system as a CTranslate2 model."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands import ctranslate2_export, project
from pipeline.commands.out import check, new_folder

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
    check(out, "export")
    translator = project.load(project.parse(system))
    with new_folder(out, Path("work/export", system), "export") as (folder, path):
        ctranslate2_export.save(
            translator.model, translator.vocabulary, folder, quantization=quantization, positions=POSITIONS
        )
    print(path)
