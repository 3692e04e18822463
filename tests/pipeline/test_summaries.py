"""What a stage says in JSON is checked where a later one reads it; each message by its text."""

import json

import pytest
from pydantic import TypeAdapter

from pipeline import summaries
from pipeline.corpora.sources import Language
from pipeline.files import DataError

EXPECTED = "expected what the stage writes"


def test_all_of_a_summary_is_read(tmp_path):
    value = {"source_language": "fr", "target_language": "en", "parts": {"train": {"pairs": 3}}, "more": [1]}
    (tmp_path / "a.json").write_text(json.dumps(value))
    assert summaries.read(tmp_path / "a.json", summaries.Downloaded) == value


def test_a_language_of_params_is_one_of_summaries(tmp_path):
    for language in ("fr", "pt-BR", "zh_Hans", "sr-Latn-RS"):
        TypeAdapter(Language).validate_python(language)
        value = {"source_language": language, "target_language": "en"}
        (tmp_path / "a.json").write_text(json.dumps(value))
        assert summaries.read(tmp_path / "a.json", summaries.Languages) == value


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (summaries.Languages, {"source_language": "fr"}, "target_language: field required"),
        (summaries.Languages, [1, 2], "should be a valid dictionary or instance of Languages, got [1, 2]"),
        (summaries.Cleaned, None, "should be a valid dictionary or instance of Cleaned, got None"),
        (
            summaries.Split,
            {"pairs": {"train": -1}, "leakage": {}},
            "pairs.train: should be greater than or equal to 0, got -1",
        ),
        (summaries.Split, {"pairs": {"../a": 1}, "leakage": {}}, "pairs.../a: string should match pattern "),
        (
            summaries.CheckpointList,
            {"last": []},
            "last: list should have at least 1 item after validation, not 0, got []",
        ),
        (summaries.CheckpointList, {"last": ["../a"]}, "last.0: string should match pattern "),
        (summaries.Split, {"pairs": {}, "leakage": {"a/b": {"source": 1}}}, "leakage.a/b.exact_source: field required"),
        (summaries.Scores, {"test": {"bleu": "x"}}, "test.bleu: should be a valid number, got 'x'"),
        (summaries.Scores, {"test": 3}, "test: should be a valid dictionary, got 3"),
        (summaries.Scores, "x" * 99, f"should be a valid dictionary, got '{'x' * 56}..."),
    ],
)
def test_the_first_fault_is_named(tmp_path, kind, value, said):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    with pytest.raises(DataError) as caught:
        summaries.read(path, kind)
    assert str(caught.value).startswith(f"{path}: {said}")
    assert str(caught.value).endswith(f"; {EXPECTED}")


def test_keys_that_a_stage_needs_are_asked_for(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"test": {"bleu": 3}}))
    assert summaries.read(path, summaries.Scores, "test") == {"test": {"bleu": 3}}
    with pytest.raises(DataError) as caught:
        summaries.read(path, summaries.Scores, "test", "news")
    assert str(caught.value) == f"{path}: news: field required; {EXPECTED}"
    assert summaries.read(path, summaries.Scores, "test.bleu")
    with pytest.raises(DataError) as caught:
        summaries.read(path, summaries.Scores, "test.bleu", "test.chrf")
    assert str(caught.value) == f"{path}: test.chrf: field required; {EXPECTED}"
