"""The engine that runs a Transformer in CTranslate2, in fp32 or with weights in int8: faster, and almost the same.

Its search ends otherwise than ours and prunes by its own length penalty, so a few translations in a hundred differ. The
finished ones are ranked here by our score. What a line gets does not depend on other lines: in int8, batches have lines
of one length, since padding would change results; in fp32 its products round otherwise in another batch, so each line
is searched alone, as many at once as there are threads.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from pipeline import ids
from pipeline.decoding.settings import Decoding
from pipeline.files import DataError, read_json
from pipeline.packaging import package
from pipeline.serving.engines import Found, LineEngine, Part
from pipeline.vocabularies.vocabulary import Vocabulary

logger = logging.getLogger(__name__)
BATCH = 32  # equally long lines at once in int8


class CTranslate2Engine(LineEngine):
    """Translates with CTranslate2, on the CPU."""

    def __init__(self, folder: Path, compute_type: str, threads: int, beam_size: int | None) -> None:
        self.folder, form, config = folder, folder / package.CTRANSLATE2, package.read(folder)
        if not form.is_dir():
            raise DataError(f"{folder}: no form for CTranslate2, got {config.model}; expected a Transformer, or torch")
        path, expected = folder / package.CONFIG, "what the stage `package` wrote"
        decoding = package.section(Decoding, config.decoding, "decoding", path, expected)
        vocabulary = Vocabulary.load(folder / package.VOCABULARY)
        max_pieces = min(config.max_source_pieces, package.POSITIONS - 1)
        super().__init__(config, decoding, vocabulary, max_pieces, beam_size)
        self.source_tokens, self.target_tokens = (read_tokens(form, side) for side in ("source", "target"))
        self.target_ids = {token: number for number, token in enumerate(self.target_tokens)}
        unknown = [] if vocabulary.whole_words else [ids.UNK]
        self.never = [[self.target_tokens[piece]] for piece in (ids.PAD, ids.BOS, *unknown)]
        self.batch = BATCH if compute_type == "int8" else 1
        self.translator = import_module("ctranslate2").Translator(
            str(form), device="cpu", compute_type=compute_type, inter_threads=threads, intra_threads=1
        )

    def search(self, sources: Sequence[Sequence[int]], number: int) -> list[list[Found]]:
        """The `number` best translations of each source, ranked by our score."""
        by_length: dict[int, list[int]] = defaultdict(list)
        for index, source in enumerate(sources):
            if self.max_length(len(source)):  # CTranslate2 refuses a batch that may write nothing
                by_length[len(source)].append(index)
        results: list[list[Found]] = [[Found([], 0.0, 0)] for _ in sources]
        started = {length: self.start([sources[index] for index in by_length[length]]) for length in by_length}
        for length, pending in started.items():
            for index, result in zip(by_length[length], pending, strict=True):
                results[index] = self.ranked(result.result(), self.max_length(length))[:number]
        return results

    def constrained(self, part: Part, number: int) -> list[Found]:
        """The same as the torch engine's: CTranslate2 can force how a translation begins, but not what it holds."""
        found: list[Found] = self.torch_engine.constrained(part, number)
        return found

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        """Begin the search of equally long sources.

        All `beam_size` finished hypotheses are asked for: CTranslate2's best is another if fewer are.
        """
        return self.translator.translate_batch(
            [[self.source_tokens[piece] for piece in source] for source in sources],
            beam_size=self.decoding.beam_size,
            num_hypotheses=self.decoding.beam_size,
            length_penalty=self.decoding.length_penalty,
            return_scores=True,
            max_batch_size=self.batch,
            max_input_length=0,
            min_decoding_length=0,  # 1, the default, takes EOS out of the first step, and what it weighs
            max_decoding_length=self.max_length(len(sources[0])),
            suppress_sequences=self.never,
            asynchronous=True,
        )

    def max_length(self, source_length: int) -> int:
        """Pieces that the translation of a source may have, EOS counted."""
        return min(self.decoding.max_length(source_length), package.POSITIONS - 1)

    def ranked(self, result: Any, max_length: int) -> list[Found]:
        """What CTranslate2 found, the best first by our score.

        Its own score is log P over a power of the length.
        """
        found = []
        for tokens, score in zip(result.hypotheses, result.scores, strict=True):
            length = min(len(tokens) + 1, max_length)
            log_p = score * length**self.decoding.length_penalty
            found.append(Found([self.target_ids[token] for token in tokens], log_p, length))
        scores = [one.log_p / self.decoding.penalty(one.length) for one in found]
        order = sorted(range(len(found)), key=lambda index: -scores[index])
        return [found[index] for index in order]

    def attention_of(self, source: Sequence[int], output: Sequence[int]) -> dict[str, Any]:
        """The attention of the same network in torch while it writes what CTranslate2 wrote."""
        record: dict[str, Any] = self.torch_engine.attention_of(source, output)
        return record

    @cached_property
    def torch_engine(self) -> Any:
        """The torch engine of the same folder, loaded at first need: CTranslate2 has neither attention nor terms."""
        from pipeline.serving.torch_engine import TorchEngine

        return TorchEngine(self.folder, threads=1, beam_size=self.decoding.beam_size)


def read_tokens(form: Path, side: str) -> list[str]:
    """CTranslate2's token for each piece of a side.

    Raises: DataError if there is no file of them.
    """
    names = [f"{name}_vocabulary.json" for name in ("shared", side)]
    path = next((path for name in names if (path := form / name).exists()), None)
    if path is None:
        raise DataError(
            f"{form}: has no vocabulary, got no {' or '.join(names)}; expected what the stage `package` wrote"
        )
    tokens = read_json(path)
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise DataError(f"{path}: is no list of tokens; expected what the stage `package` wrote")
    return tokens
