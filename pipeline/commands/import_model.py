"""`nmt import`: makes a package of a public model, from the Hugging Face hub or a folder with its files."""

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from ..common import files
from ..common.files import DataError
from ..common.params import NAME
from ..corpora.fetching import is_address
from ..corpora.importers.hub import HOST
from ..packaging import opus_mt

DOWNLOADS, MODELS = Path("work/downloads"), Path("models")


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
    folder, address = found(model, revision)
    last = address.partition("@")[0].rpartition("/")[2]
    name = name or re.sub(r"\W+", "_", f"{last}_{tag}" if tag else last)
    if not re.fullmatch(NAME, name):
        raise DataError(f"--name: must be letters, digits and underscores, got {name!r}")
    if os.path.lexists(out := MODELS / name):
        raise DataError(f"{out}: there is a package of this name; expected a new one, by --name")
    with files.new_folder(out) as partial:
        opus_mt.build(partial, folder, address, name=name, tag=tag, pair=languages)
    print(out)


def found(model: str, revision: str) -> tuple[Path, str]:
    """The folder with a model's files, of a mirror's folder or fetched from the hub once, and where they come from.

    A mirror of the hub itself is named by `HF_ENDPOINT`.

    Raises: DataError if there is no such folder or model.
    """
    if (folder := Path(model)).is_dir():
        return folder, folder.resolve().name
    mirror, version = os.environ.get("CORPUS_MIRROR", ""), "" if revision == "main" else f"@{revision}"
    if mirror and not is_address(mirror) and (folder := Path(mirror, HOST, f"{model}{version}")).is_dir():
        return folder, f"{HOST}/{model}{version}"
    import huggingface_hub  # which a folder can do without

    try:
        for weights in opus_mt.WEIGHTS:
            wanted, cache = [*opus_mt.NEEDED, *opus_mt.OPTIONAL, weights], DOWNLOADS / HOST
            got = huggingface_hub.snapshot_download(model, revision=revision, cache_dir=cache, allow_patterns=wanted)
            folder = Path(got)
            if (folder / weights).exists():
                break
    except Exception as error:  # of several libraries: no class is common to them
        got = " ".join(str(error).split()) or type(error).__name__
        expected = "a folder or id, and a connection or a mirror (CORPUS_MIRROR, HF_ENDPOINT)"
        raise DataError(f"{HOST}/{model}@{revision}: cannot be read, got {got}; expected {expected}") from None
    return folder, f"{HOST}/{model}@{folder.name}"  # which is the commit
