"""A Transformer as an `.argosmodel`, the zip that Argos Translate and LibreTranslate install."""

import json
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from torch import nn

from ..common import files
from ..languages.codes import name_of
from ..vocabularies import marian
from ..vocabularies.vocabulary import Vocabulary
from . import ctranslate2_form

SUFFIX = ".argosmodel"
VERSIONS = {"package_version": "1.0", "argos_version": "1.11"}  # of what is packaged, and of what it was tried with
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold: the same model gives the same bytes


def save(
    model: nn.Module, vocabulary: Path, path: Path, *, source: str, target: str, quantization: str = "float32"
) -> None:
    """Write a model, with its vocabulary's folder and the codes of its languages, to the file `path`.

    Raises: ExportError if the model is no Transformer, or its vocabulary is not one SentencePiece model for both sides:
        Argos Translate reads and writes with the same one.
    """
    listed = vocabulary / marian.FILE
    is_untagged = listed.exists() and not files.read_json(listed)["tag"]
    pieces = vocabulary / ("source.model" if is_untagged else "joint.model")  # Argos only joins what a network writes
    if not pieces.exists():
        raise ctranslate2_form.ExportError(
            f"{vocabulary}: Argos Translate takes one vocabulary of subwords for both languages, got none; expected a "
            "system with `kind: bpe` or `unigram` and `joint: true`, or one of OPUS-MT without a tag"
        )
    names = {"from_name": name_of(source), "to_name": name_of(target)}
    metadata = {**VERSIONS, "from_code": source, "to_code": target, **names, "type": "translate"}
    with TemporaryDirectory() as folder:
        ctranslate2_form.save(model, Vocabulary.load(vocabulary), Path(folder), quantization=quantization)
        with files.new_file(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
            root = f"translate-{source}_{target}-1_0"
            contents = {"metadata.json": json.dumps(metadata, indent=4).encode()}
            contents["sentencepiece.model"] = pieces.read_bytes()
            contents |= {f"model/{part.name}": part.read_bytes() for part in sorted(Path(folder).iterdir())}
            for name, content in contents.items():
                info = zipfile.ZipInfo(f"{root}/{name}", EPOCH)
                info.external_attr = 0o644 << 16  # anybody may read it
                zipped.writestr(info, content, zipfile.ZIP_DEFLATED)
