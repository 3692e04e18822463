"""A worker of `nmt serve` that translates word by word, for tests of the page: six models with attention of each kind.

python -m tests.toys.dictionary                                         # a worker
python -m tests.toys.dictionary '{"folders": [...]}'                    # a server, with these options
"""

import json
import math
import sys
from itertools import chain
from pathlib import Path

from pipeline.serving.answers import Answer

from pipeline import cli, files
from pipeline.serving import worker

LEXICON = {"où": "where", "est": "is", "la": "the", "gare": "station", "chat": "cat", "dort": "sleeps", "noir": "black"}
MODELS = {  # model -> BLEU on test, how sure it is, what it takes a station for
    "transformer_postnorm": (97.0, 0.96, "station"),
    "gru_attention": (95.0, 0.9, "station"),
    "rnnsearch": (94.0, 0.82, "station"),
    "transformer_prenorm": (94.5, 0.92, "station"),
    "rnn_encdec": (76.0, 0.66, "library"),
    "bilstm_attention": (70.0, 0.5, "beach"),
}
SYSTEMS = {
    **{f"toy_fr_en-bpe_1k-{model}-tiny": ("fr", "en") for model in MODELS},
    "toy_en_fr-bpe_1k-rnnsearch-tiny": ("en", "fr"),
}
BROKEN = "panne"
OTHERS = ("", " indeed", " really")  # what follows the best translation, the second and the third
CARD = """\
---
language: [fr, en]
---
# {system}

A **toy**, see `docs`, [the web](https://example.org/toy) and [a script](javascript:alert(1)).

| metric | score |
| :--- | ---: |
| BLEU | {bleu} |

- one <img src=x onerror=alert(1)>
- two

```
nmt serve
```
"""


class Dictionary:
    """Looks words up; `panne` breaks it."""

    def __init__(self, system: str) -> None:
        self.system, self.model = system, system.split("-")[2]
        self.source_language, self.target_language = SYSTEMS[system]

    def translate(self, lines, number):
        return [[self.answer(line, rank) for rank in range(min(number, len(OTHERS)))] for line in lines]

    def answer(self, line, rank):
        if BROKEN in line:
            raise ValueError("out of order")
        share = math.log(MODELS[self.model][1]) - rank
        return Answer(" ".join(map(self.word, line.split())) + OTHERS[rank], share, share)

    def word(self, word):
        lexicon = LEXICON | {"gare": MODELS[self.model][2]}
        if self.source_language == "en":
            lexicon = {english: french for french, english in LEXICON.items()}
        found = lexicon.get(word.lower(), word)
        return found.capitalize() if word[0].isupper() else found

    def attention(self, line):
        """Each word looks at the one that it translates, and a little at the end."""
        source, target = line.split(), [self.word(word) for word in line.split()]
        read, written, of = pieces(source), pieces(target), owners(source)
        rows = [[0.9 / of.count(place) if place == owner else 0.0 for place in of] + [0.1] for owner in owners(target)]
        rows.append([0.0] * len(read) + [1.0])
        names = {"rnn_encdec": [], "transformer_postnorm": ["encoder 1", "decoder 1", "cross 1", "cross 2"]}
        names["transformer_prenorm"] = names["transformer_postnorm"]
        found = {}
        for name in names.get(self.model, ["attention"]):
            size = {"encoder": len(read) + 1, "decoder": len(written) + 1}.get(name.split()[0])
            square = [[float(row == column) for column in range(size)] for row in range(size)] if size else rows
            found[name] = [square] if name == "attention" else [square, square]
        return {"source": [*read, "</s>"], "target": [*written, "</s>"], "text": " ".join(target), "weights": found}


def parts(word):
    """The pieces of a word: two, if it is longer than three letters."""
    return [f"▁{word[:2]}", word[2:]] if len(word) > 3 else [f"▁{word}"]


def pieces(words):
    return [*chain.from_iterable(map(parts, words))]


def owners(words):
    """For each piece the index of its word."""
    return [place for place, word in enumerate(words) for _ in parts(word)]


def packages(folder):
    """What the server reads of each system's package."""
    for system in SYSTEMS:
        bleu = MODELS[system.split("-")[2]][0]
        scores = {"scores": {"test": {"bleu": bleu, "chrf": bleu}}, "validation": {"validation_bleu": bleu}}
        (folder / system).mkdir()
        files.write_json(folder / system / "config.json", scores)
        if system.startswith("toy_fr_en"):
            (folder / system / "README.md").write_text(CARD.format(system=system, bleu=bleu), encoding="utf-8")
    return [str(folder / system) for system in SYSTEMS]


def load(given):
    """A dictionary for each folder: the system is the folder's name."""
    return [("torch", Dictionary(Path(name).name)) for name in given["folders"]]


def serve(given):
    from pipeline.serving import app, limits, server

    command = (sys.executable, "-m", "tests.toys.dictionary")
    folders = [Path(name) for name in given.pop("folders")]
    allowed = limits.Limits(**given.pop("limits", {}))
    server.run(app.Options(folders=folders, command=command, limits=allowed, **({"port": 0} | given)))


if __name__ == "__main__":
    if sys.argv[1:]:
        cli.call(lambda: serve(json.loads(sys.argv[1])))
    else:
        worker.main(load)
