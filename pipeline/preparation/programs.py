"""Programs of others, in environments of their own: lines in, with tabs between, and lines out, in the same order."""

import io
import math
import os
import shlex
import subprocess
from collections.abc import Iterable, Sequence

from ..common.files import DataError


def run(command: str, rows: Iterable[Sequence[str]], where: str, expected: str) -> list[str]:
    """The lines that the program at the key `where` prints for these rows; its progress, on stderr, is shown.

    Raises: DataError if it fails, which says what was expected.
    """
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    try:
        ended = subprocess.run(
            shlex.split(command),
            input="".join("\t".join(text.replace("\t", " ") for text in row) + "\n" for row in rows),
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=environment | {"PYTHONUTF8": "1"},
            check=True,
        )
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        raise DataError(f"{where}: {error}; expected {expected}") from None
    return [line.rstrip("\n") for line in io.StringIO(ended.stdout)]  # not `splitlines`, which splits at U+2028 too


def numbers(lines: Iterable[str], where: str, expected: str) -> list[float]:
    """The numbers that a program has printed.

    Raises: DataError if a line is none, which says what was expected.
    """
    scores = []
    for number, line in enumerate(lines, 1):
        try:
            scores.append(float(line))
        except ValueError:
            scores.append(math.nan)
        if not math.isfinite(scores[-1]):
            raise DataError(f"{where}: prints no number in line {number}, got {line[:100]!r}; expected {expected}")
    return scores
