"""Engines without a network, which translate word by word: for tests of the server and of its page."""

import math
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pipeline.decoding import texts

LEXICON = {"où": "where", "est": "is", "la": "the", "gare": "station", "chat": "cat", "dort": "sleeps", "noir": "black"}
BROKEN = "panne"
CARD = "# {system}\n\nA **toy**, see [a script](javascript:alert(1)).\n\n<img src=x onerror=alert(1)>\n"


class WordEngine:
    """Translates each word by itself; `panne` breaks it. The further a hypothesis, the more it adds at its end."""

    kind = "torch"

    def __init__(self, model: str = "rnnsearch", languages: str = "fr-en", score: float = 94.0) -> None:
        source, target = languages.split("-")
        system = f"toy_{source}_{target}-bpe_1k-{model}-tiny-1"
        names = dict(zip(("corpus", "vocabulary", "model", "size", "seed"), system.split("-"), strict=True))
        self.config = SimpleNamespace(system=system, source_language=source, target_language=target, **names)
        self.pair, self.score, self.card = (source, target), score, CARD.format(system=system)
        self.folder, self.examples = Path("models", system), ["Le chat dort."]
        self.lexicon = LEXICON if source == "fr" else {english: french for french, english in LEXICON.items()}

    def split(self, units: Iterable[str]) -> texts.SplitLine:
        vocabulary = SimpleNamespace(unwritable=lambda text: "", encode_source=lambda lines: [lines[0].split()])
        return texts.split(units, vocabulary, 50)

    def translate(self, lines: list[str], number: int) -> list[list[tuple[str, float]]]:
        if any(BROKEN in line for line in lines):
            raise RuntimeError("out of order")
        return [[self.answer(line, rank) for rank in range(min(number, 3))] for line in lines]

    def answer(self, line: str, rank: int) -> tuple[str, float]:
        words = line.split()
        known = sum(word.lower().strip(".?!") in self.lexicon for word in words) / max(1, len(words))
        return (" ".join(map(self.word, words)) + " indeed" * rank, known * math.exp(-rank))

    def word(self, word: str) -> str:
        core = word.rstrip(".?!")
        translation = self.lexicon.get(core.lower(), core) + word[len(core) :]
        return translation.capitalize() if word[0].isupper() else translation

    def attention(self, lines: list[str]) -> list[dict[str, Any]]:
        """Each word looks at the one that it translates."""
        words = lines[0].split()
        pieces, written = ([f"▁{word}" for word in side] for side in (words, map(self.word, words)))
        size = len(words) + 1
        diagonal = [[float(row == column) for column in range(size)] for row in range(size)]
        text = " ".join(map(self.word, words))
        source, target = [*pieces, "</s>"], [*written, "</s>"]
        return [{"source": source, "target": target, "text": text, "weights": {"attention": [diagonal]}}]


ENGINES = [WordEngine("transformer_prenorm", score=94.5), WordEngine(), WordEngine(languages="en-fr")]
