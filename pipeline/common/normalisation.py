"""Normalisation of every text before a vocabulary reads it, in training and in translation; and its words, counted."""

import re
import unicodedata
from collections.abc import Sequence

# Format characters (category Cf) that nobody sees, and noncharacters. Written out, since a newer Python knows more of
# them than an older one, and the same text must give the same pieces in both. Not among them, and so kept:
# - U+200C and U+200D, the joiners that scripts and emoji need; U+180E, the gap before a last vowel in Mongolian; the
#   controls that place the signs of hieroglyphs (U+13430 to U+1343F) and of shorthand (U+1BCA0 to U+1BCA3);
# - the signs that are drawn around or above digits and letters: U+0600 to U+0605, U+06DD, U+070F, U+0890, U+0891,
#   U+08E2, U+110BD, U+110CD;
# - the tags that make a flag, such as Scotland's, and that end it: a black flag, three to six of them, U+E007F.
FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
INVISIBLE = re.compile(
    f"({FLAG})|[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufdd0-\ufdef\ufeff\ufff9-\ufffb"
    "\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]"
)

SELECTORS = re.compile("[\u034f\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")  # invisible marks of class 0

# Thai, Lao, Burmese, Khmer, Japanese and Chinese
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
CHARACTER = re.compile(f"[{UNSPACED}]")
CHARACTERS_PER_WORD = 2  # of these, about


def normalised(text: str) -> str:
    """`text` in Unicode NFC without invisible characters, one space for every stretch of white space, none at the ends.

    Canonically equivalent texts give the same result, and a normalised text does not change.
    """
    is_printable = text.isprintable()  # fast; false for every text with a format character or another space than " "
    if not text.isascii():
        if not is_printable:
            text = INVISIBLE.sub(r"\1", text)  # first: one between a letter and its accent keeps NFC from joining them
        text = unicodedata.normalize("NFC", text)
    is_folded = is_printable and "  " not in text and not text.startswith(" ") and not text.endswith(" ")
    return text if is_folded else " ".join(text.split())


def all_normalised(lines: Sequence[str]) -> Sequence[str]:
    """The lines, each as `normalised` gives it: a quarter of the time where they are already."""
    text = " ".join(lines)
    has_spaces = "  " in text or text[:1] == " " or text[-1:] == " "  # so too where a line is empty
    if text.isprintable() and not has_spaces and unicodedata.is_normalized("NFC", text):
        return lines
    return [normalised(line) for line in lines]


def is_accent(character: str) -> bool:
    """Whether a character is a mark that a text may lack: an accent, a vowel point, the choice of a picture.

    Vowel signs of Thai or Devanagari are none, nor the dots that turn Japanese ka into ga: they make another letter.
    """
    place = unicodedata.combining(character)  # Unicode's canonical combining class
    drawn = unicodedata.category(character) == "Me" or SELECTORS.match(character)
    return bool(drawn) or place == 1 or 10 <= place <= 35 or place >= 200


def num_words(text: str) -> int:
    """How many words a normalised text has: between spaces or, in scripts without them, pairs of letters."""
    spaced = text.count(" ") + bool(text)
    most = (len(text.encode(errors="replace")) - len(text)) // 2  # of these characters, which have three bytes or four
    if most // CHARACTERS_PER_WORD <= spaced:  # so of nearly all text with spaces
        return spaced
    return max(spaced, len(CHARACTER.findall(text)) // CHARACTERS_PER_WORD)
