"""The files in which a model of OPUS-MT says what it is: their keys, typed."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from ..common.files import DataError
from ..common.params import Depth, Node, ParamsError, Section, Width
from ..decoding.settings import MOST_BEAM, UpTo10
from ..layers.transformer import DropoutRate
from . import sealed

EXPECTED = "a model of OPUS-MT, as the Hugging Face hub has it"
Id = Annotated[int, Field(strict=True, ge=0)]
Longest = Annotated[int, Field(gt=1)]


class MarianConfig(Section):
    """Keys of config.json and, in place of some, of generation_config.json; the defaults are those of transformers.

    What we cannot do has one value.
    """

    model_type: Literal["marian"]
    scale_embedding: Literal[True]
    normalize_before: Literal[False] = False
    normalize_embedding: Literal[False] = False
    add_final_layer_norm: Literal[False] = False
    static_position_embeddings: Literal[True] = True
    share_encoder_decoder_embeddings: Literal[True] = True
    tie_word_embeddings: Literal[True] = True
    activation_function: Literal["swish", "silu", "relu", "gelu"] = "gelu"
    vocab_size: PositiveInt
    d_model: Annotated[Width, Field(multiple_of=2)]
    encoder_layers: Depth
    encoder_attention_heads: Width
    encoder_ffn_dim: Width
    decoder_layers: Depth
    decoder_attention_heads: Width
    decoder_ffn_dim: Width
    decoder_vocab_size: int | None = None
    dropout: DropoutRate = 0.1
    attention_dropout: DropoutRate = 0.0
    activation_dropout: DropoutRate = 0.0
    max_position_embeddings: Longest = 1024
    pad_token_id: Id
    decoder_start_token_id: Id
    eos_token_id: Id
    bad_words_ids: list[list[int]] | None = None
    num_beams: Annotated[int, Field(gt=0, le=MOST_BEAM)] = 1
    max_length: Longest = 512
    length_penalty: UpTo10 = 1.0
    no_repeat_ngram_size: Annotated[int, Field(ge=0, le=1000)] = 0

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The keys in a folder's files, of which null is as none.

        Raises: DataError naming each key that is wrong, or asks for what we cannot do.
        """
        nodes, missing = list[Node](), set(cls.model_fields)
        for path in filter(Path.exists, (folder / "generation_config.json", folder / "config.json")):
            values = sealed.parse(path, dict[str, Any], EXPECTED)
            nodes.append(Node({key: values[key] for key in missing if values.get(key) is not None}, "", path))
            missing -= nodes[-1].value.keys()
        try:
            return cls.merged(nodes)
        except ParamsError as error:
            raise DataError(f"{'; '.join(str(error).splitlines())}; expected {EXPECTED}") from None

    @model_validator(mode="after")
    def check_sizes(self) -> Self:
        """The decoder has the sizes of the encoder, and its pieces, of which it leaves out padding alone."""
        wanted = {f"decoder_{key}": getattr(self, f"encoder_{key}") for key in ("attention_heads", "ffn_dim")}
        wanted |= {"decoder_vocab_size": self.vocab_size, "bad_words_ids": [[self.pad_token_id]]}
        for key, value in wanted.items():
            if (got := getattr(self, key)) and got != value:
                raise ValueError(f"{key}: must be {value!r}, got {got!r:.60}")
        if self.d_model % self.encoder_attention_heads:
            raise ValueError(f"d_model: must be a multiple of {self.encoder_attention_heads} heads, got {self.d_model}")
        return self


class Tokenizer(sealed.Record):
    """Keys of tokenizer_config.json."""

    source_lang: str | None = None
    target_lang: str | None = None
