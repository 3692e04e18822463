"""Noun phrases in both languages at once, and the joining of what is said."""

from dataclasses import dataclass
from typing import NamedTuple

from pipeline.phrasebook import english, french
from pipeline.phrasebook.words import Adjective, Noun, Word


class Pair(NamedTuple):
    """The same text in both languages."""

    french: str
    english: str


@dataclass(frozen=True)
class Phrase:
    """A noun phrase or pronoun in both languages; persons 0 to 5 are je, tu, il, nous, vous, ils."""

    french: str
    english: str
    person: int
    feminine: bool

    @property
    def plural(self) -> bool:
        """Whether adjectives and participles that agree with it are plural."""
        return self.person > 2

    @property
    def pronoun(self) -> "Phrase":
        """The subject pronoun that takes up the phrase."""
        names = ("je", "tu", "elle" if self.feminine else "il", "nous", "vous", "elles" if self.feminine else "ils")
        subject = "she" if self.feminine and self.person == 2 else english.SUBJECTS[self.person]
        return Phrase(names[self.person], subject, self.person, self.feminine)

    @property
    def object(self) -> Pair:
        """The direct object pronoun that takes up a third person."""
        gone = "les" if self.plural else "la" if self.feminine else "le"
        return Pair(gone, "them" if self.plural else "her" if self.feminine else "him")

    @property
    def possessive(self) -> Pair:
        """French determiner (masculine singular) and English determiner of what the phrase has."""
        hers = self.feminine and self.person == 2
        return Pair(french.POSSESSIVES[self.person][0], "her" if hers else english.POSSESSIVES[self.person])

    def adjective(self, adjective: Adjective) -> Pair:
        """A predicate adjective, agreeing in French."""
        return Pair(french.agree(adjective.french, self.feminine, self.plural), adjective.english)


KINDS = {  # French determiner, English determiner
    "a": ("un", "a"),
    "bare": ("un", "bare"),  # du pain, des pommes -> bread, apples
    "the": ("le", "the"),
    "general": ("le", ""),  # le pain, les pommes -> bread, apples
    "this": ("ce", "this"),
    "of none": ("de", ""),  # jamais de pain -> never ... bread
}


def noun_phrase(kind: str | Pair | Word, noun: Noun, is_plural: bool, adjective: Adjective | None = None) -> Phrase:
    """A noun phrase; `kind` is one of KINDS, a number, or a French and an English determiner."""
    determiners = Pair(*KINDS[kind]) if isinstance(kind, str) else kind
    return Phrase(
        french.noun_phrase(determiners.french, noun, is_plural, adjective),
        english.noun_phrase(determiners.english, noun, is_plural, adjective),
        5 if is_plural else 2,
        noun.feminine,
    )


def say(*parts: "Pair | Phrase | Word | str") -> Pair:
    """One text of the parts in order; a plain string is punctuation or a name, the same in both languages."""
    french_words = words(*(part if isinstance(part, str) else part.french for part in parts))
    english_words = words(*(part if isinstance(part, str) else part.english for part in parts))
    for mark in ".,":
        french_words = french_words.replace(f" {mark}", mark)
    for mark in ".,?!:":
        english_words = english_words.replace(f" {mark}", mark)
    return Pair(french_words, english_words)


def words(*parts: str) -> str:
    """The parts that are not empty, a space between them."""
    return " ".join(part for part in parts if part)
