"""Whether a text is plainly not in the language that its corpus names: by its letters, then by its commonest words."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

# By the first word of the Unicode names of letters, the languages that write no text without them.
SCRIPTS = """
ARABIC ar fa ur ps, ARMENIAN hy, BENGALI bn, CJK zh yue, CYRILLIC be bg mk ru uk, DEVANAGARI hi mr ne, ETHIOPIC am ti,
GEORGIAN ka, GREEK el, GUJARATI gu, HANGUL ko, HEBREW he yi, HIRAGANA ja, KANNADA kn, KHMER km, LAO lo, LATIN ca cs cy
da de en es et eu fi fr ga gl hr hu id is it lt lv mt nb nl nn no pl pt ro sk sl sq sv sw tr vi, MALAYALAM ml, MYANMAR
my, SINHALA si, TAMIL ta, TELUGU te, THAI th, TIBETAN bo
"""
WORDS = """
cs se je že na to jsem by jako byl ale, da og det er ikke på til jeg af som hun, de der die und ist nicht das ein ich
mit den, en the and of to that with you for are it, es el los las que una por con para como más, fi ja on ei se että
oli hän mutta kun ole, fr le la les et des est une que dans pas, hu az és nem hogy egy van meg volt ez, it il che
di è la per una non sono con, nl het een van niet dat ik zijn op te met, pl się nie na jest że do co ale jak tak, pt
os não uma é do da em para com você, ro și nu în să pe este din care mai cu, sv och att det är som inte på av jag för,
tr bir ve bu için çok değil ben ne daha gibi
"""
SCRIPT = {code: script for script, *codes in map(str.split, SCRIPTS.split(",")) for code in codes}
COMMON = {code: frozenset(words) for code, *words in map(str.split, WORDS.split(","))}
LETTERS = 0.1  # share of the letters that are of the script of a language, at least
SEVERAL = 2  # different common words of a language, at least
PLAIN, FEW = 0.1, 0.25  # a language plainly has this share of common words, and another one at most this part of it


def mismatch(lines: Iterable[str], language: str) -> str | None:
    """Why a text is not in `language`, such as `reads like 'en'`; None if it may be, or nobody can say."""
    text, code = " ".join(lines).lower(), re.split("[-_]", language)[0].lower()
    letters = Counter(unicodedata.name(letter, "?").split()[0].split("-")[0] for letter in text if letter.isalpha())
    if SCRIPT.get(code) and letters[SCRIPT[code]] < LETTERS * letters.total():
        return f"is written in {letters.most_common(1)[0][0].title()} letters"
    counts = Counter(re.findall(r"[^\W\d_]+", text))
    shares = {known: sum(map(counts.__getitem__, words)) / (counts.total() or 1) for known, words in COMMON.items()}
    best = max(shares, key=lambda known: shares[known])
    several = len(COMMON[best] & counts.keys()) >= SEVERAL
    if code in COMMON and several and shares[best] >= PLAIN and shares[code] <= FEW * shares[best]:
        return f"reads like {best!r}"
    return None
