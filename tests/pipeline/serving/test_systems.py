"""The systems of a server: which one fits a request."""

import re
from pathlib import Path

import pytest
from pipeline.serving.errors import ServingError
from pipeline.serving.systems import Served, Systems

from pipeline import files


@pytest.fixture
def systems():
    found = Systems()
    pairs = (("a-v-one-tiny", "fr", "en"), ("a-v-two-tiny", "fr", "en"), ("b-v-one-tiny", "de", "en"))
    found.all = [Served(name, source, target, "torch", {}, "") for name, source, target in pairs]
    return found


def test_the_first_that_fits_is_the_default(systems):
    assert [one.id for one in systems.fitting("fr", "en", None)] == ["a-v-one-tiny", "a-v-two-tiny"]
    assert [one.id for one in systems.fitting("fr", "en", "a-v-two-tiny")] == ["a-v-two-tiny"]
    fitting = systems.fitting("auto", "en", None)
    assert [one.id for one in systems.first_of_each_source(fitting)] == ["a-v-one-tiny", "b-v-one-tiny"]


def test_a_country_counts_where_a_system_has_it(systems):
    """DeepL's clients write the codes that /v2/languages lists, in capitals, and EN-GB where a system has only en."""
    for name, source, target in (("c-v-one-tiny", "fr", "pt-BR"), ("d-v-one-tiny", "fr", "pt")):
        systems.all.append(Served(name, source, target, "torch", {}, ""))

    def first(source, target):
        return systems.fitting(source, target, None)[0].id

    assert first("fr", "pt-br") == first("FR-CA", "PT-BR") == first("auto", "pt-BR") == "c-v-one-tiny"
    assert first("fr", "pt-PT") == first("fr", "pt") == "d-v-one-tiny"
    assert first("de", "en-gb") == "b-v-one-tiny"


def test_what_does_not_fit(systems):
    for given, said in (
        (("en", "fr", None), "source, target: no system translates en-fr; expected de-en or fr-en"),
        (("de", "en", "a-v-one-tiny"), "source, target: no system translates de-en; expected fr-en"),
        (("fr", "en", "c"), "system: is not loaded, got 'c'; expected one that /systems lists"),
    ):
        with pytest.raises(ServingError, match=f"^{re.escape(said)}$") as refused:
            systems.fitting(*given)
        assert refused.value.status == 400


def test_languages(systems):
    assert systems.targets() == {"de": ["en"], "en": [], "fr": ["en"]}


def test_what_a_package_says(tmp_path):
    files.write_json(tmp_path / "config.json", {"scores": {"test": {"bleu": 40.0}}, "validation": {"bleu": 9.0}})
    (tmp_path / "README.md").write_text("# Card\n")
    said = {"system": "a-v-one-tiny", "source_language": "fr", "target_language": "en", "engine": "torch"}
    found = Systems()
    found.load([tmp_path, Path("nowhere")], [said, said])
    assert found.all[0].about() == {
        **said,
        "corpus": "a",
        "vocabulary": "v",
        "model": "one",
        "size": "tiny",
        "scores": {"test": {"bleu": 40.0}},
        "validation": {"bleu": 9.0},
        "card": "# Card\n",
    }
    assert (found.all[1].about()["scores"], found.all[1].card) == ({}, "")
