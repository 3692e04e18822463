"""Chooses the words of a sentence and keeps account of them."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from pipeline.phrasebook.lexicon import FIRST_NAMES, KIN, PEOPLE, SINGULAR_KIN, Frame
from pipeline.phrasebook.phrases import Pair, Phrase, noun_phrase
from pipeline.phrasebook.words import Noun, Word

W = TypeVar("W", bound=Word)
T = TypeVar("T")


class Draw:
    """Chooses words at random and remembers which; in one sentence one says either tu or vous."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.words: list[Word] = []
        self.you = self.any((1, 4))
        your = Pair("votre" if self.you == 4 else "ton", "your")
        self.owners = (Pair("mon", "my"), Pair("mon", "my"), Pair("notre", "our"), your, your)

    def chance(self, probability: float) -> bool:
        """True with that probability."""
        return self.random.random() < probability

    def any(self, options: Sequence[T]) -> T:
        """One of the options, evenly; no word is remembered."""
        return options[int(self.random.random() * len(options))]

    def pick(self, words: Sequence[W]) -> W:
        """One of the words, evenly, remembered."""
        word = self.any(words)
        self.words.append(word)
        return word

    def another(self, words: Sequence[W], *used: str) -> W:
        """One of the words whose English is none of those used."""
        return self.pick([word for word in words if word.english not in used])

    def plural(self, noun: Noun, probability: float = 0.3) -> bool:
        """Whether to put the noun in the plural."""
        return noun.number == "plural" or (noun.number == "both" and self.chance(probability))

    def item(self, frame: Frame, kind: str | Pair, adjective: float = 0.35, plural: float = 0.3) -> Phrase:
        """A noun of the frame, sometimes with an adjective that fits it."""
        noun = self.pick(frame.nouns)
        quality = self.pick(frame.adjectives) if self.chance(adjective) else None
        return noun_phrase(kind, noun, self.plural(noun, plural), quality)

    def name(self) -> Phrase:
        """A person's name."""
        name = self.pick(FIRST_NAMES)
        return Phrase(name.french, name.english, 2, name.feminine)

    def relative(self, plural: float = 0.15) -> Phrase:
        """My sister, your uncle, our neighbors."""
        noun = self.pick([noun for noun in KIN if plural < 1 or noun.english not in SINGULAR_KIN])
        owner = self.any(self.owners)
        return noun_phrase(owner, noun, noun.english not in SINGULAR_KIN and self.chance(plural))

    def acquaintance(self) -> Phrase:
        """Sophie, or the doctor."""
        return self.name() if self.chance(0.4) else noun_phrase("the", self.pick(PEOPLE), self.chance(0.15))

    def speaker(self) -> Phrase:
        """I, you or we: whoever is not taken for somebody named before."""
        return Phrase("", "", self.any((0, 3, self.you)), self.chance(0.5)).pronoun

    def pronoun(self) -> Phrase:
        """Any subject pronoun."""
        return Phrase("", "", self.any((0, self.you, 2, 2, 3, 5)), self.chance(0.5)).pronoun

    def someone(self, plural: float = 0.15) -> Phrase:
        """A third person by a noun or a name."""
        roll = self.random.random()
        if roll < 0.35:
            return self.name()
        if roll < 0.65:
            return self.relative(plural)
        return noun_phrase("the", self.pick(PEOPLE), self.chance(plural))

    def subject(self) -> Phrase:
        """Anybody: as often a pronoun as a third person by noun or name."""
        if self.chance(0.5):
            return self.pronoun()
        return self.someone()
