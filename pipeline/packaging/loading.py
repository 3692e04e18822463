"""Loads a packaged system, `models/<system>/` or a copy of it anywhere."""

from pathlib import Path

from ..common.params import stored_section
from ..decoding.settings import Decoding
from ..decoding.translator import Translator, network
from ..vocabularies.vocabulary import Vocabulary
from . import sealed


def load(folder: Path) -> Translator:
    """The translator in a folder, with the settings that its scores were made with.

    Raises: DataError if a file is missing or changed, or if this code does not know such a model.
    """
    config, path = sealed.read(folder), folder / sealed.CONFIG
    expected = "a model of this version of nmt-pipeline"
    settings = stored_section(Decoding, config.decoding, "decoding", path, expected)
    vocabulary = Vocabulary.load(folder / sealed.VOCABULARY)
    weights = folder / sealed.WEIGHTS
    net = network(config.model, config.arch, vocabulary, weights, origin=path, expected=expected, is_sealed=True)
    return Translator(net, vocabulary, config.max_source_pieces, config.precision, settings)
