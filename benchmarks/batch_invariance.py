"""Whether a translation depends on what stands in its batch: the same sentences, in other batches.

    python benchmarks/batch_invariance.py multi30k_de_en-bpe_8k-transformer_prenorm-small test --sentences 1000

`dvc repro` must have built the system. In fp64 all translations must be equal; as the stage `decode` translates (fp32,
with products in bf16 if the system was trained so) what is not multiplied by a packed matrix (attention, the cells of
recurrent models) may round otherwise in another batch, so that of two translations that are worth the same either may
win. Exits with 1 where fp64 differs at all, or the other in more than one translation of a thousand or by more than
1e-4 of its score.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import torch
import typer

from pipeline import files
from pipeline.commands import project
from pipeline.corpora import parts
from pipeline.decoding.search import Hypothesis
from pipeline.decoding.translate import n_best
from pipeline.decoding.translator import Translator
from pipeline.system import System

SCORE_TOLERANCE = 1e-4  # relative
SYSTEM = "phrasebook_fr_en-bpe_2k-transformer_prenorm-tiny"


def main(
    system: Annotated[str, typer.Argument(help="Id of a built system.")] = SYSTEM,
    part: Annotated[str, typer.Argument(help="Part of its corpus.")] = "test",
    sentences: Annotated[int, typer.Option(help="How many of its lines.")] = 1000,
) -> None:
    """Print how many translations are the same in every batching, and how far the scores of the others lie apart."""
    chosen = System.parse(system)
    translator, decoding = Translator.built(chosen), project.decoding(chosen)
    path, _ = parts.paths(chosen.split, part)
    sources = [source.ids for source in translator.read(list(files.read_lines(path))[:sentences])]
    as_it_is = "fp32, products in bf16" if translator.precision == "bf16" else "fp32"
    names = {torch.float64: "fp64", torch.float32: as_it_is}
    sound = True
    for dtype, precision in names.items():
        translator.model.to(dtype)

        def best(tokens: int, order: Sequence[int]) -> list[Hypothesis]:
            """The best translation of each source, given in some order, in batches of so many tokens."""
            how = decoding.model_copy(update={"tokens_per_batch": tokens})
            found = n_best(translator.model, [sources[index] for index in order], how, translator.where, 1)
            return [one for _, (one, *_) in sorted(zip(order, found, strict=True), key=lambda pair: pair[0])]

        usual, given = decoding.tokens_per_batch, range(len(sources))
        reference = best(usual, given)
        for name, tokens, order in (
            ("in another order", usual, np.random.default_rng(1).permutation(len(sources)).tolist()),
            ("twice the batch", 2 * usual, given),
            ("a seventh of the batch", usual // 7, given),
            ("alone", 1, given),
        ):
            pairs = list(zip(reference, best(tokens, order), strict=True))
            apart = [abs(one.score / other.score - 1) for one, other in pairs if one.ids != other.ids]
            equal = f"{len(pairs) - len(apart):,} of {len(pairs):,} equal"
            print(f"{precision}, {name}: {equal}, the others' scores within {max(apart, default=0.0):.1e}", flush=True)
            most = 0 if dtype == torch.float64 else len(pairs) / 1000
            sound &= len(apart) <= most and max(apart, default=0.0) <= SCORE_TOLERANCE
    if not sound:
        raise SystemExit(1)


if __name__ == "__main__":
    typer.run(main)
