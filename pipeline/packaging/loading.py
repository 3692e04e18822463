"""Loads a packaged system, `models/<system>/` or a copy of it anywhere."""

from dataclasses import replace
from pathlib import Path

from ..common.params import stored_section
from ..decoding.settings import Decoding
from ..decoding.translator import Translator
from . import package


def load(folder: Path) -> Translator:
    """The translator in a folder, with the settings that its scores were made with.

    Raises: DataError if a file is missing or changed, or if this code does not know such a model.
    """
    config, path = package.read(folder), folder / package.CONFIG
    expected = "a model of this version of nmt-pipeline"
    settings = stored_section(Decoding, config.decoding, "decoding", path, expected)
    translator = Translator.assembled(
        config.model,
        config.arch,
        vocabulary=folder / package.VOCABULARY,
        path=folder / package.WEIGHTS,
        precision=config.precision,
        max_pieces=config.max_source_pieces,
        origin=path,
        expected=expected,
        is_sealed=True,
    )
    return replace(translator, settings=settings)
