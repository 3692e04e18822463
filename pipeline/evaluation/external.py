"""Metrics that another program computes, in an environment of its own, such as COMET."""

import math
import os
import shlex
import subprocess
from collections.abc import Sequence
from typing import Any

from ..common.files import DataError
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
    rows = (
        "\t".join(text.replace("\t", " ") for text in row) for row in zip(sources, hypotheses, *references, strict=True)
    )
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    where = f"score.external.{name}.command"
    try:
        ended = subprocess.run(
            shlex.split(external.command),
            input="".join(f"{row}\n" for row in rows),
            stdout=subprocess.PIPE,  # its progress, on stderr, goes to the terminal
            encoding="utf-8",
            env=environment | {"PYTHONUTF8": "1"},
            check=True,
        )
        *lines, last = ended.stdout.splitlines()
        score, _, signature = last.partition(" ")
        sentences, total = [float(line) for line in lines], float(score)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        expected = "a program that prints a score a line and `<total> <name>`"
        raise DataError(f"{where}: {error}; expected {expected}") from None
    if len(sentences) != len(sources) or not signature or not all(map(math.isfinite, (*sentences, total))):
        raise DataError(
            f"{where}: must print {len(sources)} numbers and then `<total> <name>`, got {len(sentences)} and {last!r}"
        )
    return {"score": round(total, DIGITS), "signature": signature, "interval": None}, sentences
