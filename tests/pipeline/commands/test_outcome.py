"""What `nmt repro` says of what was built, of outputs whose numbers are known."""

import json
import shutil

import pytest

from pipeline import files
from pipeline.commands import outcome
from pipeline.fingerprint import training_log
from pipeline.system import Build, System
from tests.toys.systems import SYSTEM

OTHER = "toy-bpe_toy-rnnsearch-tiny"
BUILD = Build(
    corpora=["toy"],
    vocabularies=["bpe_toy"],
    models=["transformer_prenorm", "rnnsearch", "rnn_encdec"],
    sizes=["tiny"],
    more_seeds=[],
)
BEST = {"update": 20, "validation_loss": 1.204, "validation_bleu": 41.26}
FINGERPRINT = "a" * 64


def lay_out(system, bleu, *, logged=FINGERPRINT):
    """Outputs of a finished system, and the local log of the training with the fingerprint `logged`."""
    system = System.parse(system)
    summary = {"fingerprint": FINGERPRINT, "best": BEST, "num_parameters": 1_234_567}
    files.write_json(system.training_summary, summary)
    files.write_json(system.metrics, {"validation": {"loss": 1.2}, "test": {"bleu": bleu, "chrf": 60.0}})
    system.log.mkdir(parents=True)
    rows = [{"step": n, "tokens": 1000.0, "tokens_per_second": 100.0} for n in range(1, 10)]
    rows += [{"step": 20, "validation_loss": 1.204}, {"step": 20, "mean_tokens_per_second": 1.0}]
    training_log(system.id, logged).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def built(project):
    """A folder with two scored systems; a third was never built."""
    shutil.copytree(project / "runs" / SYSTEM, project / "runs" / OTHER)
    lay_out(SYSTEM, 30.0)
    lay_out(OTHER, 40.25, logged="b" * 64)  # another training
    return project


def test_a_stage_in_a_few_words(built):
    corpus, item = "toy", "toy-bpe_toy"
    write = files.write_json
    write(built / "data/download/toy/download.json", {"parts": {"train": {"pairs": 1000}, "test": {"pairs": 234}}})
    write(built / "data/clean/toy/clean.json", {"kept": 1200, "read": 1234})
    write(built / "data/split/toy.json", {"pairs": {"other": 3, "test": 200, "validation": 100, "train": 1000}})
    write(built / "data/vocabulary/toy-bpe_toy/vocabulary.json", {"source_size": 2000, "target_size": 1500})
    write(
        built / "data/encode/toy-bpe_toy/encode.json", {"train": {"target_tokens": 5000}, "test": {"target_tokens": 9}}
    )
    write(built / "runs" / SYSTEM / "average/average.json", {"checkpoints": ["a", "b"]})
    files.write_lines(built / "data/decode" / SYSTEM / "test.txt", ["a", "b"])
    files.write_lines(built / "data/decode" / SYSTEM / "other.txt", ["c"])
    write(built / f"metrics/{SYSTEM}-2.json", {"test": {"bleu": 31.5}})
    said = {
        f"download@{corpus}": "1,234 pairs",
        f"clean@{corpus}": "1,200 of 1,234 pairs kept",
        f"split@{corpus}": "1,000 train, 100 validation, 203 test",
        f"vocabulary@{item}": "2,000 and 1,500 entries",
        f"encode@{item}": "5,009 target tokens",
        f"train@{SYSTEM}": "loss 1.20, BLEU 41.3, 100 tokens/s",
        f"train@{OTHER}": "loss 1.20, BLEU 41.3",
        f"average@{SYSTEM}": "2 checkpoints",
        f"decode@{SYSTEM}": "3 sentences",
        f"score@{SYSTEM}": "BLEU 30.0, chrF 60.0",
        f"score_seed@{SYSTEM}-2": "BLEU 31.5",
        "report": "report/index.html",
        f"attend@{SYSTEM}": "",
        "check": "",
    }
    assert {stage: outcome.of(stage) for stage in said} == said


