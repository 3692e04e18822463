"""What a word is: a French lemma, its gender or place where it has one, and the one English lemma it translates to."""

from dataclasses import dataclass
from typing import Literal

Number = Literal["both", "mass", "plural"]


@dataclass(frozen=True)
class Word:
    """A French lemma with its one translation."""

    french: str
    english: str

    @property
    def key(self) -> str:
        """What the word is called in a reserved combination: its English, so that `ami` and `amie` share one."""
        return f"{type(self).__name__} {self.english}"


@dataclass(frozen=True)
class Noun(Word):
    """A common noun; `mass` ones are never counted, `plural` ones never single."""

    feminine: bool
    number: Number = "both"


@dataclass(frozen=True)
class Name(Word):
    """The name of a person, a city or a country."""

    feminine: bool


@dataclass(frozen=True)
class Adjective(Word):
    """An adjective; `before` says that it stands before its noun in French."""

    before: bool = False


@dataclass(frozen=True)
class Verb(Word):
    """A verb by its infinitive; a French one may be reflexive (`se lever`), an English one may end in a particle."""

    @property
    def reflexive(self) -> bool:
        """Whether the French verb carries `se` (or `s'`)."""
        return self.french.startswith(("se ", "s'"))

    @property
    def infinitive(self) -> str:
        """The French infinitive without `se`."""
        return self.french.removeprefix("se ").removeprefix("s'")


@dataclass(frozen=True)
class Expression(Word):
    """A number, an adverb or a time: it belongs to the frame of a sentence and never makes a new combination."""
