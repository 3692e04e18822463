"""Test sets of sacrebleu, from its own cache."""

import pytest
import sacrebleu

from pipeline.common.files import DataError
from pipeline.corpora.importers import sacrebleu as importer


@pytest.mark.parametrize(("languages", "swapped"), [(("en", "de"), False), (("de", "en"), True)])
def test_a_set_may_be_used_in_either_direction(languages, swapped):
    assert importer.find("multi30k/2016", languages) == ("en-de", swapped)


def test_one_of_several_references_unless_it_has_gaps(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("x.src", "x.ref0", "x.ref1")]
    for path in paths:
        path.write_text("un\ndeux\n")
    monkeypatch.setattr(sacrebleu, "get_source_file", lambda name, pair: str(paths[0]))
    monkeypatch.setattr(sacrebleu, "get_reference_files", lambda name, pair: list(map(str, paths[1:])))
    assert importer.paths("wmt14/full", "fr-en", 1) == (paths[0], paths[1])
    assert importer.paths("wmt14/full", "fr-en", 2) == (paths[0], paths[2])
    with pytest.raises(DataError, match=r"fr-en: reference: must be at most 2, got 3$"):
        importer.paths("wmt14/full", "fr-en", 3)
    paths[1].write_text("un\n\n")
    with pytest.raises(DataError, match=r"x\.ref0: has empty lines, whose references are in other files"):
        importer.paths("wmt14/full", "fr-en", 1)


@pytest.mark.parametrize("error", [OSError("no network"), SystemExit(1)])
def test_a_set_that_sacrebleu_cannot_fetch(monkeypatch, error):
    def fail(name, pair):
        raise error

    monkeypatch.setattr(sacrebleu, "get_source_file", fail)
    with pytest.raises(
        DataError, match=f"^sacrebleu wmt14/full fr-en: cannot be fetched, got {error}; expected a conn"
    ):
        importer.paths("wmt14/full", "fr-en", 1)
