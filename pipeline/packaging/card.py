"""The model card of a packaged system: a README.md as the Hugging Face hub reads it."""

import io
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from pipeline.packaging.package import CTRANSLATE2, Config
from pipeline.params import Section

METRICS = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}


class Licence(Section):
    """The key of `corpora/<corpus>.yaml` that says under which terms the corpus may be used."""

    licence: str


class Facts(NamedTuple):
    """What a card tells beside config.json."""

    pairs: Mapping[str, int]  # of each part
    updates: int
    precision: str
    params: Mapping[str, Any]  # of the training, dotted names
    details: Mapping[str, Mapping[str, Mapping[str, Any]]]  # test part -> metric -> score, signature, interval
    has_ctranslate2: bool


def text(config: Config, facts: Facts) -> str:
    """The card, with the hub's metadata on top."""
    sections = (heading(config), usage(config, facts), scores(facts), training(config, facts), limits(config, facts))
    return "\n".join(["---", metadata(config, facts) + "---", "", *(line for lines in sections for line in lines)])


def metadata(config: Config, facts: Facts) -> str:
    """The YAML that the hub indexes.

    Source: https://huggingface.co/docs/hub/model-cards, with `model-index` for the scores.
    """
    results = [
        {
            "task": {"type": "translation", "name": f"Translation {config.source_language}-{config.target_language}"},
            "dataset": {"name": f"{config.corpus}, {part}", "type": config.corpus, "split": part},
            "metrics": [
                {"type": metric, "name": METRICS.get(metric, metric), "value": round(float(detail["score"]), 2)}
                for metric, detail in details.items()
            ],
        }
        for part, details in facts.details.items()
    ]
    known = {
        "language": [config.source_language, config.target_language],
        "license": "other",
        "license_name": config.licence,
        "library_name": "nmt-pipeline",
        "pipeline_tag": "translation",
        "tags": ["translation", config.model, *(["ctranslate2"] if facts.has_ctranslate2 else [])],
        "model-index": [{"name": config.system, "results": results}],
    }
    out, yaml = io.StringIO(), YAML()
    yaml.width = 1000
    yaml.dump(known, out)
    return out.getvalue()


def heading(config: Config) -> Iterator[str]:
    """What it is."""
    yield f"# {config.system}"
    yield ""
    yield (
        f"Translates {config.source_language} to {config.target_language}. A `{config.model}` of size `{config.size}` "
        f"with {config.num_parameters:,} parameters, trained on `{config.corpus}` by nmt-pipeline."
    )
    yield ""


def usage(config: Config, facts: Facts) -> Iterator[str]:
    """How to translate with it; `FOLDER` is the folder of the card."""
    yield "## Use"
    yield ""
    yield "With the wheel of nmt-pipeline installed (`FOLDER` is the folder of this card):"
    yield ""
    yield "```"
    yield 'nmt translate --model FOLDER "<a sentence>"    # or --file PATH, or lines on standard input'
    yield "nmt serve --model FOLDER                       # a page and an HTTP API"
    yield "```"
    yield ""
    yield "```python"
    yield "from pathlib import Path"
    yield ""
    yield "from nmt_pipeline.decoding.translator import Translator"
    yield ""
    yield 'translator = Translator.load(Path("FOLDER"))'
    yield 'print(translator.translate(["<a sentence>"]))'
    yield "```"
    yield ""
    if facts.has_ctranslate2:
        yield f"`{CTRANSLATE2}/` holds the same model for CTranslate2, in fp32; it is quantised when it is loaded."
        yield ""


def scores(facts: Facts) -> Iterator[str]:
    """What it scored, with the signatures that say how."""
    yield "## Scores"
    yield ""
    yield "| test part | metric | score | 95 % interval | signature (sacreBLEU) |"
    yield "| :--- | :--- | ---: | ---: | :--- |"
    for part, details in facts.details.items():
        for metric, detail in details.items():
            ends = detail["interval"]
            interval = f"{ends[0]:.1f} to {ends[1]:.1f}" if ends else ""
            signature = str(detail["signature"]).replace("|", r"\|")
            yield f"| {part} | {METRICS.get(metric, metric)} | {detail['score']:.1f} | {interval} | `{signature}` |"
    yield ""
    yield "Intervals are over bootstrap resamples of the test sentences; another training seed is not in them."
    yield ""


def training(config: Config, facts: Facts) -> Iterator[str]:
    """What it was trained on and how."""
    measured = {name.removeprefix("validation_"): value for name, value in config.validation.items()}
    validation = ", ".join(f"{METRICS.get(name, name)} {value:.4g}" for name, value in measured.items())
    yield "## Training"
    yield ""
    yield f"- Data: `{config.corpus}`. Licence: {config.licence}. The model may be bound by it."
    yield f"- Pairs: {', '.join(f'{number:,} in `{part}`' for part, number in facts.pairs.items())}"
    yield f"- Updates: {facts.updates:,}, in {facts.precision}"
    yield f"- Best validation: {validation}"
    yield ""
    yield "| setting | value |"
    yield "| :--- | :--- |"
    for name, value in sorted(
        {**facts.params, **{f"decode.{key}": value for key, value in config.decoding.items()}}.items()
    ):
        yield f"| `{name}` | {value} |"
    yield ""


def limits(config: Config, facts: Facts) -> Iterator[str]:
    """What it cannot do."""
    yield "## Limits"
    yield ""
    yield f"- It knows what {facts.pairs.get('train', 0):,} pairs of `{config.corpus}` taught it, and nothing else."
    yield "- It translates one sentence at a time and knows no context."
    yield f"- Sources longer than {config.max_source_pieces} pieces are cut, with a warning."
    yield "- A fluent translation may be wrong. Have a person read what matters."
