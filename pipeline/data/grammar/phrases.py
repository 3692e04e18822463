"""Phrases and clauses in both languages at once, from words that a draw chooses and keeps account of."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, TypeVar

from pipeline.data.grammar import conjugation, english, french
from pipeline.data.grammar.lexicon import FIRST_NAMES, KIN, PEOPLE, SINGULAR_KIN, Frame
from pipeline.data.grammar.words import Adjective, Expression, Noun, Verb, Word

W = TypeVar("W", bound=Word)
T = TypeVar("T")


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


class Draw:
    """Chooses words at random and remembers which; in one sentence one says either tu or vous."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.words: list[Word] = []
        self.you = self.any((1, 4))
        your = Pair("votre" if self.you == 4 else "ton", "your")
        self.owners = (Pair("mon", "my"), Pair("mon", "my"), Pair("notre", "our"), your, your)

    def keys(self) -> set[str]:
        """The words drawn that make a combination with the pattern."""
        return {word.key for word in self.words if not isinstance(word, Expression)}

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


def clause(
    subject: Phrase,
    verb: Verb,
    tenses: str,
    negation: str = "",
    *,
    pronoun: str = "",
    adverb: Expression | None = None,
    agreement: Phrase | None = None,
) -> Pair:
    """Subject and verb, without what follows them.

    `tenses` names the French tense and the English one where French leaves a choice (see FRENCH and ENGLISH).
    `negation` is `pas`, `jamais` or `plus`; an English sentence with `plus` ends in `anymore`, which the caller adds.
    `pronoun` is the French object pronoun (its English stands after the verb and is the caller's), `agreement` what a
    participle with avoir agrees with.
    """
    return Pair(
        french_clause(subject, verb, FRENCH[tenses], negation, pronoun, adverb, agreement),
        english_clause(subject, verb, tenses, negation, adverb),
    )


FRENCH = {
    "present": "présent",
    "progressive": "présent",
    "past": "passé composé",
    "perfect": "passé composé",
    "used to": "imparfait",
    "past progressive": "imparfait",
    "future": "futur",
}
REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")


def french_clause(
    subject: Phrase,
    verb: Verb,
    tense: str,
    negation: str,
    pronoun: str,
    adverb: Expression | None,
    agreement: Phrase | None,
) -> str:
    """The French half of a clause, before spelling."""
    person, infinitive = subject.person, verb.infinitive
    participle = ""
    if tense == "passé composé":
        moved = verb.reflexive or conjugation.auxiliary(infinitive) == "être"
        form = conjugation.present("être" if moved else "avoir", person)
        agreeing = subject if moved else agreement
        participle = conjugation.participle(infinitive)
        if agreeing:
            participle = french.agree(participle, agreeing.feminine, agreeing.plural)
    else:
        conjugate = {"présent": conjugation.present, "imparfait": conjugation.imparfait, "futur": conjugation.futur}
        form = conjugate[tense](infinitive, person)
    reflexive = REFLEXIVE[person] if verb.reflexive else ""
    no = "ne" if negation else ""
    after = adverb.french if adverb else ""
    return words(subject.french, no, reflexive, pronoun, form, negation, after, participle)


def english_clause(subject: Phrase, verb: Verb, tense: str, negation: str, adverb: Expression | None) -> str:
    """The English half of a clause."""
    person, base = subject.person, verb.english
    often = adverb.english if adverb else "never" if negation == "jamais" else ""
    no = "n't" if negation in ("pas", "plus") else ""
    if tense == "progressive":
        return f"{subject.english} {deny(english.be(person), no)} {english.inflect(base, 'ing')}"
    if tense == "past progressive":
        return f"{subject.english} {deny(english.was(person), no)} {english.inflect(base, 'ing')}"
    if tense == "used to":
        return f"{subject.english} used to {base}"
    if tense == "future":
        return words(subject.english, deny("will", no), often, base)
    if tense == "perfect":
        return words(subject.english, "has" if person == 2 else "have", often, english.inflect(base, "participle"))
    if base == "can":
        return words(subject.english, deny("can", no))
    if no:
        does = "did" if tense == "past" else english.present("do", person)
        return words(subject.english, deny(does, no), often, base)
    form = english.inflect(base, "past") if tense == "past" else english.present(base, person)
    return words(subject.english, often, form)


def deny(verb: str, no: str) -> str:
    """An English auxiliary, negated if `no` is `n't`."""
    if not no:
        return verb
    return {"am": "am not", "will": "won't", "can": "can't"}.get(verb, f"{verb}n't")


def words(*parts: str) -> str:
    """The parts that are not empty, a space between them."""
    return " ".join(part for part in parts if part)


def say(*parts: "Pair | Phrase | Word | str") -> Pair:
    """One text of the parts in order; a plain string is punctuation or a name, the same in both languages."""
    french_words = words(*(part if isinstance(part, str) else part.french for part in parts))
    english_words = words(*(part if isinstance(part, str) else part.english for part in parts))
    for mark in ".,":
        french_words = french_words.replace(f" {mark}", mark)
    for mark in ".,?!:":
        english_words = english_words.replace(f" {mark}", mark)
    return Pair(french_words, english_words)


def state(
    subject: Phrase, adjective: Adjective, negation: bool = False, degree: Expression | None = None, past: bool = False
) -> Pair:
    """Somebody is, is not or was very sad."""
    said = subject.adjective(adjective)
    be = conjugation.imparfait if past else conjugation.present
    copula = (english.was if past else english.be)(subject.person)
    french_degree, english_degree = (degree.french, degree.english) if degree else ("", "")
    no = ("ne", "pas") if negation else ("", "")
    return Pair(
        words(subject.french, no[0], be("être", subject.person), no[1], french_degree, said.french),
        words(subject.english, deny(copula, "n't" if negation else ""), english_degree, said.english),
    )
