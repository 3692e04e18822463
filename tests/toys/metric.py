"""A stand-in for COMET in an environment without sacrebleu: how many words a translation shares with a reference."""

import importlib.util
import sys

rows = [line.rstrip("\n").split("\t") for line in sys.stdin]
scores = [max(len({*hypothesis.split()} & {*one.split()}) for one in references) for _, hypothesis, *references in rows]
print(*scores, sep="\n")
print(sum(scores) / len(scores), f"shared-words 1.0, sacrebleu {bool(importlib.util.find_spec('sacrebleu'))}")
