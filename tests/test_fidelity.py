"""docs/fidelity.md says what the code does: sizes, learning rates and settings of all that is meant as published."""

import re
from pathlib import Path

import pytest
import torch
from ruamel.yaml import YAML

from pipeline.models import interface
from tests.toys import published

ROOT = Path(__file__).parents[1]
OURS = ("tiny", "small")  # sizes that are meant as nothing published
TOPICS = [
    "architecture",
    "initialisation",
    "dropout",
    "optimizer",
    "schedule",
    "loss",
    "batches",
    "clipping",
    "vocabulary",
    "max length",
    "decoding",
    "averaging",
    "evaluation",
]
TEXT = (ROOT / "docs/fidelity.md").read_text(encoding="utf-8")
MODELS = re.findall(r"^## `(\w+)`", TEXT, flags=re.MULTILINE)  # a model of one's own need not be compared
PUBLISHED = [(model, size) for model, size in published.sizes() if model in MODELS and size not in OURS]


def test_all_that_are_published_are_compared():
    transformers = {"transformer_postnorm", "transformer_prenorm"}
    assert {*MODELS} >= transformers | {"rnn_encdec", "gru_attention", "bilstm_attention", "rnnsearch"}


def tables(text):
    """The rows of each table below its head, as lists of cells."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|\n ").split(" | ")] for line in block.splitlines()]
        found.append(rows[2:])
    return found


def section(title):
    """The text below a heading."""
    return re.search(rf"^## {re.escape(title)}.*?\n(.*?)(?=^## |\Z)", TEXT, flags=re.MULTILINE | re.DOTALL)[1]


def names(*cells):
    """What stands in cells of code."""
    return tuple(cell.strip("`") for cell in cells)


def number(cell):
    return float(cell.replace(",", ""))


def settings(cell):
    """The keys and values in a cell of code spans."""
    found = {}
    for span in re.findall("`(.*?)`", cell):
        found |= YAML(typ="safe", pure=True).load("{" + span + "}")
    return found


@pytest.mark.parametrize("model", MODELS)
def test_every_model_has_a_complete_table(model):
    [rows] = tables(section(f"`{model}`"))
    assert [topic for topic, *_ in rows] == TOPICS
    assert all(len(row) == 4 and all(row) for row in rows), "part, published, ours, why"
    unreasoned = {ours.split(",")[0] for _, published, ours, why in rows if why == "–" and published != "not said"}
    assert all(ours.startswith(("as published", "none", "constant", "Adam", "the same", "BLEU")) for ours in unreasoned)


SIZES = tables(section("Sizes"))[0]


@pytest.mark.parametrize("row", SIZES, ids=lambda row: "-".join(names(*row[:2])))
def test_sizes(row):
    """As counted; those published to the digit are the same, those that are rounded within 3 %."""
    (model, size), (source, target, count) = names(*row[:2]), map(number, row[2:5])
    arch = published.arch(model, size)
    with torch.device("meta"):
        network = interface.find(model).Model(arch, source_size=int(source), target_size=int(target))
    assert sum(weight.numel() for weight in network.parameters()) == count
    if row[5].endswith(" million"):
        assert count == pytest.approx(number(row[5].removesuffix(" million")) * 1e6, rel=0.03)
    elif row[5] != "–":
        assert count == number(row[5])


@pytest.mark.parametrize(("size", "d", "f"), [("base", 512, 2048), ("big", 1024, 4096), ("big_en_fr", 1024, 4096)])
def test_the_transformers_counted_by_hand(size, d, f):
    """Section 3 of the paper with biases everywhere: 37,000 pieces, 12 feed-forwards, 18 attentions, 30 norms."""
    attention, feed_forward, norm = 4 * d * (d + 1), d * f + f + f * d + d, 2 * d
    by_hand = 37_000 * (d + 1) + 18 * attention + 12 * feed_forward + 30 * norm
    assert [number(row[4]) for row in SIZES if names(*row[:2]) == ("transformer_postnorm", size)] == [by_hand]


RATES = tables(section("Learning rates"))[0]


@pytest.mark.parametrize("row", RATES, ids=lambda row: "-".join(names(*row[:3])))
def test_learning_rates(row):
    (model, size), (update, rate) = names(*row[:2]), map(number, row[2:])
    schedule, width = published.learning(model, size).schedule, published.values(model, size)["width"]
    found = schedule.rate(int(update), width=width, updates=10**6)
    assert found == pytest.approx(rate, rel=5e-5)


@pytest.mark.parametrize(
    ("model", "size", "step", "factor", "d", "warmup"),
    [
        *[("transformer_postnorm", size, 1, 1, d, 4000) for size, d in [("base", 512), ("big", 1024)]],
        ("transformer_postnorm", "big_en_fr", 1, 1, 1024, 4000),
        ("transformer_postnorm", "tutorial", 1, 2, 512, 2000),
        ("transformer_prenorm", "base", 1, 1, 512, 4000),
        ("transformer_prenorm", "annotated", 10, 1, 512, 3000),  # counts micro-batches, ten of which are an update
    ],
)
def test_published_schedules(model, size, step, factor, d, warmup):
    schedule = published.learning(model, size).schedule
    for update in (1, 2, 299, 300, 301, 2000, 4000, 4001, 300_000):
        s = step * update
        expected = factor * d**-0.5 * min(s**-0.5, s * warmup**-1.5)
        assert schedule.rate(update, width=d, updates=10**6) == pytest.approx(expected, rel=1e-12)


def test_every_published_size_is_counted_and_has_its_rates():
    for rows in (SIZES, RATES, tables(section("Settings"))[0]):
        assert {names(*row[:2]) for row in rows} == set(PUBLISHED)


@pytest.mark.parametrize(("model", "size", "cell"), tables(section("Settings"))[0])
def test_settings(model, size, cell):
    """All of them, and no others."""
    model, size = names(model, size)
    assert settings(cell) == published.values(model, size)


def test_decoding_of_corpora():
    rows = tables(section("Settings"))[1]
    assert len(rows) == len(published.CORPORA)
    assert {names(name)[0]: settings(cell) for name, cell in rows} == {
        name: corpus["decode"] for name, corpus in published.CORPORA.items()
    }


def test_averaging_of_sizes():
    rows = tables(section("Settings"))[2]
    sizes = {size for _, size in PUBLISHED}
    assert len(rows) == len(sizes)
    assert {names(name)[0]: settings(cell) for name, cell in rows} == {
        name: about for name, about in published.PARAMS["average"].items() if name in sizes
    }


def test_nothing_is_dropped_or_clipped_that_was_not():
    """Where the papers drop and clip nothing, neither do we."""
    for model, size in PUBLISHED:
        values = published.values(model, size)
        if model == "transformer_postnorm":
            assert values["attention_dropout"] == values["feed_forward_dropout"] == 0.0
        elif model == "transformer_prenorm":
            assert values["attention_dropout"] == values["feed_forward_dropout"] == values["dropout"] == 0.1
        else:
            assert values["output_dropout"] == 0.0
        unclipped = model.startswith("transformer") or model == "bilstm_attention"
        assert values["clip"] == (None if unclipped else 1.0)


def test_sizes_of_our_own_drop_where_they_always_did():
    """One rate at every place of dropout: what `tiny` and `small` were trained with before the places had keys."""
    ours = [(model, size) for model, size in published.sizes() if model in MODELS and size in OURS]
    assert len(ours) == len(OURS) * len(MODELS)
    for values in (published.values(*one) for one in ours):
        assert {value for name, value in values.items() if name.endswith("dropout")} == {values["dropout"]}


def test_the_readme_names_it(project_root):
    assert "(docs/fidelity.md)" in (project_root / "README.md").read_text(encoding="utf-8")
