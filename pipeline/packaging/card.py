"""The model card of a packaged system: a README.md as the Hugging Face hub reads it."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined
from ruamel.yaml import YAML

from ..common.params import flatten
from ..evaluation.settings import TITLES
from .sealed import CTRANSLATE2, Config

TEMPLATE = Path(__file__).parent / "card.md.jinja"


class Facts(NamedTuple):
    """What a card tells beside config.json."""

    data: Mapping[str, Any]  # the summary of the stage split
    training: Mapping[str, Any]  # the summary of the stage train
    details: Mapping[str, Mapping[str, Mapping[str, Any]]]  # test part -> metric -> score, signature, interval
    before: Mapping[str, Mapping[str, Mapping[str, Any]]]  # the same of the package that it starts from, or none
    caveats: list[str]  # of the scores
    has_ctranslate2: bool


def card_text(config: Config, facts: Facts) -> str:
    """The card, with the hub's metadata on top."""
    environment = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    settings = flatten({**facts.training["params"], "decode": config.decoding})
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        config=config,
        facts=facts,
        metadata=metadata(config, facts),
        settings=sorted(settings.items()),
        names=TITLES,
        ctranslate2=CTRANSLATE2,
    )


def metadata(config: Config, facts: Facts) -> str:
    """The YAML that the hub indexes.

    Source: https://huggingface.co/docs/hub/model-cards, with `model-index` for the scores.
    """
    results = [
        {
            "task": {"type": "translation", "name": f"Translation {config.source_language}-{config.target_language}"},
            "dataset": {"name": f"{config.corpus}, {part}", "type": config.corpus, "split": part},
            "metrics": [
                {"type": metric, "name": TITLES.get(metric, metric), "value": round(float(detail["score"]), 2)}
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
