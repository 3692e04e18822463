"""`nmt import`: makes a package of a public model, from the Hugging Face hub or a folder with its files."""

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from ..common import files
from ..common.files import DataError
from ..common.params import NAME
from ..corpora.importers import hub
from ..packaging import opus_mt
from .survey import downloads

MODELS = Path("models")


def import_model(
    model: Annotated[str, typer.Argument(help="Id on the hub (Helsinki-NLP/opus-mt-de-en), or a folder.")],
    tag: Annotated[
        str | None, typer.Option(help="Of a multilingual model: what it writes, such as fra; '' for none.")
    ] = None,
    languages: Annotated[str | None, typer.Option(help="Such as de-en; by default what the model says.")] = None,
    revision: Annotated[str, typer.Option(help="Branch, tag or commit of the hub.")] = "main",
    name: Annotated[str | None, typer.Option(help="Of the folder in models/; by default that of the model.")] = None,
) -> None:
    """Make a package of a model of OPUS-MT, which translate, serve, export and fine-tune take as any other."""
    folder, address = locate(model, revision)
    last = address.partition("@")[0].rpartition("/")[2]
    name = name or re.sub(r"\W+", "_", f"{last}_{tag}" if tag else last)
    if not re.fullmatch(NAME, name):
        raise DataError(f"--name: must be letters, digits and underscores, got {name!r}")
    if os.path.lexists(out := MODELS / name):
        raise DataError(f"{out}: there is a package of this name; expected a new one, by --name")
    with files.new_folder(out) as partial:
        opus_mt.build(partial, folder, address, name=name, tag=tag, pair=languages)
    print(out)


def locate(model: str, revision: str) -> tuple[Path, str]:
    """The folder with a model's files, of a mirror's folder or fetched from the hub once, and where they come from.

    Raises: DataError if there is no such folder or model.
    """
    if (folder := Path(model)).is_dir():
        return folder, folder.resolve().name
    address = f"{hub.HOST}/{model}"
    if mirrored := hub.mirrored(model, revision, downloads()):
        return mirrored, address if revision == "main" else f"{address}@{revision}"
    with hub.named(f"{address}@{revision}", "a folder or id"):
        import huggingface_hub  # which a folder can do without

        for weights in opus_mt.WEIGHTS:
            wanted, cache = [*opus_mt.NEEDED, *opus_mt.OPTIONAL, weights], downloads().folder / hub.HOST
            got = huggingface_hub.snapshot_download(model, revision=revision, cache_dir=cache, allow_patterns=wanted)
            folder = Path(got)
            if (folder / weights).exists():
                break
    return folder, f"{address}@{folder.name}"  # which is the commit
