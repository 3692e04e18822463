"""A packaged system that translates lines in a server."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from ..common.files import read_lines
from ..common.system import split_folder
from ..decoding import attending, texts
from ..packaging import loading, sealed

EngineKind = Literal["torch", "ctranslate2", "ctranslate2-int8"]
MOST_EXAMPLES, LONGEST_EXAMPLE = 6, 60  # sentences, characters
NOTHING = {"source": [], "target": [], "text": "", "weights": {}}


class Engine:
    """A packaged system: gives what `nmt translate` gives, in torch to the byte.

    One without a form for CTranslate2 is run by torch. Raises: DataError if the folder is not whole.
    """

    def __init__(self, folder: Path, kind: EngineKind, threads: int, beam_size: int | None = None) -> None:
        form = folder / sealed.CTRANSLATE2
        self.folder, self.config, self.kind = folder, sealed.read(folder), kind if form.is_dir() else "torch"
        self.translator = loading.load(folder)
        if self.kind != "torch":
            from .ctranslate2_translator import CTranslate2Translator  # which only these kinds need

            is_int8 = kind == "ctranslate2-int8"
            self.translator = CTranslate2Translator(self.translator, form, threads, is_int8=is_int8)
        decoding = self.translator.decoding
        self.decoding = decoding.changed(beam_size=beam_size) if beam_size else decoding
        self.pair = self.config.source_language, self.config.target_language
        self.score = self.config.validation.get("validation_bleu")  # what systems are ordered by
        test = split_folder(self.config.corpus) / "test.source.txt"  # there, if this is the project that built it
        lines = [line for line in read_lines(test) if len(line) <= LONGEST_EXAMPLE] if test.exists() else []
        self.examples = lines[:: max(1, len(lines) // MOST_EXAMPLES)][:MOST_EXAMPLES]
        card = folder / sealed.CARD
        self.card = card.read_text(encoding="utf-8") if card.exists() else ""

    def split(self, units: Iterable[str]) -> texts.SplitLine:
        """The parts of a text that its network translates, given its lines or sentences."""
        return texts.split(units, self.translator.vocabulary, self.translator.max_pieces)

    def translate(self, parts: Sequence[str], number: int) -> list[list[tuple[str, float]]]:
        """The `number` best translations of each part and their confidence, no more than the beam size."""
        ranked = self.translator.ranked(parts, self.decoding, min(number, self.decoding.beam_size))
        return [[(text, probability or 0.0) for text, _, probability in ranks] for ranks in ranked]

    def attention(self, parts: Sequence[str]) -> list[dict[str, Any]]:
        """The attention of the network while it writes the best translation of each part: pieces and weights."""
        sources, records = [self.translator.read(part, "part") for part in parts], list[dict[str, Any]]()
        for source, (best, *_) in zip(sources, self.translator.search(sources, self.decoding), strict=True):
            output = attending.written(best.ids, self.decoding.max_length(len(source)))
            record = self.translator.attention(0, source, output) if source else NOTHING
            records.append({name: record[name] for name in NOTHING})
        return records
