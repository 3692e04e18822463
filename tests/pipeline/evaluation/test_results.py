"""Reading what the stages before left."""

import pytest

from pipeline.evaluation.results import built, read_rows
from pipeline.files import DataError


def test_a_system_has_an_id_and_a_name_within_its_corpus(make_system):
    system = make_system("rnn_encdec", 50.0)
    assert (system.id, system.name) == ("toy-bpe_2k-rnn_encdec-tiny", "bpe_2k-rnn_encdec-tiny")


def test_a_missing_file_is_named_with_the_command_that_builds_it(tmp_path):
    with pytest.raises(DataError) as error:
        built(tmp_path / "clean.json", "clean@toy")
    assert str(error.value) == f"{tmp_path}/clean.json: no such file; expected what `dvc repro clean@toy` builds"


def test_rows_go_by_the_header(tmp_path):
    path = tmp_path / "curves.csv"
    path.write_text("update,validation_loss\n100,2.5\n200,\n")
    assert built(path, "train@toy") == path
    assert read_rows(path) == [{"update": "100", "validation_loss": "2.5"}, {"update": "200", "validation_loss": ""}]
