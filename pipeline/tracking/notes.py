"""The description of a system in MLflow's pages: what it is, what it scored, how to use it."""

from collections.abc import Mapping
from typing import NamedTuple

from pipeline.system import System

LAST = "<!-- Written by the stages; without this line they leave the text alone. -->"
NAMES = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}


class Facts(NamedTuple):
    """What a description says of a system."""

    source_language: str
    target_language: str
    num_parameters: int
    validation: Mapping[str, float]  # of the training's best validation
    scores: Mapping[str, Mapping[str, float]]  # test part -> metric -> score


def text(system: System, facts: Facts) -> str:
    """The description in Markdown."""
    metrics = [name for name in NAMES if any(name in found for found in facts.scores.values())]
    rows = [
        [part, *(f"{found[name]:.1f}" if name in found else "" for name in metrics)]
        for part, found in facts.scores.items()
    ]
    head = ["part", *(NAMES[name] for name in metrics)]
    seed = f" and the seed {system.seed}" if system.seed else ""
    packaged = [
        f"nmt translate --model models/{system.id}",
        f'mlflow models serve -m "models:/{system.corpus}@champion" --env-manager local    # the best of all',
    ]
    best = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in sorted(facts.validation.items()))
    return "\n".join(
        [
            f"**{system.model}, {system.size}**: {facts.source_language} to {facts.target_language}, trained on "
            f"`{system.corpus}` with the vocabulary `{system.vocabulary}`{seed}; {facts.num_parameters:,} parameters.",
            "",
            *(f"| {' | '.join(row)} |" for row in [head, [":---", *("---:" for _ in metrics)], *rows]),
            "",
            *([f"Best validation: {best}.", ""] if best else []),
            "```",
            f"nmt translate --system {system.id}    # in the project's folder",
            *([] if system.seed else packaged),  # a further seed is not packaged
            f"dvc repro {system.stage('score')}    # builds it again",
            "```",
            "",
            LAST,
        ]
    )


def is_ours(note: str) -> bool:
    """Whether a description may be replaced: there is none yet, or the stages wrote it."""
    return not note.strip() or note.rstrip().endswith(LAST)
