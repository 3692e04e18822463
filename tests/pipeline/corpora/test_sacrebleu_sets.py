"""Test sets of sacrebleu, from its own cache."""

import pytest
import sacrebleu

from pipeline.corpora import sacrebleu_sets
from pipeline.files import DataError


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """What sacrebleu has of a test set: the source file and its references, by ending."""
    (source := tmp_path / "x.src").write_text("un\ndeux\n")
    references = []

    def keep(*contents):
        for number, content in enumerate(contents):
            (tmp_path / f"x.ref{number}").write_text(content)
            references.append(str(tmp_path / f"x.ref{number}"))
        return source, tmp_path / "x.ref0"

    monkeypatch.setattr(sacrebleu, "get_source_file", lambda name, pair: str(source))
    monkeypatch.setattr(sacrebleu, "get_reference_files", lambda name, pair: references)
    return keep


@pytest.mark.parametrize(("languages", "expected"), [(("en", "de"), ("en-de", False)), (("de", "en"), ("en-de", True))])
def test_a_set_may_be_used_in_either_direction(languages, expected):
    assert sacrebleu_sets.find("multi30k/2016", *languages) == expected


def test_the_first_of_several_references(kept):
    paths = kept("one\ntwo\n", "first\nsecond\n")
    assert sacrebleu_sets.texts("wmt14/full", "fr-en") == paths


def test_a_reference_in_pieces_is_refused(kept):
    kept("one\n\n", "\nsecond\n")
    with pytest.raises(DataError, match=r"x\.ref0: has empty lines, whose references are in other files"):
        sacrebleu_sets.texts("wmt14/full", "fr-en")


@pytest.mark.parametrize("error", [OSError("no network"), SystemExit(1)])
def test_a_set_that_sacrebleu_cannot_fetch(monkeypatch, error):
    def fail(name, pair):
        raise error

    monkeypatch.setattr(sacrebleu, "get_source_file", fail)
    with pytest.raises(DataError) as caught:
        sacrebleu_sets.texts("wmt14/full", "fr-en")
    assert str(caught.value) == (
        f"sacrebleu wmt14/full fr-en: cannot be fetched, got {error}; expected a connection, or "
        "`sacrebleu --download wmt14/full --language-pair fr-en` run before"
    )
