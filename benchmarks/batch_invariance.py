"""Whether a translation depends on what stands in its batch: the same sentences, in other batches.

    python benchmarks/batch_invariance.py multi30k_de_en-bpe_8k-transformer_prenorm-small test --sentences 1000

`dvc repro` must have built the system. In fp64 all translations must be equal; in fp32 what is not multiplied by a
packed matrix (attention, the cells of recurrent models) may round otherwise in another batch, so that of two
translations that are worth the same either may win. Exits with 1 where fp64 differs.
"""

from pathlib import Path
from typing import Annotated

import torch
import typer

from pipeline import files
from pipeline.data import parts
from pipeline.decoding.search import Hypothesis
from pipeline.decoding.translate import Decoding, n_best
from pipeline.translator import Translator

SYSTEM = "phrasebook_fr_en-bpe_2k-transformer_prenorm-tiny"


def main(
    system: Annotated[str, typer.Argument(help="Id of a built system.")] = SYSTEM,
    part: Annotated[str, typer.Argument(help="Part of its corpus.")] = "test",
    sentences: Annotated[int, typer.Option(help="How many of its lines.")] = 1000,
) -> None:
    """Print how many translations are the same in every batching, and how far the scores of the others lie apart."""
    translator, decoding = Translator.load(system), Decoding.load("decode")
    path, _ = parts.paths(Path("data/split", system.partition("-")[0]), part)
    sources = [source.ids for source in translator.read(list(files.read_lines(path))[:sentences])]
    differ = False
    for dtype in (torch.float64, torch.float32):
        translator.model.to(dtype)

        def best(tokens: int) -> list[Hypothesis]:
            """The best translation of each source, in batches of so many tokens."""
            how = decoding.model_copy(update={"tokens_per_batch": tokens})
            return [one for one, *_ in n_best(translator.model, sources, how, translator.where, 1)]

        reference = best(decoding.tokens_per_batch)
        for name, tokens in (
            ("twice the batch", 2 * decoding.tokens_per_batch),
            ("a seventh of the batch", decoding.tokens_per_batch // 7),
            ("alone", 1),
        ):
            pairs = list(zip(reference, best(tokens), strict=True))
            apart = [abs(one.score - other.score) for one, other in pairs if one.ids != other.ids]
            equal = f"{len(pairs) - len(apart):,} of {len(pairs):,} equal"
            print(f"{dtype}, {name}: {equal}, scores of the others within {max(apart, default=0.0):.1e}", flush=True)
            differ |= dtype == torch.float64 and bool(apart)
    if differ:
        raise SystemExit(1)


if __name__ == "__main__":
    typer.run(main)
