"""The words of a sentence as BLEU counts them, with the white space that stood before each."""

from collections.abc import Callable, Sequence

from sacrebleu.metrics.bleu import BLEU

Tokenize = Callable[[str], list[str]]


def tokenizer(name: str) -> Tokenize:
    """The tokenizer that sacrebleu's BLEU calls by this name, such as `13a`."""
    tokenize = BLEU(tokenize=name, force=True).tokenizer
    return lambda text: str(tokenize(text)).split()


def spaced(text: str, words: Sequence[str]) -> list[str]:
    """`words` of `text`, a space before each that has one there: `He sleeps.` is `He`, ` sleeps`, `.`.

    If the tokenizer wrote a word differently from the text, every word has a space.
    """
    found: list[str] = []
    end = 0
    for word in words:
        start = text.find(word, end)
        if start < 0 or text[end:start].strip():
            return [f" {word}" if index else word for index, word in enumerate(words)]
        found.append(f" {word}" if start > end and found else word)
        end = start + len(word)
    return found
