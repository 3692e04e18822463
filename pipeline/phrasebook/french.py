"""French spelling and agreement: elision, contractions, plurals, adjectives, determiners."""

import re
from functools import cache

from pipeline.phrasebook.words import Adjective, Noun

POSSESSIVES = (
    ("mon", "ma", "mes"),
    ("ton", "ta", "tes"),
    ("son", "sa", "ses"),
    ("notre", "notre", "nos"),
    ("votre", "votre", "vos"),
    ("leur", "leur", "leurs"),
)
# These begin with a vowel or an h, and yet nothing is elided before them.
UNELIDED = {"haricot", "haricots", "homard", "homards", "huit", "onze", "oui", "yaourt", "yaourts"}
PLURALS = {"œil": "yeux", "grand-mère": "grands-mères", "grand-père": "grands-pères", "pneu": "pneus"}
FEMININES = {
    "beau": "belle",
    "blanc": "blanche",
    "bon": "bonne",
    "cher": "chère",
    "discret": "discrète",
    "doux": "douce",
    "frais": "fraîche",
    "gentil": "gentille",
    "gros": "grosse",
    "inquiet": "inquiète",
    "long": "longue",
    "nouveau": "nouvelle",
    "sec": "sèche",
    "vieux": "vieille",
}
BEFORE_VOWEL = {"beau": "bel", "nouveau": "nouvel", "vieux": "vieil"}

ELIDED = re.compile(r"(?<![-\w])(je|me|te|se|le|la|ne|de|que)\b (?=(\w+))")
CONTRACTED = (
    (re.compile(r"\bà le "), "au "),
    (re.compile(r"\bà les "), "aux "),
    (re.compile(r"\bde le "), "du "),
    (re.compile(r"\bde les "), "des "),
    (re.compile(r"\bsi (?=ils?\b)"), "s'"),
)


@cache
def opens_with_vowel(word: str) -> bool:
    """Whether a word before this one is elided or takes its vowel form (`l'eau`, `cet homme`, `bel arbre`)."""
    lower = word.lower()
    if lower in UNELIDED:
        return False
    return lower[0] in "aeiouhàâéèêëîïôûœ" or lower == "y"


def spell(text: str) -> str:
    """The words of a French text as they are written together: `de le pain à le homme` gives `du pain à l'homme`."""
    text = ELIDED.sub(lambda match: f"{match[1][:-1]}'" if opens_with_vowel(match[2]) else match[0], text)
    for pattern, contracted in CONTRACTED:
        text = pattern.sub(contracted, text)
    return text


@cache
def plural(word: str) -> str:
    """The plural of a noun or of a masculine adjective."""
    if word in PLURALS:
        return PLURALS[word]
    if " " in word:  # carte postale, chemin de fer: the head, and an adjective after it
        head, rest = word.split(" ", 1)
        return f"{plural(head)} {rest if rest.startswith(('de ', 'd', 'à ')) else plural(rest)}"
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + ("x" if word.endswith(("eau", "eu")) and word != "bleu" else "s")


@cache
def feminine(word: str) -> str:
    """The feminine of an adjective."""
    if word in FEMININES:
        return FEMININES[word]
    if word.endswith("e"):
        return word
    for ending, becomes in (("eux", "euse"), ("er", "ère"), ("if", "ive"), ("el", "elle"), ("en", "enne")):
        if word.endswith(ending):
            return word.removesuffix(ending) + becomes
    return word + "e"


def agree(word: str, is_feminine: bool, is_plural: bool, following: str = "") -> str:
    """An adjective or participle in the gender and number of its noun, which may follow it."""
    if is_feminine:
        return feminine(word) + ("s" if is_plural else "")
    if is_plural:
        return plural(word)
    return BEFORE_VOWEL.get(word, word) if following and opens_with_vowel(following) else word


def determiner(kind: str, noun: Noun, is_plural: bool, following: str, adjective_first: bool) -> str:
    """The determiner of a noun phrase whose next word is `following`.

    `kind` is `le`, `un`, `ce`, `de`, one of `mon` to `leur`, or a number, which stays as it is. `un` gives `des` in the
    plural (`de` where an adjective stands first) and the partitive for what is not counted.
    """
    vowel = opens_with_vowel(following)
    if kind == "un" and noun.number == "mass":
        return "de la" if noun.feminine else "de le"
    if kind == "un" and is_plural:
        return "de" if adjective_first else "des"
    if kind == "ce" and vowel and not (noun.feminine or is_plural):
        return "cet"
    for masculine, feminine_form, plural_form in (("le", "la", "les"), ("un", "une", "des"), ("ce", "cette", "ces")):
        if kind == masculine:
            return plural_form if is_plural else feminine_form if noun.feminine else masculine
    for masculine, feminine_form, plural_form in POSSESSIVES:
        if kind == masculine:
            return plural_form if is_plural else feminine_form if noun.feminine and not vowel else masculine
    return kind


def noun_phrase(kind: str, noun: Noun, is_plural: bool, adjective: Adjective | None = None) -> str:
    """Determiner, adjective and noun in their order, before spelling: `un nouvel hôtel`, `de la eau froide`."""
    head = plural(noun.french) if is_plural and noun.number != "plural" else noun.french
    words = [head]
    if adjective:
        agreed = agree(adjective.french, noun.feminine, is_plural, head if adjective.before else "")
        words = [agreed, head] if adjective.before else [head, agreed]
    first = determiner(kind, noun, is_plural, words[0].split()[0], bool(adjective and adjective.before))
    return " ".join([first, *words])