def test_a_stage_of_which_nothing_can_be_read_is_no_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stages = [f"{name}@{SYSTEM if name in ('train', 'average', 'score') else 'toy'}" for name in outcome.BROUGHT]
    assert {outcome.of(stage) for stage in stages if not stage.startswith(("decode", "report"))} == {""}


def test_the_table_has_the_best_first_and_what_to_do_next(built):
    (built / "report").mkdir()
    (built / "report/index.html").write_text("")
    assert list(outcome.summary(BUILD)) == [
        "",
        "toy                        BLEU   chrF  minutes  parameters",
        "rnnsearch-tiny            40.25  60.00        -   1,234,567",
        "transformer_prenorm-tiny  30.00  60.00      1.5   1,234,567",
        "",
        "report     report/index.html",
        "translate  nmt translate --system rnnsearch 'le chat noir'",
        "all runs   make ui",
    ]


def test_what_another_command_builds_has_no_hints(built, monkeypatch):
    monkeypatch.setenv(outcome.BUILDER, "nmt repro-portable")
    said = [line.partition(" ")[0] for line in outcome.summary(BUILD)]
    assert said == ["", "toy", "rnnsearch-tiny", "transformer_prenorm-tiny"]


def test_the_sentence_to_try_is_no_option(built):
    part = System.parse(OTHER).split / "test.source.txt"
    part.write_text("- Oui, merci.\nle chien\n", encoding="utf-8")
    assert "translate  nmt translate --system rnnsearch 'le chien'" in list(outcome.summary(BUILD))


def test_a_further_seed_is_a_row_and_no_system_to_try(built):
    shutil.copytree(built / "runs" / SYSTEM, built / "runs" / f"{SYSTEM}-2")
    lay_out(f"{SYSTEM}-2", 50.0)
    said = list(outcome.summary(BUILD.model_copy(update={"more_seeds": [2]})))
    assert [line.split()[0] for line in said[2:5]] == [
        *("transformer_prenorm-tiny-2", "rnnsearch-tiny", "transformer_prenorm-tiny")
    ]
    assert "translate  nmt translate --system rnnsearch 'le chat noir'" in said


def test_less_is_better_in_ter(built):
    for system, ter in ((SYSTEM, 20.0), (OTHER, 50.0)):
        files.write_json(System.parse(system).metrics, {"validation": {"loss": 1.2}, "other": {"ter": ter}})
    _, title, first, *_ = outcome.summary(BUILD)
    assert (title.split()[1], first.split()[:2]) == ("TER", ["transformer_prenorm-tiny", "20.00"])


@pytest.mark.parametrize("text", [None, "", "{", "[]\n", '{"step": 1}\n'])
def test_without_a_log_there_are_no_times(built, text):
    log = training_log(SYSTEM, FINGERPRINT)
    log.unlink() if text is None else log.write_text(text)
    assert outcome.updates(System.parse(SYSTEM)) == []
    assert outcome.seconds([]) == 0


@pytest.mark.parametrize(
    ("corpora", "vocabularies", "item", "expected"),
    [
        (["a"], ["v"], "a-v-gru-tiny", "gru-tiny"),
        (["a", "b"], ["v"], "a-v-gru-tiny", "a-gru-tiny"),
        (["a"], ["v", "w"], "a-v-gru-tiny", "v-gru-tiny"),
        (["a", "b"], ["v", "w"], "a-v-gru-tiny", "a-v-gru-tiny"),
        (["a"], ["v"], "a-v-gru-tiny-2", "gru-tiny-2"),
        (["a"], ["v"], "a-v", "v"),
        (["a"], ["v"], "a", "a"),
        (["a"], ["v"], "", ""),
    ],
)
def test_an_item_is_called_by_what_tells_it_apart(corpora, vocabularies, item, expected):
    build = Build(corpora=corpora, vocabularies=vocabularies, models=["gru"], sizes=["tiny"], more_seeds=[])
    assert outcome.label(build, item) == expected
