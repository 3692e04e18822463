"""This project's Transformer of a job."""

from typing import Any

from pipeline.models import interface


def network(job: Any, dropout: float) -> Any:
    """Pre-norm with tied embeddings, or post-norm where the job says so."""
    arch = {
        "encoder_layers": job.layers,
        "decoder_layers": job.layers,
        "tied_embeddings": "all",
        "initialisation": {"kind": "normal", "std": 0.02},
        **dict.fromkeys(("dropout", "attention_dropout", "feed_forward_dropout"), dropout),
        **{name: getattr(job, name) for name in ("width", "heads", "feed_forward")},
    }
    model = interface.find(f"transformer_{getattr(job, 'norm', 'pre')}norm")
    return model.Model(model.Arch.model_validate(arch), source_size=job.vocabulary, target_size=job.vocabulary)
