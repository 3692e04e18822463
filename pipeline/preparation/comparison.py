"""The two forms in which texts are compared, to tell whether they are the same exactly or nearly."""

import hashlib
import re
import unicodedata

from ..common.normalisation import is_accent, normalised

# Marks that end or quote a sentence, after NFKD. Thai, Lao, Burmese and Khmer end it with a space.
ENDS = '.!?:;()[]"“”„‟«»‹›「」『』〝〞【】。؟؛۔।॥։።፧།༎။។៕'
SPACED = re.compile(r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\s+")
LATIN_MARKS = re.compile("[\u0300-\u0344\u0346-\u036f\u2010-\u2019]+")  # accents, dashes, apostrophes: none is compared
END = "\n"
SPACING_MODIFIERS = range(0x2B0, 0x300)  # letters to Unicode, apostrophes and primes to those who type them


def folded(text: str) -> str:
    """The form that level `exact` compares: normalised, NFKC, case folded, white space folded again."""
    if text.isascii():
        return " ".join(text.lower().split())
    once = unicodedata.normalize("NFKC", normalised(text)).casefold()
    return " ".join(unicodedata.normalize("NFKC", once).split())  # folding may take a letter apart


def sentences(text: str) -> list[str]:
    """The form that level `near` compares: the letters and digits of each sentence that has any.

    They are taken after NFKC and case folding, without accents, punctuation, symbols and white space.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKD", SPACED.sub(rf"\1{END}", text)).casefold()
        text = LATIN_MARKS.sub("", text)  # ASCII is translated ten times as fast
    return [sentence for sentence in text.translate(FORMS).split(END) if sentence]


def digest(text: str, salt: bytes = b"") -> bytes:
    """8 bytes that stand for `text`, the same on every machine.

    Units: two different texts among n share theirs with probability n^2 / 2^65: 1 in 20,000 for 40 million.
    """
    return hashlib.blake2b(text.encode(), digest_size=8, salt=salt).digest()


class Forms(dict[int, str | None]):
    """Code point -> its compared form, or None, for `str.translate`; computed when a character first occurs."""

    def __missing__(self, code: int) -> str | None:
        folds = unicodedata.normalize("NFKD", chr(code).casefold())
        self[code] = END if folds in (*ENDS, END) else "".join(filter(is_compared, folds)) or None
        return self[code]


def is_compared(character: str) -> bool:
    """Whether a character, decomposed by NFKD, is a letter, a digit or a sign that makes another letter."""
    kind = unicodedata.category(character)[0]
    return not is_accent(character) if kind == "M" else kind in "LN" and ord(character) not in SPACING_MODIFIERS


FORMS = Forms()
