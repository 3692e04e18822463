"""Package one system: its weights, vocabulary, settings, scores and a model card -> models/<system>/."""

from typing import Any

from pipeline.common import files, parts
from pipeline.common.params import Node
from pipeline.common.system import System
from pipeline.console import cli
from pipeline.decoding.translator import Translator
from pipeline.evaluation import scores
from pipeline.evaluation.bleu import tokenizer
from pipeline.layers.transformer import Transformer
from pipeline.packaging import card, ctranslate2_form, package
from pipeline.tracking import registry
from pipeline.tracking.runs import Run

READS = ("corpora/{corpus}.yaml:licence",)


def main(name: str) -> None:
    """Write a folder that translates anywhere: `nmt translate --model models/<system>`."""
    system = System.parse(name)
    licence = str(Node.read(READS[0].format(corpus=system.corpus)).value)
    translator = Translator.built(system)
    training = files.read_json(system.training_summary)
    config = read_config(system, licence, translator, training)
    with files.new_folder(system.packaged) as folder:
        package.write(folder, config, weights=system.weights, vocabulary=system.vocabulary_folder)
        can_run = isinstance(translator.model, Transformer)  # which alone CTranslate2 runs
        if can_run:
            form = folder / package.CTRANSLATE2
            form.mkdir()
            ctranslate2_form.save(translator.model, translator.vocabulary, form)
        data = files.read_json(system.split_summary)
        facts = card.Facts(
            pairs=data["pairs"],
            files=data["files"],
            updates=training["updates"],
            precision=training["precision"],
            base=training.get("base", ""),
            params=training["params"],
            details=files.read_json(system.scored / "scores.json"),
            caveats=scores.caveats(config.scores),
            has_ctranslate2=can_run,
        )
        files.write_lines(folder / package.CARD, card.card_text(config, facts).split("\n"))
        package.seal(folder)
    sums = files.sha256(*parts.paths(system.split, parts.VALIDATION))
    count, words = training["params"]["training"]["validation_sentences"], tokenizer(config.target_language)
    validation = f"{sums[:16]}, {count} sentences, {words}"
    with Run(system) as run:
        run.open_finished()
        registry.register(run, system.packaged, validation)


def read_config(system: System, licence: str, translator: Translator, training: dict[str, Any]) -> package.Config:
    """What config.json says of a system."""
    languages = files.read_json(system.languages)
    metrics = files.read_json(system.metrics)
    best = {name: value for name, value in training["best"].items() if name.startswith("validation_")}
    return package.Config.model_validate(
        {
            "format": package.FORMAT,
            "system": system.id,
            **system.axes,
            "source_language": languages["source_language"],
            "target_language": languages["target_language"],
            "licence": licence,
            "arch": training["params"]["arch"],
            "precision": training["precision"],
            "max_source_pieces": translator.max_pieces,
            "decoding": files.read_json(system.decoded / "decode.json"),
            "num_parameters": training["num_parameters"],
            "validation": best,
            "scores": {part: found for part, found in metrics.items() if part != "validation"},
        }
    )


if __name__ == "__main__":
    cli.run(main)
