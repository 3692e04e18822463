"""Picks the engine of a packaged system."""

from pathlib import Path

from ..packaging import package
from .engines import Engine, EngineKind


def load(folder: Path, kind: EngineKind, threads: int, beam_size: int | None = None) -> Engine:
    """The engine of a packaged system; one without a form for CTranslate2 is run by torch.

    Raises: DataError if the folder is not whole.
    """
    if kind == "torch" or not (folder / package.CTRANSLATE2).is_dir():
        return Engine(folder, beam_size)
    from .ctranslate2_engine import CTranslate2Engine  # which only these engines need

    return CTranslate2Engine(folder, kind, threads, beam_size)
