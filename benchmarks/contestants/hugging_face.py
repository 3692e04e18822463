"""A Transformer of Hugging Face transformers from scratch: M2M100 where layers are pre-norm, Marian where post-norm."""

from typing import Any

from contestants.pieces import BOS, EOS, PAD
from transformers import M2M100Config, M2M100ForConditionalGeneration, MarianConfig, MarianMTModel

POSITIONS = 5000  # more than any sentence has


def network(given: Any, dropout: float) -> Any:
    """The network of a job."""
    shape = {
        "vocab_size": given.vocabulary,
        "d_model": given.width,
        "dropout": dropout,
        "attention_dropout": dropout,
        "activation_dropout": dropout,
        "activation_function": "relu",
        "scale_embedding": True,
        "max_position_embeddings": POSITIONS,
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
        "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
        "encoder_layers": given.layers,
        "decoder_layers": given.layers,
        "encoder_attention_heads": given.heads,
        "decoder_attention_heads": given.heads,
        "encoder_ffn_dim": given.feed_forward,
        "decoder_ffn_dim": given.feed_forward,
    }
    if given.norm == "pre":
        return M2M100ForConditionalGeneration(M2M100Config(**shape))
    return MarianMTModel(MarianConfig(**shape))
