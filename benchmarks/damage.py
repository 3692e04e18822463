"""What cleaning finds in a corpus damaged in known ways: recall of each kind of damage, and good pairs lost.

    python -m benchmarks.damage multi30k_de_en --third multi30k_en_fr

Both corpora must be split. Of the training pairs 20 % are damaged, a fifth of them in each way; --third has targets in
another language. Writes the original, damaged and cleaned texts, to train on, into --out.
"""

import random
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from pipeline.common import files, parts
from pipeline.common.normalisation import num_words
from pipeline.common.params import Node
from pipeline.common.parts import Pair
from pipeline.preparation import bitexts, cleaning

KINDS = ("swapped", "misaligned", "third language", "untranslated", "truncated")
SHARE, SHORT = 0.2, 4  # of damaged pairs; words of a good pair's shorter side below which it is counted apart
SETTINGS = {
    "shipped": {},
    "language": {"language": True},
    "strict": {"language": True, "numbers": "drop", "max_length_ratio": 2.0},
}


def damage(pairs: list[Pair], third: list[str], draw: random.Random) -> tuple[list[Pair], list[str]]:
    """The pairs, and what is wrong with each."""
    damaged, kinds = list(pairs), ["good"] * len(pairs)
    for number, index in enumerate(draw.sample(range(len(pairs)), round(SHARE * len(pairs)))):
        source, target = pairs[index]
        words = target.split()
        kinds[index] = KINDS[number % len(KINDS)]
        damaged[index] = (
            (target, source),
            (source, pairs[draw.randrange(len(pairs))][1]),
            (source, draw.choice(third)),
            (source, source),
            (source, " ".join(words[: draw.randint(1, max(1, len(words) // 2))])),
        )[number % len(KINDS)]
    return damaged, kinds


def main(
    corpus: Annotated[str, typer.Argument(help="Whose training part is damaged.")],
    third: Annotated[str, typer.Option(help="A corpus with targets in a third language.")],
    out: Annotated[Path, typer.Option(help="Folder of the texts.")] = Path("work/damage"),
) -> None:
    """Print a table for each setting of the rules."""
    about = files.read_json(Path("data/split", corpus, "languages.json"))
    pairs = list(parts.read(Path("data/split", corpus), parts.TRAIN))
    others = [target for _, target in parts.read(Path("data/split", third), parts.TRAIN)]
    damaged, kinds = damage(pairs, others, random.Random(1))
    short = [kind == "good" and min(map(num_words, pair)) < SHORT for pair, kind in zip(damaged, kinds, strict=True)]
    kinds = ["good, short" if is_short else kind for kind, is_short in zip(kinds, short, strict=True)]
    totals = Counter(kinds)
    texts = {"original": pairs, "damaged": damaged}
    print("| rules | " + " | ".join(totals) + " |\n| :--- |" + " ---: |" * len(totals))
    for name, changes in SETTINGS.items():
        section = cleaning.Cleaning.merged([Node.read("clean"), Node(changes, "clean")])
        languages, tally = (about["source_language"], about["target_language"]), cleaning.Tally(0)
        kept = list(bitexts.kept_pairs(parts.encoded(damaged), section, languages, tally, set()))
        left = Counter(kept)
        dropped = Counter(kind for pair, kind in zip(damaged, kinds, strict=True) if not left[pair])
        print(f"| {name} | " + " | ".join(f"{dropped[kind] / totals[kind]:.2%}" for kind in totals) + " |")
        print(f"  {cleaning.listed(tally.counts())}")
        texts[name] = kept
    for name, text in texts.items():
        files.write_lines(out / f"{name}.source", (source for source, _ in text))
        files.write_lines(out / f"{name}.target", (target for _, target in text))


if __name__ == "__main__":
    typer.run(main)
