"""The engine that runs a Transformer in CTranslate2, in fp32 or with weights in int8: faster, and almost the same.

Its search ends otherwise than ours and prunes by its own length penalty, so a few translations in a hundred differ. The
finished ones are ranked here by our score. What a line gets does not depend on other lines: in int8, batches have lines
of one length, since padding would change results; in fp32 its products round otherwise in another batch, so each line
is searched alone, as many at once as there are threads.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2

from ..common.files import read_json
from ..compute import ids
from ..packaging import package
from .engines import Engine, Hypotheses, Kind

BATCH = 32  # equally long lines at once in int8


class CTranslate2Engine(Engine):
    """Translates with CTranslate2, on the CPU."""

    def __init__(self, folder: Path, kind: Kind, threads: int, beam_size: int | None) -> None:
        super().__init__(folder, beam_size)
        self.kind, form = kind, folder / package.CTRANSLATE2
        self.max_pieces = min(self.max_pieces, package.POSITIONS - 1)
        self.source_tokens, self.target_tokens = (read_tokens(form, side) for side in ("source", "target"))
        self.target_ids = {token: number for number, token in enumerate(self.target_tokens)}
        unknown = [] if self.vocabulary.whole_words else [ids.UNK]
        self.never = [[self.target_tokens[piece]] for piece in (ids.PAD, ids.BOS, *unknown)]
        self.network = ctranslate2.Translator(
            str(form),
            device="cpu",
            compute_type="int8" if kind == "ctranslate2-int8" else "float32",
            inter_threads=threads,
            intra_threads=1,  # several for one line wait for each other
        )

    def search(self, sources: Sequence[list[int]], number: int) -> Sequence[Hypotheses]:
        """The `number` best translations of each source, ranked by our score."""
        by_length: dict[int, list[int]] = defaultdict(list)
        for index, source in enumerate(sources):
            by_length[len(source)].append(index)
        results: list[Hypotheses] = [[([], 0.0)]] * len(sources)
        # CTranslate2 refuses a batch that may write nothing.
        lengths = [length for length in by_length if length and self.max_length(length)]
        pending = [self.start([sources[index] for index in by_length[length]]) for length in lengths]
        for length, batch in zip(lengths, pending, strict=True):
            for index, result in zip(by_length[length], batch, strict=True):
                results[index] = self.ranked(result.result(), self.max_length(length))[:number]
        return results

    def start(self, sources: Sequence[list[int]]) -> Any:
        """Begin the search of equally long sources.

        All `beam_size` finished hypotheses are asked for: CTranslate2's best is another if fewer are.
        """
        return self.network.translate_batch(
            [[self.source_tokens[piece] for piece in source] for source in sources],
            beam_size=self.decoding.beam_size,
            num_hypotheses=self.decoding.beam_size,
            length_penalty=self.decoding.length_penalty,
            no_repeat_ngram_size=self.decoding.no_repeat_ngram_size,
            return_scores=True,
            max_batch_size=BATCH if self.kind == "ctranslate2-int8" else 1,
            max_input_length=0,
            min_decoding_length=0,  # 1, the default, takes EOS out of the first step, and what it weighs
            max_decoding_length=self.max_length(len(sources[0])),
            suppress_sequences=self.never,
            asynchronous=True,
        )

    def max_length(self, source_length: int) -> int:
        """Pieces that the translation of a source may have, EOS counted."""
        return min(self.decoding.max_length(source_length), package.POSITIONS - 1)

    def ranked(self, result: Any, max_length: int) -> Hypotheses:
        """What CTranslate2 found, by our score; its own is log P over a power of the length."""
        found = []
        for tokens, score in zip(result.hypotheses, result.scores, strict=True):
            length = min(len(tokens) + 1, max_length)
            log_p = score * length**self.decoding.length_penalty
            found.append(([self.target_ids[token] for token in tokens], log_p / self.decoding.penalty(length)))
        return sorted(found, key=lambda one: -one[1])


def read_tokens(form: Path, side: str) -> list[str]:
    """CTranslate2's token for each piece of a side."""
    shared = form / "shared_vocabulary.json"
    tokens: list[str] = read_json(shared if shared.exists() else form / f"{side}_vocabulary.json")
    return tokens
