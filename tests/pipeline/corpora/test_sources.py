"""What corpora/<corpus>.yaml says about languages and parts, right and wrong; and a user's own files."""

import pytest

from pipeline.common.files import DataError
from pipeline.corpora.importers import local
from pipeline.corpora.sources import Download

PHRASES = {"kind": "phrasebook", "part": "train", "num_pairs": 3}
GZ = {"address": "https://a.org/x.gz"}
ZIP = {"address": "https://a.org/x.zip", "member": "x"}
COLUMNS = {"source_column": "de", "target_column": "en"}
HUB = {"kind": "hub", "dataset": "a/b", "revision": "main", "split": "train"}
MINE = {"kind": "local", "source": "my/x.fr", "target": "my/x.en.gz"}
ONE_OF = "must have either source and target or table and source_column and target_column or tmx, got"
HUB_ONE_OF = "must have either source_column and target_column or translation_field, got"


def faults(languages=("fr", "en"), **parts):
    section = {"source_language": languages[0], "target_language": languages[1], "parts": parts}
    return [fault.removeprefix("params.yaml: ") for fault in Download.faults(section, "d")]


@pytest.mark.parametrize(
    "source",
    [
        PHRASES,
        {"kind": "files", "source": GZ, "target": {**ZIP, "sha256": "0" * 64}},
        {"kind": "files", "table": ZIP, "source_column": 2, "target_column": 1},
        {"kind": "local", "table": "my/x.tsv", "source_column": 1, "target_column": 2},
        {"kind": "sacrebleu", "name": "wmt14/full", "reference": 2},
        {**HUB, **COLUMNS, "revision": "refs/pr/1"},
        {**HUB, "config": "fr-en", "translation_field": "translation"},
    ],
)
def test_every_kind_is_read(source):
    assert faults(train=source) == []


def test_a_list_has_bitexts_in_order_of_trust():
    items = [{"name": "own", **MINE}, {"name": "web_2", **HUB, **COLUMNS, "at_most": 9, "licence": "CC0"}]
    about = {"source_language": "fr", "target_language": "en", "parts": {"train": items}}
    bitexts = Download.model_validate(about).bitexts
    assert [(name, source.kind, source.at_most) for name, source in bitexts.items()] == [
        ("own", "local", None),
        ("web_2", "hub", 9),
    ]
    assert [*Download.model_validate(about | {"parts": {"train": MINE}}).bitexts] == ["train"]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (
            [{"name": "a", **MINE}, {"name": "web", "kind": "hubb"}],
            ".web.kind: unknown choice, got 'hubb'; nearest is ",
        ),
        ([{"name": "a", **MINE, "at_moost": 3}], ".a.at_moost: unknown key; nearest is 'at_most'"),
        ([{"name": "a", **MINE, "at_most": 0}], ".a.at_most: should be greater than 0, got 0"),
        ([{"name": "a", **PHRASES}], ".a.kind: the phrasebook is in fr and en, got de and en"),
        (
            [{"name": "a", **MINE, "source": ["my/x.fr", "my/y.fr"]}],
            ".a.source: must be one file, got 2; expected a list ",
        ),
        ([MINE], ".0.name: is missing"),
        ([{"name": "a-b", **MINE}], ".a-b.name: should be letters, digits and underscores, got 'a-b'"),
        ([{"name": "a", **MINE}] * 2, ": must have different names, got a, a"),
        ([], ": should have at least 1 of them, got []"),
        (["own"], ".0: should be a mapping, got 'own'"),
    ],
)
def test_a_fault_of_a_list_is_at_the_name_of_its_item(items, expected):
    [fault] = faults(("de", "en"), train=items)
    assert fault.startswith(f"d.parts.train{expected}")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"test": MINE}, "must have train, got test"),
        ({}, "must have train, got none"),
        ({"train": MINE, "test": [{"name": "a", **MINE}]}, ".test: must be one source; only train has a list, at_most"),
        ({"train": MINE, "test": {**MINE, "at_most": 3}}, ".test: must be one source; only train has a list, at_most"),
    ],
)
def test_one_part_is_train_and_a_test_part_test(parts, message):
    [fault] = faults(**parts)
    assert fault.removeprefix("d.parts").removeprefix(": ").startswith(message)


