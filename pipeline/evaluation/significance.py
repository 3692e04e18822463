"""Whether differences between systems may be chance: sacrebleu's paired bootstrap resampling."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest, Result

Lines = Sequence[str]

ALPHA = 0.05  # a p of at least this: the difference may well be chance


class Standing(NamedTuple):
    """One system's BLEU over resamples of a test part."""

    mean: float
    margin: float  # 95 % of the resamples lie within mean +- margin
    p_value: float | None  # that chance makes as large a difference to the best; None for the best itself


class Comparison(NamedTuple):
    """Every system of a test part against the best."""

    standings: Mapping[str, Standing]  # none if the part cannot be resampled
    signature: str


def compare(
    translations: Mapping[str, Lines], references: Lines, *, tokenize: str, num_samples: int, seed: int
) -> Comparison:
    """Every system, by name, against the first one, which is the best.

    A part of one sentence cannot be resampled, so it has no standings. If two systems have the same BLEU, p is 1;
    sacrebleu itself gives the smallest p for two translations that are equal line by line.

    Source: Koehn 2004; sacrebleu.significance, option `--paired-bs` of its command.
    """
    judge = BLEU(tokenize=tokenize, force=True, references=[list(references)])
    with seeded(seed):
        test = PairedTest(list(translations.items()), {"BLEU": judge}, None, test_type="bs", n_samples=num_samples)
        signatures, found = test()
    results = [result for result in found["BLEU"] if isinstance(result, Result)]
    standings = {name: standing(result, results[0]) for name, result in zip(translations, results, strict=True)}
    return Comparison(standings if len(references) > 1 else {}, str(signatures["BLEU"]))


def standing(result: Result, best: Result) -> Standing:
    """A system's standing against the best, which may be itself."""
    assert result.mean is not None, "sacrebleu resampled every system"
    assert result.ci is not None, "sacrebleu resampled every system"
    same = result is not best and result.score == best.score
    return Standing(result.mean, result.ci, 1.0 if same else result.p_value)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Have sacrebleu draw from this seed, which it reads from the environment, and takes 0 for none."""
    assert seed > 0, seed
    name = "SACREBLEU_SEED"
    before = os.environ.get(name)
    os.environ[name] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
