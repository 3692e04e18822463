"""What corpora/<corpus>.yaml says about languages and parts, right and wrong."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from pipeline.corpora import sources
from pipeline.corpora.sources import Download

PHRASES = {"kind": "phrasebook", "part": "train", "num_pairs": 3}
GZ = {"address": "https://a.org/x.gz"}
ZIP = {"address": "https://a.org/x.zip", "member": "x"}
HUB = {"kind": "hub", "dataset": "a/b", "revision": "main", "split": "train"}
COLUMNS = {"source_column": "de", "target_column": "en"}


def faults(train: Any, languages: tuple[str, str] = ("fr", "en"), **parts: Any) -> list[str]:
    section = {
        "source_language": languages[0],
        "target_language": languages[1],
        "parts": {"train": train, **parts} if train else parts,
    }
    return [fault.removeprefix("params.yaml: ") for fault in Download.faults(section, "d")]


@pytest.mark.parametrize(
    "source",
    [
        PHRASES,
        {"kind": "files", "source": GZ, "target": {**ZIP, "sha256": "0" * 64}},
        {"kind": "files", "table": ZIP, "source_column": 2, "target_column": 1},
        {"kind": "local", "source": "my/x.fr", "target": "my/x.en.gz"},
        {"kind": "local", "table": "my/x.tsv", "source_column": 1, "target_column": 2},
        {**HUB, **COLUMNS},
        {**HUB, "config": "fr-en", "translation_field": "translation"},
        {"kind": "sacrebleu", "name": "wmt14/full"},
    ],
)
def test_every_kind_is_read(source: dict[str, Any]) -> None:
    assert faults(source) == []
    assert TypeAdapter(sources.Source).validate_python(source).kind == source["kind"]


def test_parts_have_names_and_one_is_train() -> None:
    assert faults(PHRASES, validation=PHRASES, test=PHRASES, news_2014=PHRASES) == []
    assert faults(None, test=PHRASES) == ["d.parts: must have train, got test"]
    assert faults(None) == ["d.parts: must have train, got none"]
    assert faults(PHRASES, news=PHRASES) == ["d.parts: must call one of the test parts test, got news"]
    assert faults(PHRASES, test=PHRASES, **{"news-2014": PHRASES}) == [
        "d.parts.news-2014: should be letters, digits and underscores, got 'news-2014'"
    ]


def test_languages_fit_the_sources() -> None:
    assert faults(PHRASES, ("en", "fr")) == []
    assert faults(PHRASES, ("de", "en")) == ["d.parts.train: the phrasebook is in fr and en, got de and en"]
    [fault] = faults({**HUB, **COLUMNS}, ("../de", "en"))
    assert fault.startswith("d.source_language: String should match pattern")


def test_a_test_set_is_known_to_sacrebleu_in_either_direction() -> None:
    train = {**HUB, **COLUMNS}
    assert faults(train, ("de", "en"), test={"kind": "sacrebleu", "name": "multi30k/2016"}) == []
    assert faults(train, ("de", "en"), test={"kind": "sacrebleu", "name": "multi30k/20166"}) == [
        "d.parts.test.name: unknown sacrebleu test set, got 'multi30k/20166'; nearest is 'multi30k/2016'"
    ]
    assert faults(train, ("de", "fr"), test={"kind": "sacrebleu", "name": "multi30k/2016"}) == [
        "d.parts.test.name: sacrebleu's multi30k/2016 lacks this pair, got de-fr; expected one of en-cs, en-de, en-fr"
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {**PHRASES, "num_pairs": 0},
            "d.parts.train.num_pairs: should be greater than or equal to 1, got 0",
        ),
        ({**PHRASES, "numpairs": 3}, "d.parts.train.numpairs: unknown key; nearest is 'num_pairs'"),
        (
            {"kind": "files", "source": GZ, "target": {"address": "https://a.org/x.zip"}},
            "d.parts.train.target: must name the member of the archive to read, got only https://a.org/x.zip",
        ),
        (
            {"kind": "files", "source": GZ, "target": {**GZ, "member": "x"}},
            "d.parts.train.target: must have no member, got 'x'; https://a.org/x.gz is no .zip, .tgz or .tar.gz",
        ),
        (
            {"kind": "files", "source": GZ},
            "d.parts.train: must have either source and target or table, source_column, target_column, got source",
        ),
        (
            {"kind": "local"},
            "d.parts.train: must have either source and target or table, source_column, target_column, got neither",
        ),
        (
            {"kind": "local", "source": "my/x.fr", "target": "my/x.zip"},
            "d.parts.train: must be plain or .gz files, got 'my/x.zip'; unpack x.zip first",
        ),
        (
            {"kind": "local", "source": "my/x.fr", "target": "my/x.en.zst"},
            "d.parts.train: must be plain or .gz files, got 'my/x.en.zst'; unpack x.en.zst first",
        ),
        (
            {"kind": "files", "source": GZ, "target": {"address": "https://a.org/x.en.xz"}},
            "d.parts.train.target: must be plain, .gz, .zip, .tgz or .tar.gz, got https://a.org/x.en.xz",
        ),
        (
            {"kind": "files", "source": GZ, "target": {"address": "https://a.org/x.tar", "member": "x"}},
            "d.parts.train.target: must be plain, .gz, .zip, .tgz or .tar.gz, got https://a.org/x.tar",
        ),
        (
            {**HUB, "source_column": "fr"},
            "d.parts.train: must have either source_column and target_column or translation_field, got source_column",
        ),
        (HUB, "d.parts.train: must have either source_column and target_column or translation_field, got neither"),
        (
            {**HUB, "source_column": "fr", "target_column": "fr"},
            "d.parts.train: must have two different columns, got 'fr' as source_column and target_column",
        ),
        (
            {"kind": "local", "table": "my/x.tsv", "source_column": 2, "target_column": 2},
            "d.parts.train: must have two different columns, got 2 as source_column and target_column",
        ),
    ],
)
def test_a_fault_is_named(source: dict[str, Any], expected: str) -> None:
    assert faults(source) == [expected]


def test_addresses_and_sums_are_what_they_seem() -> None:
    wrong = {"kind": "files", "source": {"address": "a.org/x"}, "target": {**GZ, "sha256": "12"}}
    first, second = faults(wrong)
    assert first.startswith("d.parts.train.source.address: String should match pattern '^https?://")
    assert second.startswith("d.parts.train.target.sha256: String should match pattern '^[0-9a-f]{64}$', got '12'")


def test_an_unknown_kind_is_answered_with_the_known_ones() -> None:
    assert faults({"kind": "file"}) == ["d.parts.train.kind: unknown choice, got 'file'; nearest is 'files'"]
    assert faults({"kind": "web"}) == [
        "d.parts.train.kind: unknown choice, got 'web'; expected one of files, hub, local, phrasebook, sacrebleu"
    ]


@pytest.mark.parametrize(
    "address", ["http://[::bad/x", "http://a.org:99999/x", "http://a.org:0/x", "http://:80/x", "https://a.org/\x1b[2J"]
)
def test_an_address_that_cannot_be_asked(address: str) -> None:
    wrong = {"kind": "files", "source": {"address": address}, "target": GZ}
    expected = f"d.parts.train.source.address: must be the address of a file, got {address!r}"
    assert faults(wrong) == [expected]


@pytest.mark.parametrize("dataset", ["../..", "..", "a/..", ".git/a", "-x/a", "a/" + "b" * 97])
def test_a_data_set_that_is_no_id(dataset: str) -> None:
    [fault] = faults({**HUB, **COLUMNS, "dataset": dataset})
    assert fault == (
        "d.parts.train.dataset: must be an id of the hub such as wmt/wmt14, each part of 96 characters at most, "
        f"got {dataset!r}"
    )


@pytest.mark.parametrize("field", [{"dataset": "a/b/c"}, {"dataset": "/a"}, {"revision": "../x"}, {"revision": ""}])
def test_a_data_set_or_revision_that_leads_away(field: dict[str, str]) -> None:
    [fault] = faults({**HUB, **COLUMNS, **field})
    assert "String should match pattern" in fault