def test_languages_fit_the_sources():
    assert faults(("en", "fr"), train=PHRASES) == []
    assert faults(("de", "en"), train=PHRASES) == ["d.parts.train.kind: the phrasebook is in fr and en, got de and en"]
    for code in ("../de", "German"):
        assert faults((code, "en"), train=MINE)[0] == (
            f"d.source_language: must be a code, such as de or pt_BR, got '{code}'"
        )


def test_a_test_set_is_known_to_sacrebleu_in_either_direction():
    assert faults(("de", "en"), train=MINE, test={"kind": "sacrebleu", "name": "multi30k/2016"}) == []
    assert faults(("de", "en"), train=MINE, test={"kind": "sacrebleu", "name": "multi30k/20166"}) == [
        "d.parts.test.name: unknown sacrebleu test set, got 'multi30k/20166'; nearest is 'multi30k/2016'"
    ]
    assert faults(("de", "fr"), train=MINE, test={"kind": "sacrebleu", "name": "multi30k/2016"}) == [
        "d.parts.test.name: sacrebleu's multi30k/2016 lacks this pair, got de-fr; expected one of en-cs, en-de, en-fr"
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"kind": "file"}, ".kind: unknown choice, got 'file'; nearest is 'files'"),
        (
            {"kind": "files", "source": GZ, "target": {"address": "https://a.org/x.zip"}},
            ".target: must have a member if it is an archive, got https://a.org/x.zip and member None",
        ),
        (
            {"kind": "files", "source": GZ, "target": {"address": "https://a.org/x.zst"}},
            ".target: must be plain, .gz, .bz2, .xz, .zip or a tar, got https://a.org/x.zst",
        ),
        ({"kind": "files", "source": GZ}, f": {ONE_OF} source"),
        ({**MINE, "target": "my/x.zip"}, ": must be text, plain, .gz, .bz2 or .xz, got 'my/x.zip'; unpack x.zip first"),
        (
            {**MINE, "target": "my/../x.en"},
            ": must be in my/, which DVC watches, got 'my/../x.en'; expected my/x.en, or a link there",
        ),
        (
            {"kind": "files", "source": {**GZ, "membr": "x"}, "target": GZ},
            ".source.membr: unknown key; nearest is 'member'",
        ),
        ({**HUB, "source_column": "fr"}, f": {HUB_ONE_OF} source_column"),
        (
            {"kind": "local", "table": "my/x.tsv", "source_column": 2, "target_column": 2},
            ": must have two different columns, got 2 twice",
        ),
    ],
)
def test_a_fault_is_named(source, expected):
    assert faults(train=source) == [f"d.parts.train{expected}"]


@pytest.mark.parametrize("field", [{"dataset": "../.."}, {"dataset": "a/.."}, {"revision": "../x"}, {"revision": ""}])
def test_a_data_set_or_revision_that_leads_out_of_a_folder(field):
    [fault] = faults(train={**HUB, **COLUMNS, **field})
    assert "String should match pattern" in fault


def test_own_files_may_be_links_but_not_in_a_linked_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data/x.fr").write_text("un\n")
    (tmp_path / "my/x.fr").symlink_to("../data/x.fr")
    (tmp_path / "my/linked").symlink_to("../data")
    assert list(local.text_of("my/x.fr").lines()) == [b"un"]
    with pytest.raises(DataError, match="my/linked: DVC does not look into a linked folder"):
        local.text_of("my/linked/x.fr")
    with pytest.raises(DataError, match=r"none: no such file; expected a text that is there$"):
        local.text_of("my/none")
