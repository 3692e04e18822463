"""The BLEU of validation, by sacrebleu, and how it tells the words of a language apart."""

import re
from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU

Lines = Sequence[str]

DIGITS = 4  # of a score on the scale of 0 to 100

# Languages without spaces between words, and Korean, whose words are whole phrases: sacreBLEU has `zh` for Chinese.
# For Japanese and Korean its own choices, ja-mecab and ko-mecab, need dictionaries of 50 MB.
CHINESE = ("zh", "zho", "cmn", "yue", "wuu", "lzh")
CHARACTERS = ("ja", "jpn", "ko", "kor", "th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod")
TOKENIZERS = dict.fromkeys(CHINESE, "zh") | dict.fromkeys(CHARACTERS, "char")


def tokenizer(language: str) -> str:
    """sacreBLEU's tokeniser for a target language, by its code such as `zh` or `zh-TW`."""
    return TOKENIZERS.get(re.split("[-_]", language.lower())[0], "13a")


def bleu(hypotheses: Lines, references: Lines, tokenize: str) -> float:
    """Corpus BLEU, cased, from 0 to 100."""
    assert len(hypotheses) == len(references) > 0, (len(hypotheses), len(references))
    score = BLEU(tokenize=tokenize, force=True).corpus_score(hypotheses, [references]).score
    return round(float(score), DIGITS)
