"""A translator whose search CTranslate2 runs, in fp32 or with weights in int8: faster, and almost the same.

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
from ..decoding.scores import Hypothesis
from ..decoding.settings import Decoding
from ..decoding.translator import Translator
from ..packaging.sealed import POSITIONS

BATCH = 32  # equally long lines at once in int8


class CTranslate2Translator(Translator):
    """Translates with CTranslate2, on the CPU, a Transformer whose attention torch computes."""

    def __init__(self, translator: Translator, form: Path, threads: int, *, is_int8: bool) -> None:
        vars(self).update(vars(translator))
        self.max_pieces, self.batch_size = min(self.max_pieces, POSITIONS - 1), BATCH if is_int8 else 1
        shared = form / "shared_vocabulary.json"
        self.source_tokens, self.target_tokens = (
            read_json(shared if shared.exists() else form / f"{side}_vocabulary.json") for side in ("source", "target")
        )
        self.target_ids = {token: number for number, token in enumerate(self.target_tokens)}
        unknown = [] if self.vocabulary.whole_words else [ids.UNK]
        self.never = [[self.target_tokens[piece]] for piece in (ids.PAD, ids.BOS, *unknown)]
        self.network = ctranslate2.Translator(
            str(form),
            device="cpu",
            compute_type="int8" if is_int8 else "float32",
            inter_threads=threads,
            intra_threads=1,  # several for one line wait for each other
        )

    def search(
        self, sources: Sequence[Sequence[int]], decoding: Decoding, number: int = 1, *, what: str = ""
    ) -> list[list[Hypothesis]]:
        """The `number` best translations of each source, ranked by our score."""
        by_length: dict[int, list[int]] = defaultdict(list)
        for index, source in enumerate(sources):
            by_length[len(source)].append(index)
        results, pending = [[Hypothesis([], 0.0)] for _ in sources], []
        for length, indices in by_length.items():
            max_length = min(decoding.max_length(length), POSITIONS - 1)  # EOS counted
            if not length or not max_length:  # CTranslate2 refuses a batch that may write nothing
                continue
            batch = self.network.translate_batch(
                [[self.source_tokens[piece] for piece in sources[index]] for index in indices],
                beam_size=decoding.beam_size,
                num_hypotheses=decoding.beam_size,  # all: CTranslate2's best is another if fewer are asked for
                length_penalty=decoding.length_penalty,
                no_repeat_ngram_size=decoding.no_repeat_ngram_size,
                return_scores=True,
                max_batch_size=self.batch_size,
                max_input_length=0,
                min_decoding_length=0,  # 1, the default, takes EOS out of the first step, and what it weighs
                max_decoding_length=max_length,
                suppress_sequences=self.never,
                asynchronous=True,
            )
            pending.append((indices, max_length, batch))
        for indices, max_length, batch in pending:
            for index, result in zip(indices, batch, strict=True):
                results[index] = self.by_score(result.result(), max_length, decoding)[:number]
        return results

    def by_score(self, result: Any, max_length: int, decoding: Decoding) -> list[Hypothesis]:
        """The hypotheses of a result by our score; its own is log P over a power of the length."""
        hypotheses = []
        for tokens, score in zip(result.hypotheses, result.scores, strict=True):
            length = min(len(tokens) + 1, max_length)
            log_p = score * length**decoding.length_penalty
            pieces = [self.target_ids[token] for token in tokens]
            hypotheses.append(Hypothesis(pieces, log_p / decoding.penalty(length)))
        return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
