"""Whether a translation depends on what stands in its batch: the same sentences, in other batches.

    python benchmarks/batch_invariance.py multi30k_de_en-bpe_8k-transformer_prenorm-small test --sentences 1000

`dvc repro` must have built the system. In fp64 all translations must be equal; in fp32 matrix products of other shapes round
otherwise, so that of two translations that are worth the same either may win. Exits with 1 where fp64 differs.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer

from pipeline import files
from pipeline.data import parts
from pipeline.decoding.search import Hypothesis
from pipeline.decoding.translate import Decoding, n_best
from pipeline.translator import Translator


def main(
    system: Annotated[
        str, typer.Argument(help="Id of a built system.")
    ] = "phrasebook_fr_en-bpe_2k-transformer_prenorm-tiny",
    part: Annotated[str, typer.Argument(help="Part of its corpus.")] = "test",
    sentences: Annotated[int, typer.Option(help="How many of its lines.")] = 1000,
) -> None:
    """Print how many translations are the same in every batching, and how far the scores of the others lie apart."""
    translator, decoding = Translator.load(system), Decoding.load("decode")
    path, _ = parts.paths(Path("data/split", system.partition("-")[0]), part)
    sources = [source.ids for source in translator.read(list(files.read_lines(path))[:sentences])]
    shuffled = np.random.default_rng(1).permutation(len(sources)).tolist()
    for dtype in (torch.float64, torch.float32):
        translator.model.to(dtype)

        def best(order: list[int], tokens: int) -> dict[int, Hypothesis]:
            """The best translation of each source, asked for in this order in batches of so many tokens."""
            how = decoding.model_copy(update={"tokens_per_batch": tokens})
            found = n_best(translator.model, [sources[i] for i in order], how, translator.where, 1)
            return {i: one for i, [one, *_] in zip(order, found, strict=True)}

        reference = best(list(range(len(sources))), decoding.tokens_per_batch)
        for name, order, tokens in (
            ("shuffled", shuffled, decoding.tokens_per_batch),
            ("a quarter of the batch", shuffled, decoding.tokens_per_batch // 4),
            ("alone", shuffled, 1),
        ):
            found = best(order, tokens)
            other = [i for i, one in reference.items() if one.ids != found[i].ids]
            apart = max((abs(reference[i].score - found[i].score) for i in other), default=0.0)
            equal = len(sources) - len(other)
            print(f"{dtype}, {name}: {equal:,} of {len(sources):,} equal, scores of the others within {apart:.1e}")


if __name__ == "__main__":
    typer.run(main)
