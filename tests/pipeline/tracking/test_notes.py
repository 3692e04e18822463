"""The description of a system: its scores as a table, commands that work, and never over a user's own text."""

from pipeline.system import System
from pipeline.tracking import notes

SYSTEM = System("toy", "bpe", "rnnsearch", "tiny")
FACTS = notes.Facts(
    "fr", "en", 911_984, {"validation_loss": 0.25, "validation_bleu": 40.123}, {"test": {"bleu": 94.139, "chrf": 96.5}}
)


def test_text_says_what_it_is_and_what_it_scored() -> None:
    lines = notes.text(SYSTEM, FACTS).splitlines()
    assert lines[0] == "**rnnsearch, tiny**: fr to en, trained on `toy` with the vocabulary `bpe`; 911,984 parameters."
    assert lines[2:5] == ["| part | BLEU | chrF |", "| :--- | ---: | ---: |", "| test | 94.1 | 96.5 |"]
    assert lines[6] == "Best validation: validation bleu 40.12, validation loss 0.25."
    assert "nmt translate --model models/toy-bpe-rnnsearch-tiny" in lines
    assert "<" not in "".join(lines[:-1])


def test_a_further_seed_has_no_package_to_use() -> None:
    lines = notes.text(SYSTEM._replace(seed="2"), FACTS).splitlines()
    assert "with the vocabulary `bpe` and the seed 2; 911,984" in lines[0]
    block = lines[lines.index("```") + 1 :]
    assert block[:3] == [
        "nmt translate --system toy-bpe-rnnsearch-tiny-2    # in the project's folder",
        "dvc repro score_seed@toy-bpe-rnnsearch-tiny-2    # builds it again",
        "```",
    ]


def test_a_part_may_lack_a_metric() -> None:
    facts = FACTS._replace(validation={}, scores={"test": {"bleu": 1.0}, "other": {"chrf": 2.0}})
    lines = notes.text(SYSTEM, facts).splitlines()
    assert lines[4:6] == ["| test | 1.0 |  |", "| other |  | 2.0 |"]
    assert not any(line.startswith("Best") for line in lines)


def test_only_our_own_text_is_replaced() -> None:
    ours = notes.text(SYSTEM, FACTS)
    assert notes.is_ours("")
    assert notes.is_ours(ours)
    assert notes.is_ours(ours + "\n")
    assert not notes.is_ours("my own words")
    assert not notes.is_ours(ours + "\nand mine")
