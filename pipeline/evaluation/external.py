"""Metrics that another program computes, in an environment of its own, such as COMET."""

from collections.abc import Sequence
from typing import Any

from ..common.files import DataError
from ..preparation import programs
from .bleu import DIGITS, Lines
from .settings import External


def run(
    name: str, external: External, sources: Lines, hypotheses: Lines, references: Sequence[Lines]
) -> tuple[dict[str, Any], list[float]]:
    """The score of a program, with the name and version of what computed it, and the score of each sentence.

    It reads a line a sentence: source, translation and references, with tabs between. It prints a score a line and, as
    its last line, the score of all and what computed it: `0.8312 wmt22-comet-da, unbabel-comet 2.2.7`.
    Raises: DataError if it fails or prints something else.
    """
    where = f"score.external.{name}.command"
    expected = "a program that prints a score a line and `<total> <name>`"
    lines = programs.run(external.command, zip(sources, hypotheses, *references, strict=True), where, expected)
    last = lines[-1] if lines else ""
    score, _, signature = last.partition(" ")
    *sentences, total = programs.numbers([*lines[:-1], score], where, expected)
    if len(sentences) != len(sources) or not signature:
        raise DataError(
            f"{where}: must print {len(sources)} numbers and then `<total> <name>`, got {len(sentences)} and {last!r}"
        )
    return {"score": round(total, DIGITS), "signature": signature, "interval": None}, sentences
