"""Tokenisation into words by the rules of Moses (sacremoses), without lower-casing, escaping or normalising."""

import re
from collections.abc import Iterable


class Moses:
    """Text to words and back by the rules of one language, or of English if Moses has none for it."""

    def __init__(self, language: str) -> None:
        from sacremoses import MosesDetokenizer, MosesTokenizer  # a third of a second, which pieces need not wait for

        code = re.split("[-_]", language)[0].lower()  # the rules of pt_BR are those of pt
        self.tokenizer, self.detokenizer = MosesTokenizer(lang=code), MosesDetokenizer(lang=code)

    def split(self, text: str) -> list[str]:
        """The words of one line, punctuation marks among them; none holds white space."""
        # `escape` would write &apos; for an apostrophe, which a reference does not have
        words: list[str] = self.tokenizer.tokenize(text, escape=False)
        return words

    def join(self, words: Iterable[str]) -> str:
        """The text of some words, on one line, with spaces if the language has them."""
        text: str = self.detokenizer.detokenize(list(words), unescape=False)
        return text
