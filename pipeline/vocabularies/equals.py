"""Equals of characters: how a vocabulary writes those that it lacks with those that it has."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence

from ..common.normalisation import all_normalised, is_accent

# Characters that are typed for each other, the most usual first; opening and closing quotation marks apart.
ALIKE = (
    *("'’ʼ‘‛‚ʹ′´`ʻ‹›", '"“„‟«″', '"”»″', "–—―‒-", "-‐‑−⁃–", "/⁄∕", "·•∙‧", "~∼〜", ".。", ",،、", "?؟", ";؛", ":∶"),
    *("x×", "*∗", "|∣"),
)
SHOWN = 5  # characters in a message


class Equals(dict[int, str]):
    """Code point -> its best equal in some characters, else itself, for `str.translate`; computed at first use.

    Unless it `may_lose`, an equal keeps accents and case.
    """

    def __init__(self, characters: Collection[str], *, may_lose: bool = True) -> None:
        self.characters = frozenset(characters) | {" "}
        self.others = re.compile(f"[^{re.escape(''.join(sorted(self.characters)))}]")
        self.attempts = ATTEMPTS if may_lose else ATTEMPTS[:2]

    def written(self, text: str) -> str:
        """A text normalised, and with equals in place of the characters that have one."""
        return self.all_written([text])[0]

    def all_written(self, lines: Sequence[str]) -> list[str]:
        """The lines as `written` gives them."""
        return [
            " ".join(line.translate(self).split()) if self.others.search(line) else line
            for line in all_normalised(lines)
        ]

    def missing(self, text: str) -> str:
        """The different characters of a text that have no equal, in their order."""
        return "".join(dict.fromkeys(one for one in self.written(text) if one not in self.characters))

    def __missing__(self, code: int) -> str:
        self[code] = chr(code)
        for steps in self.attempts:
            text = chr(code)
            for step in steps:
                text = "".join(one if one in self.characters else step(one, self.characters) for one in text)
            if self.characters.issuperset(text):
                self[code] = text
                break
        return self[code]


def alike(character: str, known: Collection[str]) -> str:
    """A known character that is typed for this one, else this one."""
    return next((other for group in ALIKE if character in group for other in group if other in known), character)


def compatible(character: str, known: Collection[str]) -> str:
    """The characters that Unicode calls compatible, as the two letters of ﬁ; of digits the European ones."""
    if (digit := unicodedata.decimal(character, None)) is not None:
        return str(digit)
    text = unicodedata.normalize("NFKC", character)
    return f" {text}" if "⁄" in text else text  # 2½ is no 21/2


def unaccented(character: str, known: Collection[str]) -> str:
    """A letter with as many of its accents as are known, an accent alone as nothing, œ as two letters."""
    letters = unicodedata.normalize("NFD", character)
    while letters and is_accent(letters[-1]):
        letters = letters[:-1]
        if (shorter := unicodedata.normalize("NFC", letters)) in known:
            return shorter
    name = unicodedata.name(letters, "") if len(letters) == 1 and letters.isalpha() else ""
    if len(pair := name.split(" ")[-1]) == 2 and name.startswith("LATIN"):
        return pair.capitalize() if "CAPITAL" in name else pair.lower()
    try:
        return unicodedata.lookup(name.split(" WITH ")[0])  # ø is no o with an accent to Unicode
    except KeyError:
        return letters


def other_case(character: str, known: Collection[str]) -> str:
    """A letter in the other case; ß as ss."""
    folded = character.casefold()
    return folded if folded != character and all(one in known for one in folded) else character.swapcase()


ATTEMPTS = (
    *((alike,), (compatible, alike), (compatible, unaccented, alike), (compatible, other_case)),
    (compatible, other_case, unaccented, alike),
)


def listed(lines: Counter[str]) -> str:
    """Characters, each with the number of its lines, the most frequent ones alone."""
    shown = [f"{character} on {number:,} line{'s'[number < 2 :]}" for character, number in lines.most_common(SHOWN)]
    return ", ".join(shown) + f" and {len(lines) - SHOWN} others" * (len(lines) > SHOWN)
