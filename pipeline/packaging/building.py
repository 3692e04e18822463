"""The package of a system that the graph has built: what its stages wrote, in one sealed folder."""

import shutil
from pathlib import Path
from typing import Any

from ..common import files
from ..common.system import BEFORE, System
from ..decoding.translator import Translator
from ..evaluation.scores import caveats
from ..layers.transformer import Transformer
from . import card, ctranslate2_form, package, sealed


def build(folder: Path, system: System, translator: Translator, licence: str) -> None:
    """Write weights, vocabulary, config, model card and, for a Transformer, CTranslate2's form into `folder`."""
    training = files.read_json(system.training_summary)
    config = read_config(system, translator, training, licence)
    shutil.copyfile(system.weights, folder / sealed.WEIGHTS)
    sealed.copy_vocabulary(system.vocabulary_folder, folder / sealed.VOCABULARY)
    files.write_json(folder / sealed.CONFIG, config.model_dump())
    can_run = isinstance(translator.model, Transformer)  # which alone CTranslate2 runs
    if can_run:
        form = folder / sealed.CTRANSLATE2
        form.mkdir()
        ctranslate2_form.save(translator.model, translator.vocabulary, form)
    before = system.scored / BEFORE / "scores.json"
    facts = card.Facts(
        data=files.read_json(system.split_summary),
        training=training,
        details=files.read_json(system.scored / "scores.json"),
        before=files.read_json(before) if before.exists() else {},
        caveats=caveats(config.scores),
        has_ctranslate2=can_run,
    )
    files.write_lines(folder / sealed.CARD, card.card_text(config, facts).split("\n"))
    package.seal(folder)


def read_config(system: System, translator: Translator, training: dict[str, Any], licence: str) -> sealed.Config:
    """config.json of a system, from its training, its settings of the search and its scores."""
    metrics = files.read_json(system.metrics)
    if base := training.get("base"):
        licence = f"{licence}; of {base['system']}: {base['licence']}"
    best = {name: value for name, value in training["best"].items() if name.startswith("validation_")}
    return sealed.Config.model_validate(
        {
            "format": sealed.FORMAT,
            "system": system.id,
            **system.axes,
            **files.read_json(system.languages),
            "licence": licence,
            "arch": training["params"]["arch"],
            "precision": training["precision"],
            "max_source_pieces": translator.max_pieces,
            "decoding": files.read_json(system.decoded / "decode.json"),
            "num_parameters": training["num_parameters"],
            "validation": best,
            "scores": {part: scores for part, scores in metrics.items() if part != "validation"},
        }
    )
