"""Section `score`: what is measured, against which references, and how BLEU tells words apart."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PositiveInt, ValidationInfo, field_validator
from sacrebleu.utils import SACREBLEU_DIR

from ..common.params import Section, nearest
from ..common.system import Name, each_once
from .bleu import tokenizer

Metric = Literal["bleu", "chrf", "chrfpp", "spbleu", "ter"]
TOKENIZERS = ("auto", "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "flores200", "none")  # auto: ours
TITLES = {"bleu": "BLEU", "chrf": "chrF", "chrfpp": "chrF++", "spbleu": "spBLEU", "ter": "TER"}
FLORES = Path(SACREBLEU_DIR, "models", "flores200sacrebleuspm")
DICTIONARIES = {"ja-mecab": "MeCab", "ko-mecab": "mecab_ko"}  # tokeniser -> the package that it needs


class External(Section):
    """A metric that another program computes, such as COMET in an environment of its own."""

    command: str


class Scoring(Section):
    """Section `score`, whose keys a corpus may override."""

    metrics: Annotated[list[Metric], Field(min_length=1), AfterValidator(each_once)]
    tokenize: str | dict[Name, str]  # sacrebleu's tokeniser for BLEU, or one for each test part, others `auto`
    references: dict[Name, list[Name]]  # test part -> parts with the same sources, whose references count too
    external: dict[Name, External]
    length_buckets: Annotated[list[PositiveInt], Field(min_length=1)]  # longest source of each bucket, in words
    bootstrap_samples: Annotated[int, Field(ge=40)]  # resamples of a part, for intervals and tests of a difference
    seed: PositiveInt  # of the resamples; sacrebleu takes 0 for none

    @field_validator("metrics", "tokenize")
    @classmethod
    def _installed(cls, value: Any, info: ValidationInfo) -> Any:
        for name in value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]:
            package = DICTIONARIES.get(name)
            if info.field_name == "tokenize" and name not in TOKENIZERS:
                raise ValueError(f"unknown tokeniser, got {name!r}{nearest(name, TOKENIZERS)}")
            if package and not find_spec(package):
                raise ValueError(f"needs the package {package}, got {name!r}; expected auto, or the package installed")
            if name in ("spbleu", "flores200") and not FLORES.exists():
                raise ValueError(
                    f"needs {FLORES}, got {name!r}; `echo x | sacrebleu <(echo x) --tokenize flores200` fetches it"
                )
        return value

    @field_validator("external")
    @classmethod
    def _named_apart(cls, external: dict[str, External]) -> dict[str, External]:
        if taken := TITLES.keys() & external:
            raise ValueError(f"must have names of their own, got {', '.join(sorted(taken))}")
        return external

    @field_validator("length_buckets")
    @classmethod
    def _ascending(cls, buckets: list[int]) -> list[int]:
        if sorted(set(buckets)) != buckets:
            raise ValueError(f"must be ascending, got {buckets}; expected the longest source of each bucket, in words")
        return buckets

    def of(self, part: str, language: str) -> Self:
        """The section for translations of one test part into a language: `auto` becomes its tokeniser."""
        chosen = self.tokenize.get(part, "auto") if isinstance(self.tokenize, dict) else self.tokenize
        return self.changed(tokenize=tokenizer(language) if chosen == "auto" else chosen)
