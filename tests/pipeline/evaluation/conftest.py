"""A small corpus with systems, as the report reads them; and what stands on an HTML page."""

from html.parser import HTMLParser

import pytest

from pipeline.evaluation import analysis
from pipeline.evaluation.attended import Attended
from pipeline.evaluation.results import CorpusResults, SystemResults
from pipeline.evaluation.significance import Comparison, Standing
from pipeline.evaluation.words import tokenizer

SIGNATURES = {"bleu": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0", "chrf": "nrefs:1|version:2.6.0"}
CLEANING = {"source_language": "fr", "target_language": "en", "read": 1000, "kept": 950}
CLEANING |= {"dropped": {"empty": 0, "length_ratio": 20, "duplicate": 30}}
TOKENS = {"pairs": 900, "source_tokens": 9000, "target_tokens": 8000, "source_unknown": 9, "target_unknown": 0}
LEAKAGE = {"train/test": {"exact_source": 1, "exact_target": 12, "near_source": 2, "near_target": 0, "dropped": 14}}
TEXTS = [("Le chat | dort.", "The cat sleeps."), ("Il *a* <b>", "He has"), ("Bonjour", "Hello")]
BOOTSTRAP = "nrefs:1|bs:100|seed:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
STANDINGS = {
    "bpe_2k-first_model-tiny": Standing(49.8, 1.5, 0.0005),
    "bpe_2k-second_model-tiny": Standing(69.95, 1.25, None),
}
VOID = {"meta", "link", "img", "br"}


class Page(HTMLParser):
    """What stands on a page: every tag with its attributes, the text by the tag around it; each tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            assert "p" not in self.open or tag not in ("div", "figure", "table", "p"), tag
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag, attribute):
        """The values of an attribute of all tags of a kind."""
        return [attributes[attribute] for name, attributes in self.tags if name == tag and attribute in attributes]

    def text(self, *tags):
        """The text inside tags of these kinds, or of all that is read."""
        return "".join(data for tag, data in self.texts if tag in tags or (not tags and tag not in ("script", "style")))


@pytest.fixture(scope="session")
def read_page():
    return lambda path: Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def make_attended():
    """A sentence of two source pieces and three target pieces, and even weights of attentions that a model may have."""
    shapes = {"attention": (1, 3, 2), "encoder": (2, 2, 2), "decoder": (2, 3, 3), "cross": (2, 3, 2)}

    def make(*names, **changes):
        weights = {}
        for name in names:
            heads, rows, columns = shapes[name.split()[0]]
            weights[name] = [[[round(1 / columns, 4)] * columns] * rows] * heads
        record = {"line": 3, "source": ["▁été", "</s>"], "target": ["▁summer", "▁summer", "</s>"], "text": "summer <b>"}
        return Attended.of({**record, "weights": weights} | changes, "test")

    return make


@pytest.fixture(scope="session")
def make_system(make_attended):
    def make(model, bleu, **changes):
        rows = [("1-10", 3, bleu), ("11-20", 1, bleu - 10)]
        training = {"updates": 600, "stopped": "patience", "padding_share": 0.0523, "num_parameters": 1234567}
        training |= {"best": {"update": 400, "validation_loss": 1.2344, "validation_bleu": 61.5}}
        values = {
            "corpus": "toy",
            "vocabulary": "bpe_2k",
            "model": model,
            "size": "tiny",
            "scores": {"test": {"bleu": bleu, "chrf": 90.0 - bleu, "signatures": SIGNATURES}},
            "by_length": [
                {"part": "test", "bucket": bucket, "sentences": str(sentences), "bleu": str(score), "chrf": "50"}
                for bucket, sentences, score in rows
            ],
            "train_loss": [{"update": "10", "train_loss": "7.5"}, {"update": "20", "train_loss": "6.25"}],
            "curves": [
                {"update": str(n), "validation_loss": str(bleu / n), "validation_bleu": str(n / 10)}
                for n in (200, 400, 600)
            ],
            "training": training | {"params": {"training.updates": 600, "arch.width": int(bleu)}},
            "average": {"checkpoints": ["400.safetensors", "600.safetensors"]},
            "attended": [make_attended("attention")],
            "translations": {"test": [f"{model} one", f"{model} | two", ""]},
        }
        return SystemResults(**values | changes)

    return make


@pytest.fixture(scope="session")
def seeded(make_corpus, make_system):
    """A corpus whose systems a, b, ... have these BLEU scores, one a seed."""

    def make(*scores, **changes):
        systems = [
            make_system(
                name,
                first,
                more_scores=[{"test": {"bleu": bleu, "chrf": 90.0 - bleu}} for bleu in further],
                **changes,
            )
            for name, (first, *further) in zip("abcd", scores, strict=False)
        ]
        return make_corpus(systems=systems, comparisons={})

    return make


@pytest.fixture(scope="session")
def make_corpus(make_system):
    def make(**changes):
        values = {
            "name": "toy",
            "cleaning": CLEANING,
            "splitting": {"pairs": {"train": 900, "test": 3}, "leakage": LEAKAGE},
            "tokens": {"bpe_2k": {"train": TOKENS}},
            "texts": {"test": TEXTS},
            "systems": [make_system("first_model", 50.0), make_system("second_model", 70.0)],
            "comparisons": {"test": Comparison(STANDINGS, BOOTSTRAP)},
        }
        values |= changes
        words, analyses = analysis.of_parts(
            {part: [reference for _, reference in texts] for part, texts in values["texts"].items()},
            {part: {s.name: s.translations[part] for s in values["systems"]} for part in values["texts"]},
            ["The cat and the dog", "The cat."],
            tokenizer("13a"),
            num_ngrams=2,
            frequency_buckets=[0, 1],
        )
        return CorpusResults(**{"words": words, "analyses": analyses} | values)

    return make
