"""The BLEU of validation, by sacrebleu."""

from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU

Lines = Sequence[str]

DIGITS = 4  # of a score on the scale of 0 to 100


def bleu(hypotheses: Lines, references: Lines) -> float:
    """Corpus BLEU, cased and tokenized by 13a, from 0 to 100."""
    assert len(hypotheses) == len(references) > 0, (len(hypotheses), len(references))
    found = BLEU(tokenize="13a", force=True).corpus_score(hypotheses, [references])  # one set of references
    return round(float(found.score), DIGITS)
