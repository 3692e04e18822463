"""`nmt export`: a system as a CTranslate2 model."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands import project
from pipeline.commands.out import check, new_folder
from pipeline.packaging import ctranslate2_form


def export(
    system: Annotated[str, typer.Option(help="Built system: its id, or a part of it that no other one has.")],
    quantization: Annotated[
        str, typer.Option(help="Type of the weights: float32, float16, bfloat16, int16, int8, int8_float16, ...")
    ] = "float32",
    out: Annotated[Path | None, typer.Option(help="Folder of the model; work/export/<system> without it.")] = None,
) -> None:
    """Write a Transformer as a CTranslate2 model, a folder that ctranslate2.Translator reads in Python or C++.

    It reads and writes the pieces of the system's vocabulary (data/vocabulary/), without BOS and EOS, which it adds.
    """
    check(out, "export")
    named = project.parse(system)
    translator = project.load(named)
    with new_folder(out, Path("work/export", named.id), "export") as (folder, path):
        ctranslate2_form.save(translator.model, translator.vocabulary, folder, quantization=quantization)
    print(path)
