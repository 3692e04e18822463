"""The translation that is most like all the others that the model finds likely, in place of the likeliest one.

Source: Kumar and Byrne 2004, minimum Bayes risk decoding, over the n best of a beam search.
"""

import math
from collections import Counter
from collections.abc import Sequence

MAX_ORDER = 4  # pieces of the longest n-grams that are compared, as in BLEU


def ranking(texts: Sequence[Sequence[int]], scores: Sequence[float], temperature: float) -> list[int]:
    """The indices of the translations of one sentence, the one with the highest expected BLEU first.

    A translation's expected BLEU is the mean of its sentence BLEU against every one of them, itself too, each with the
    weight that the softmax of score / `temperature` gives it. Of equal ones the first comes first.
    """
    best = max(scores, default=0.0)
    weights = [math.exp((score - best) / temperature) for score in scores]
    grams = [ngrams(text) for text in texts]
    expected = [0.0] * len(texts)
    for a in range(len(texts)):
        expected[a] += weights[a]
        for b in range(a):
            matches = [common(*pair) for pair in zip(grams[a], grams[b], strict=True)]
            expected[a] += weights[b] * sentence_bleu(matches, len(texts[a]), len(texts[b]))
            expected[b] += weights[a] * sentence_bleu(matches, len(texts[b]), len(texts[a]))
    return sorted(range(len(texts)), key=lambda index: -expected[index])


def ngrams(text: Sequence[int]) -> list[Counter[tuple[int, ...]]]:
    """How often each n-gram is in a text, for every n up to `MAX_ORDER`."""
    return [Counter(zip(*(text[start:] for start in range(n)), strict=False)) for n in range(1, MAX_ORDER + 1)]


def common(one: Counter[tuple[int, ...]], other: Counter[tuple[int, ...]]) -> int:
    """How many n-grams two texts have in common, each as often as both have it."""
    return sum(min(number, other[gram]) for gram, number in one.items() if gram in other)


def sentence_bleu(matches: Sequence[int], length: int, reference_length: int) -> float:
    """BLEU of one text, from 0 to 1, given the n-grams that it has in common with a reference.

    For n > 1, 1 is added to the matches and to the n-grams, so that a short text can score too.

    Source: Lin and Och 2004, smoothing of sentence BLEU.
    """
    if not matches[0]:
        return float(length == reference_length == 0)
    log_precision = math.log(matches[0] / length)
    for n, matched in enumerate(matches[1:], 2):
        log_precision += math.log((matched + 1) / (max(0, length - n + 1) + 1))
    brevity = min(0.0, 1 - reference_length / length)
    return math.exp(brevity + log_precision / len(matches))
