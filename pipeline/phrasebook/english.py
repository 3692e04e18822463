"""English morphology: plurals, verb forms, a or an, genitives, comparatives."""

import re
from functools import cache

from pipeline.phrasebook.words import Adjective, Noun

SUBJECTS = ("I", "you", "he", "we", "you", "they")
POSSESSIVES = ("my", "your", "his", "our", "your", "their")
PLURALS = {
    "child": "children",
    "foot": "feet",
    "knife": "knives",
    "mailman": "mailmen",
    "man": "men",
    "mouse": "mice",
    "scarf": "scarves",
    "sheep": "sheep",
    "shelf": "shelves",
    "stomach": "stomachs",
    "tomato": "tomatoes",
    "tooth": "teeth",
    "woman": "women",
}
# base: past and past participle
IRREGULAR = {
    "be": "was been",
    "become": "became become",
    "break": "broke broken",
    "bring": "brought brought",
    "buy": "bought bought",
    "choose": "chose chosen",
    "come": "came come",
    "cost": "cost cost",
    "cut": "cut cut",
    "do": "did done",
    "draw": "drew drawn",
    "drink": "drank drunk",
    "drive": "drove driven",
    "eat": "ate eaten",
    "find": "found found",
    "forget": "forgot forgotten",
    "get": "got gotten",
    "give": "gave given",
    "go": "went gone",
    "have": "had had",
    "hide": "hid hidden",
    "keep": "kept kept",
    "know": "knew known",
    "leave": "left left",
    "lend": "lent lent",
    "lose": "lost lost",
    "meet": "met met",
    "put": "put put",
    "read": "read read",
    "run": "ran run",
    "say": "said said",
    "see": "saw seen",
    "sell": "sold sold",
    "send": "sent sent",
    "show": "showed shown",
    "sing": "sang sung",
    "sleep": "slept slept",
    "speak": "spoke spoken",
    "swim": "swam swum",
    "take": "took taken",
    "think": "thought thought",
    "understand": "understood understood",
    "wake": "woke woken",
    "wear": "wore worn",
    "win": "won won",
    "write": "wrote written",
}
DOUBLED = {"cut", "forget", "get", "put", "run", "swim", "win", "big", "hot", "sad"}
LONG = {"famous", "modern", "polite", "shy", "useful"}  # short, and yet compared with more
CONSONANT_SOUND = ("euro", "one ", "uni", "use")
VOWEL_SOUND = ("hour", "honest")
ARTICLE = re.compile(r"\b([Aa]) (?=(\w+))")


def spell(text: str) -> str:
    """The text with `a` as `an` where a vowel sound follows."""
    return ARTICLE.sub(lambda match: f"{match[1]}n " if opens_with_vowel(match[2]) else match[0], text)


def opens_with_vowel(word: str) -> bool:
    """Whether a word begins with a vowel sound."""
    lower = word.lower()
    if lower.startswith(CONSONANT_SOUND) or lower == "one":
        return False
    return lower[0] in "aeiou" or lower.startswith(VOWEL_SOUND)


def add_s(word: str) -> str:
    """`word` with the ending -s or -es, of plurals and third persons alike."""
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh", "go", "do")) else "s")


@cache
def plural(noun: str) -> str:
    """The plural of a noun; of a compound, its last word's."""
    *front, last = noun.split(" ")
    return " ".join([*front, PLURALS.get(last, add_s(last))])


def genitive(owner: str, is_plural: bool) -> str:
    """`Marie's`, `the children's`, `my parents'`."""
    return owner + ("'" if is_plural and owner.endswith("s") else "'s")


def inflect(verb: str, ending: str) -> str:
    """A form of a verb whose particles follow it: `ending` is `s`, `past`, `participle` or `ing`."""
    base, *particles = verb.split(" ")
    return " ".join([form(base, ending), *particles])


@cache
def form(base: str, ending: str) -> str:
    """A form of a verb of one word."""
    if ending == "s":
        return {"be": "is", "have": "has"}.get(base) or add_s(base)
    if ending == "ing":
        if base.endswith("e") and base not in ("be", "see"):
            return base[:-1] + "ing"
        return (base + base[-1] if base in DOUBLED else base) + "ing"
    if base in IRREGULAR:
        return IRREGULAR[base].split()[0 if ending == "past" else 1]
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + ("d" if base.endswith("e") else "ed")


def be(person: int) -> str:
    """The present of `be`; persons 0 to 5 are I, you, he, we, you, they."""
    return ("am", "are", "is", "are", "are", "are")[person]


def was(person: int) -> str:
    """The past of `be`."""
    return "was" if person in (0, 2) else "were"


def present(verb: str, person: int) -> str:
    """The simple present."""
    return inflect(verb, "s") if person == 2 else verb


def comparative(adjective: str) -> str:
    """`bigger`, `heavier`, `more useful`."""
    if adjective in LONG or (len(adjective) > 6 and not adjective.endswith("y")):
        return f"more {adjective}"
    return short(adjective, "er")


def superlative(adjective: str) -> str:
    """`biggest`, `heaviest`, `most useful`."""
    if comparative(adjective).startswith("more "):
        return f"most {adjective}"
    return short(adjective, "est")


def short(adjective: str, ending: str) -> str:
    """A short adjective with -er or -est."""
    if adjective.endswith("y"):
        return f"{adjective[:-1]}i{ending}"
    doubled = adjective + adjective[-1] if adjective in DOUBLED else adjective
    return doubled + ending.removeprefix("e" if doubled.endswith("e") else "")


def noun_phrase(determiner: str, noun: Noun, is_plural: bool, adjective: Adjective | None = None) -> str:
    """Determiner, adjective and noun, before spelling.

    `a` gives `some`, `bare` nothing, `this` `these` where the noun is no single thing.
    """
    if determiner in ("a", "bare"):
        counted = not is_plural and noun.number != "mass"
        determiner = "a" if counted else "some" if determiner == "a" else ""
    if determiner == "this" and is_plural:
        determiner = "these"
    head = plural(noun.english) if is_plural and noun.number != "plural" else noun.english
    return " ".join(word for word in (determiner, adjective.english if adjective else "", head) if word)
