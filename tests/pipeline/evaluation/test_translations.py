"""Test parts beside their translations, with the references of other parts."""

import pytest

from pipeline.common import files, parts
from pipeline.common.files import DataError
from pipeline.evaluation import translations


@pytest.fixture
def folder(tmp_path):
    """Two test parts with the same sources, one with others, and translations of them."""
    for part, source, target in (("test", "a", "A"), ("second", "a", "B"), ("other", "x", "X")):
        parts.write(tmp_path, part, [(source, target)])
        files.write_lines(tmp_path / f"{part}.txt", ["C"])
    return tmp_path


def test_references_of_another_part_count_too(folder):
    texts = translations.read(folder, folder, {"test": ["second"]})
    assert {part: text.references for part, text in texts.items()} == {
        "test": [["A"], ["B"]],
        "second": [["B"]],
        "other": [["X"]],
    }


@pytest.mark.parametrize("references", [{"test": ["other"]}, {"test": ["none"]}, {"none": ["test"]}])
def test_parts_with_other_sources_are_named(folder, references):
    [[part, [other]]] = references.items()
    with pytest.raises(DataError, match=f"score.references.{part}: must be test parts with the same .* got {other}; "):
        translations.read(folder, folder, references)
