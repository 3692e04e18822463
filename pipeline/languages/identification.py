"""The language of a text, by the model of py3langid, which loads in half a second when it is first asked."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

OTHER_CODES = {"nb": "no", "fil": "tl", "cmn": "zh"}  # under which the model has a language


@cache
def identifier() -> Any:
    """The model of all its languages; asking it changes nothing in it, so threads may share it."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def base(code: str) -> str:
    """The model's code for a language tag: `pt` for `pt_BR`."""
    language = re.split("[-_]", code)[0].lower()
    return OTHER_CODES.get(language, language)


def identify(text: str, among: Sequence[str] | None = None) -> tuple[str, float]:
    """The code of a text's language, and its probability: among all languages, or among those of some tags.

    A tag that the model does not know has probability 0.
    """
    ranked = dict(identifier().rank(text))
    shares = ranked if among is None else {tag: ranked.get(base(tag), 0.0) for tag in among}
    code = max(shares, key=lambda tag: shares[tag])
    return code, shares[code] / (sum(shares.values()) or 1.0)


def knows(tag: str) -> bool:
    """Whether the model knows the language of a tag."""
    return base(tag) in identifier().labels
