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
from .engines import Engine, EngineKind, Hypotheses

BATCH = 32  # equally long lines at once in int8


class CTranslate2Engine(Engine):
    """Translates with CTranslate2, on the CPU."""

    def __init__(self, folder: Path, kind: EngineKind, threads: int, beam_size: int | None) -> None:
        super().__init__(folder, beam_size)
        self.kind, form = kind, folder / package.CTRANSLATE2
        self.max_pieces = min(self.max_pieces, package.POSITIONS - 1)
        shared = form / "shared_vocabulary.json"
        self.source_tokens, self.target_tokens = (
            read_json(shared if shared.exists() else form / f"{side}_vocabulary.json") for side in ("source", "target")
        )
        self.target_ids = {token: number for number, token in enumerate(self.target_tokens)}
        unknown = [] if self.vocabulary.whole_words else [ids.UNK]
        self.network = ctranslate2.Translator(
            str(form),
            device="cpu",
            compute_type="int8" if kind == "ctranslate2-int8" else "float32",
            inter_threads=threads,
            intra_threads=1,  # several for one line wait for each other
        )
        self.settings = {
            "beam_size": self.decoding.beam_size,
            "num_hypotheses": self.decoding.beam_size,  # all: CTranslate2's best is another if fewer are asked for
            "length_penalty": self.decoding.length_penalty,
            "no_repeat_ngram_size": self.decoding.no_repeat_ngram_size,
            "return_scores": True,
            "max_batch_size": BATCH if kind == "ctranslate2-int8" else 1,
            "max_input_length": 0,
            "min_decoding_length": 0,  # 1, the default, takes EOS out of the first step, and what it weighs
            "suppress_sequences": [[self.target_tokens[piece]] for piece in (ids.PAD, ids.BOS, *unknown)],
            "asynchronous": True,
        }

    def search(self, sources: Sequence[list[int]], number: int) -> Sequence[Hypotheses]:
        """The `number` best translations of each source, ranked by our score."""
        by_length: dict[int, list[int]] = defaultdict(list)
        for index, source in enumerate(sources):
            by_length[len(source)].append(index)
        results: list[Hypotheses] = [[([], 0.0)]] * len(sources)
        pending = []
        for length, indices in by_length.items():
            max_length = min(self.decoding.max_length(length), package.POSITIONS - 1)  # EOS counted
            if length and max_length:  # CTranslate2 refuses a batch that may write nothing
                tokens = [[self.source_tokens[piece] for piece in sources[index]] for index in indices]
                batch = self.network.translate_batch(tokens, max_decoding_length=max_length, **self.settings)
                pending.append((max_length, indices, batch))
        for max_length, indices, batch in pending:
            for index, result in zip(indices, batch, strict=True):
                results[index] = self.ranked(result.result(), max_length)[:number]
        return results

    def ranked(self, result: Any, max_length: int) -> Hypotheses:
        """A result of CTranslate2 by our score; its own is log P over a power of the length."""
        hypotheses = []
        for tokens, score in zip(result.hypotheses, result.scores, strict=True):
            length = min(len(tokens) + 1, max_length)
            log_p = score * length**self.decoding.length_penalty
            hypotheses.append(([self.target_ids[token] for token in tokens], log_p / self.decoding.penalty(length)))
        return sorted(hypotheses, key=lambda hypothesis: -hypothesis[1])
