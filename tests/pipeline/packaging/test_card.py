"""The model card: the hub's metadata, then what a person asks."""

import pytest
from huggingface_hub import ModelCard

from pipeline.packaging import sealed
from tests.toys import packages, systems


@pytest.fixture(scope="module")
def text(packaged):
    return (packaged / sealed.CARD).read_text()


def test_the_hub_reads_its_metadata(packaged):
    data = ModelCard.load(packaged / sealed.CARD).data
    assert data.language == ["fr", "en"]
    assert (data.license, data.license_name) == ("other", "CC0, mine")
    assert data.pipeline_tag == "translation"
    assert data.tags == ["translation", "transformer_prenorm", "ctranslate2"]
    [result] = data.eval_results
    assert (result.dataset_split, result.metric_type, result.metric_value) == ("test", "bleu", 41.26)
    assert data.model_name == systems.SYSTEM


@pytest.mark.parametrize(
    "line",
    [
        f"# {systems.SYSTEM}",
        'nmt translate --model FOLDER "<a sentence>"    # or --file PATH, or lines on standard input',
        "`ctranslate2/` holds the same model for CTranslate2, in fp32; it is quantised when it is loaded.",
        f"| test | BLEU | 41.3 | 40.0 to 42.5 | `{packages.SIGNATURE.replace('|', chr(92) + '|')}` |",
        "- Data: `toy`. Licence: CC0, mine. The model may be bound by it.",
        "- Pairs: 12 in `train`, 8 in `test`",
        "- Bitext `own`, licence CC BY 4.0: 12 pairs of 20 read (duplicates 7, held out 0, leaks 1), seen 4.0 times; "
        "100.0 % of the target tokens",
        "- Bitext `web`: left out of the training",
        "- It knows what 12 pairs of `toy` taught it, and nothing else.",
        "- Read for `train`: `hub/x@main`, commit c0ffee, 1,234 bytes, sha256 f00d",
        "- Read for `test`: `my/x.fr`, 5 bytes, sha256 beef",
        "- Updates: 5, in fp32",
        "- Best validation: loss 0.5, BLEU 81.5",
        "| `decode.beam_size` | 3 |",
        "| `arch.width` | 16 |",
        "- Sources longer than 15 pieces are translated in parts.",
    ],
)
def test_what_a_person_asks(text, line):
    assert line in text.split("\n")
