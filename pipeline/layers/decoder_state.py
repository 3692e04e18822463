"""The state of a decoder between two steps of a search, as dataclasses of tensors."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from torch import Tensor


@dataclass(frozen=True)
class Rows:
    """Tensors with one row each for the same sentences, or for the same hypotheses.

    A field may also be such a dataclass, a tuple of them, or None.
    """

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def select(self, rows: Tensor) -> Self:
        """Row i taken from row `rows[i]`; rows may be repeated, reordered and dropped."""
        return replace(self, **{field.name: select_rows(getattr(self, field.name), rows) for field in fields(self)})


@dataclass(frozen=True)
class DecoderState:
    """The state of B sentences with W hypotheses each; subclasses add the fields that a family of models needs.

    `source` has one row per sentence, so that what was computed of a source is not kept for each of its hypotheses.
    Every other field has one row per hypothesis, sentence by sentence (N = B * W).
    """

    source: Rows

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> Self:
        """Hypothesis i taken from hypothesis `rows[i]`; of the source the given sentences, by default all.

        Hypotheses and sentences may be repeated, reordered and dropped, as long as all sentences have equally many
        hypotheses.

        Shapes: rows (N,), sentences (B,).
        """
        names = [field.name for field in fields(self) if field.name != "source"]
        hypotheses = {name: select_rows(getattr(self, name), rows) for name in names}
        source = self.source if sentences is None else self.source.select(sentences)
        return replace(self, source=source, **hypotheses)


def select_rows(value: Any, rows: Tensor) -> Any:
    """`Rows.select` for whatever a field may hold."""
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(select_rows(part, rows) for part in value)
    return value.index_select(0, rows) if isinstance(value, Tensor) else value.select(rows)
