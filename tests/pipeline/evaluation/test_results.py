"""Reading what the stages before left."""

import pytest

from pipeline.evaluation.results import built, read_rows
from pipeline.files import DataError


def test_a_system_has_an_id_and_a_name_within_its_corpus(make_system):
    system = make_system("rnn_encdec", 50.0)
    assert (system.id, system.name) == ("toy-bpe_2k-rnn_encdec-tiny", "bpe_2k-rnn_encdec-tiny")


def test_a_label_has_the_model_and_what_differs_in_its_corpus(make_corpus, make_system):
    one = make_corpus()
    assert [one.label(system) for system in one.systems] == ["first_model", "second_model"]
    assert one.pattern == "toy-bpe_2k-<model>-tiny"
    two = make_corpus(systems=[make_system("a", 1.0), make_system("a", 2.0, vocabulary="words", size="small")])
    assert [two.label(system) for system in two.systems] == ["bpe_2k-a-tiny", "words-a-small"]
    assert two.pattern == "toy-<vocabulary>-<model>-<size>"


def test_scores_of_several_seeds_begin_with_the_first(seeded):
    corpus = seeded([5.0, 6.0, 8.5], [1.0, 2.0, 3.0])
    assert corpus.num_seeds == 3
    assert corpus.systems[0].of_seeds("test", "bleu") == [5.0, 6.0, 8.5]
    assert corpus.systems[0].mean("test", "bleu") == 6.5
    assert set(corpus.p_of_seeds("test", "bleu")) == {frozenset({"bpe_2k-a-tiny", "bpe_2k-b-tiny"})}


def test_one_seed_is_not_compared(seeded):
    corpus = seeded([5.0], [1.0])
    assert (corpus.num_seeds, corpus.p_of_seeds("test", "bleu")) == (1, {})


def test_a_missing_file_is_named_with_the_command_that_builds_it(tmp_path):
    with pytest.raises(DataError) as error:
        built(tmp_path / "clean.json", "clean@toy")
    assert str(error.value) == f"{tmp_path}/clean.json: no such file; expected what `dvc repro clean@toy` builds"


def test_rows_go_by_the_header(tmp_path):
    path = tmp_path / "curves.csv"
    path.write_text("update,validation_bleu\n100,2.5\n200,\n")
    assert built(path, "train@toy") == path
    assert read_rows(path, ["update"]) == [
        {"update": "100", "validation_bleu": "2.5"},
        {"update": "200", "validation_bleu": ""},
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("update\n1\n", "has no column validation_loss, got update; expected what the stage writes"),
        (
            "update,validation_loss\n1,2\n2,nan\n",
            "row 2, column validation_loss: not a number, got 'nan'; expected what the stage writes",
        ),
        (
            "update,validation_loss\n1,x\n",
            "row 1, column validation_loss: not a number, got 'x'; expected what the stage writes",
        ),
    ],
)
def test_other_tables_are_named(tmp_path, text, said):
    path = tmp_path / "curves.csv"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        read_rows(path, ["update", "validation_loss"])
    assert str(error.value) == f"{path}: {said}"
