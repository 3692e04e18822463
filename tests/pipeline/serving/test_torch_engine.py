import pytest
import torch

from pipeline import ids
from pipeline.decoding.search import mask_pieces
from pipeline.serving import engines


@pytest.mark.parametrize("model", ["transformer_prenorm", "rnnsearch"])
def test_score_and_confidence_are_the_models_own(folders, model):
    """As a full forward pass over each translation gives them."""
    engine = engines.load(folders[model], "torch", 1)
    network = engine.translator.model
    for line in ("le chat noir", "une pomme rouge", "dort"):
        [source] = engine.vocabulary.encode_source([line])
        [found] = engine.search([source], 3)
        for best, answer in zip(found, engine.translate([line], 3)[0], strict=True):
            target = [*best.ids, ids.EOS][: best.length]
            with torch.inference_mode():
                hidden = network.hidden(torch.tensor([[*source, ids.EOS]]), torch.tensor([[ids.BOS, *target[:-1]]]))
                log_p = mask_pieces(network.logits(hidden)[0]).log_softmax(dim=1)[range(len(target)), target]
            assert answer.confidence == pytest.approx(log_p.mean().item(), abs=1e-4)
            assert answer.score == pytest.approx(log_p.sum().item() / engine.decoding.penalty(len(target)), abs=1e-4)
