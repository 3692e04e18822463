"""The bundled corpus: French-English pairs written by a grammar, in parts that share no sentence."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from pipeline import seeding
from pipeline.files import DataError
from pipeline.phrasebook import actions, english, french, habits, people, places, questions, things
from pipeline.phrasebook.draw import Draw
from pipeline.phrasebook.lexicon import NARROW
from pipeline.phrasebook.patterns import PATTERNS
from pipeline.phrasebook.words import Expression, Word

PARTS = ("train", "validation", "test", "compositional")
TOPICS = (actions, habits, people, places, questions, things)  # importing them fills PATTERNS
RESERVED = 14  # one combination of a pattern and a word in so many is kept for the compositional part
SHARES = {"validation": 10, "test": 10}  # percent of the sentences without a reserved combination; train has the rest
MOST_PER_PATTERN = 400  # so that no pattern drowns the others
PATIENCE = 400  # draws without a new sentence after which a pattern is taken to be exhausted

SENTENCE_START = re.compile(r"(^|[.?!] )(\w)")


@dataclass(frozen=True)
class Sentence:
    """A pair, the pattern that wrote it and the words drawn for it."""

    pattern: str
    words: tuple[Word, ...]
    french: str
    english: str


def pairs(part: str, num_pairs: int, seed: int) -> list[tuple[str, str]]:
    """The first `num_pairs` pairs (French, English) of a part, all different; more of them change nothing before.

    Validation, test and train share no sentence of either language: the part of a pair is a function of its English,
    which is a function of its French. `compositional` holds the pairs with a combination of pattern and word that no
    other part has, though each pattern and each word occur in train. The seed says which pairs come, not which part
    a pair belongs to.

    Raises: DataError if the part is not one of PARTS, or num_pairs is below 1 or above what the part has.
    """
    return [(sentence.french, sentence.english) for sentence in sentences(part, num_pairs, seed)]


def sentences(part: str, num_pairs: int, seed: int) -> list[Sentence]:
    """As `pairs`, with the pattern and the words of each."""
    if part not in PARTS:
        raise DataError(f"phrasebook: unknown part, got {part!r}; expected one of {', '.join(PARTS)}")
    if num_pairs < 1:
        raise DataError(f"phrasebook {part}: num_pairs must be at least 1, got {num_pairs}")
    drawn: list[Sentence] = []
    for sentence in in_turn(part, seed):
        drawn.append(sentence)
        if len(drawn) == num_pairs:
            return drawn
    raise DataError(f"phrasebook {part}: num_pairs must be at most {len(drawn)} for seed {seed}, got {num_pairs}")


def in_turn(part: str, seed: int) -> Iterator[Sentence]:
    """Sentences of a part, the patterns taking turns until each is exhausted, in an order of its own every round."""
    streams = {name: of_pattern(name, part, seed) for name in sorted(PATTERNS)}
    order = Random(seeding.seed_for(seed, f"phrasebook {part} order"))
    while streams:
        for name in sorted(streams, key=lambda _: order.random()):
            sentence = next(streams[name], None)
            if sentence is None:
                del streams[name]
            else:
                yield sentence


def of_pattern(name: str, part: str, seed: int) -> Iterator[Sentence]:
    """The different sentences of one pattern that belong to a part."""
    random = Random(seeding.seed_for(seed, f"phrasebook {part} {name}"))
    seen: set[str] = set()
    failures = 0
    while len(seen) < MOST_PER_PATTERN and failures < PATIENCE:
        sentence = write(name, random)
        failures += 1
        if sentence.french not in seen and part_of(sentence) == part:
            failures = 0
            seen.add(sentence.french)
            yield sentence


def write(name: str, random: Random) -> Sentence:
    """One sentence of a pattern, spelt and with its capitals."""
    draw = Draw(random)
    pair = PATTERNS[name](draw)
    return Sentence(name, tuple(draw.words), capitals(french.spell(pair.french)), capitals(english.spell(pair.english)))


def capitals(text: str) -> str:
    """The text with a capital at the start of each sentence."""
    return SENTENCE_START.sub(lambda match: match[1] + match[2].upper(), text)


def part_of(sentence: Sentence) -> str:
    """The part a sentence belongs to: by its reserved combinations first, then by the hash of its English."""
    if reserved(sentence):
        return "compositional"
    bucket = stable_hash(normalise(sentence.english)) % 100
    for part, share in SHARES.items():
        if bucket < share:
            return part
        bucket -= share
    return "train"


def reserved(sentence: Sentence) -> set[tuple[str, str]]:
    """The combinations (pattern, word) of a sentence that only the compositional part may have."""
    keys = {
        (sentence.pattern, word.key)
        for word in sentence.words
        if not isinstance(word, Expression) and word not in NARROW
    }
    return {key for key in keys if stable_hash(" ".join(key)) % RESERVED == 0}


def normalise(text: str) -> str:
    """What makes two sentences the same across parts: NFKC, casefolded, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def stable_hash(text: str) -> int:
    """A number from the SHA-256 of the text, the same on every machine."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
