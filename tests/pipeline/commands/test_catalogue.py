"""The project's own files are right, each fault put into them is named, and a system gets the right values."""

import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline.commands import catalogue
from pipeline.common.params import ParamsError
from pipeline.common.system import System

PRENORM, PHRASEBOOK = "configs/transformer_prenorm.yaml", "corpora/phrasebook_fr_en.yaml"
REMOVE = object()


@pytest.fixture
def project(project_root, tmp_path, monkeypatch) -> Path:
    """A copy of the project's parameters, in which the test runs."""
    shutil.copy(project_root / "params.yaml", tmp_path)
    for folder in ("corpora", "configs"):
        shutil.copytree(project_root / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(place: str, value: object) -> None:
    """Set, or remove, the value at `<file>:<dotted name>`."""
    file, _, name = place.rpartition(":")
    path = Path(file or "params.yaml")
    content = node = YAML(typ="safe").load(path)
    *above, last = name.split(".")
    for key in above:
        node = node[key]
    if value is REMOVE:
        del node[last]
    else:
        node[last] = value
    YAML(typ="safe").dump(content, path)


def faults() -> list[str]:
    with pytest.raises(ParamsError) as error:
        catalogue.check()
    return str(error.value).splitlines()


def test_own_files_are_right(project):
    catalogue.check()


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        ("decode", REMOVE, "params.yaml: decode: is missing"),
        ("decode.beam_sise", 4, "params.yaml: decode.beam_sise: unknown key; nearest is 'beam_size'"),
        (
            "build.models",
            ["rnsearch"],
            "params.yaml: build.models: unknown name, got 'rnsearch'; nearest is 'rnnsearch'",
        ),
        (
            f"{PHRASEBOOK}:decode",
            {"beam_size": "4"},
            f"{PHRASEBOOK}: decode.beam_size: should be a valid integer, got '4'",
        ),
        (
            f"{PHRASEBOOK}:split",
            {"test_share": 0.1},
            f"{PHRASEBOOK}: split.test_share: the corpus brings a test part, got 0.1; expected 0.0",
        ),
        (
            f"{PHRASEBOOK}:average",
            {"checkpoints": 9},
            "params.yaml: average.checkpoints of phrasebook_fr_en: must not exceed training.last_checkpoints 8, got 9",
        ),
        (
            f"{PHRASEBOOK}:parts.train",
            {"kind": "local", "source": "my/a.fr", "target": "my/a.en"},
            f"{PHRASEBOOK}: parts: no such file, got my/a.fr; expected one in my/",
        ),
        (f"{PHRASEBOOK}:tags", {"trian": "<t>"}, f"{PHRASEBOOK}: tags.trian: no such bitext; nearest is 'train'"),
        (f"{PHRASEBOOK}:mixture", {"web": 2}, f"{PHRASEBOOK}: mixture.web: no such bitext; expected one of train"),
        (
            f"{PHRASEBOOK}:mixture",
            {"train": 0},
            f"{PHRASEBOOK}: mixture: leaves every bitext out, got 0 for all; expected a weight above 0",
        ),
        (
            f"{PHRASEBOOK}:split",
            {"carve_from": ["web"]},
            f"{PHRASEBOOK}: split.carve_from.web: no such bitext; expected one of train",
        ),
        (
            f"{PHRASEBOOK}:models",
            {"rnsearch": {}},
            f"{PHRASEBOOK}: models.rnsearch: no such model; nearest is 'rnnsearch'",
        ),
        (
            f"{PHRASEBOOK}:models",
            {"rnnsearch": {"clap": 1.0}},
            f"{PHRASEBOOK}: models.rnnsearch.clap: unknown key; nearest is 'clip'",
        ),
        (
            "build.vocabularies",
            ["package"],
            f"{PHRASEBOOK}: start: there is no package, got a vocabulary of kind package; "
            "expected a package, or a vocabulary of another kind",
        ),
        *(
            (
                f"{PHRASEBOOK}:tags",
                {"train": tag},
                f"{PHRASEBOOK}: tags.train: must be a word such as <back>, none of <pad> <unk> <s> </s>, got {tag!r}",
            )
            for tag in ("", "a b", "</s>")
        ),
        (f"{PRENORM}:tiny.widht", 6, f"{PRENORM}: tiny.widht: unknown key; nearest is 'width'"),
        (f"{PRENORM}:tiny.width", REMOVE, f"{PRENORM}: tiny.width: is missing"),
        (
            f"{PRENORM}:tiny.label_smoothing",
            0.2,
            f"{PRENORM}: tiny.label_smoothing: stands in shared too; expected it there or in every size",
        ),
        (
            "vocabularies.bpe_2k.joint",
            False,
            "params.yaml: build: transformer_prenorm tiny ties source and target embeddings, which bpe_2k does not "
            "share; expected a joint vocabulary or tied_embeddings: none|output",
        ),
    ],
)
def test_a_fault_is_one_line(project, place, value, expected):
    edit(place, value)
    assert expected in faults()


def test_all_faults_at_once(project):
    edit("decode.beam_size", 0)
    edit(f"{PRENORM}:small.heads", 3)
    Path(PHRASEBOOK).write_text("licence: [\n", encoding="utf-8")
    assert len(faults()) == 3


def test_a_system_gets_its_corpus_s_values_and_those_of_its_size(project):
    edit(f"{PHRASEBOOK}:decode", {"beam_size": 1})
    sections = catalogue.sections(System.parse("phrasebook_fr_en-bpe_2k-transformer_prenorm-small-1"))
    assert (sections["decode"]["beam_size"], sections["decode"]["length_penalty"]) == (1, 1.0)
    assert sections["transformer_prenorm"]["width"] == 256
    assert sections["vocabularies"]["size"] == 2000


def test_an_experiment_with_one_value_changes_one_line(project):
    """`dvc exp run -S` rewrites the file in DVC's style, which is ours."""
    from dvc.utils.hydra import apply_overrides

    for file, override in {
        "params.yaml": "decode.beam_size=1",
        PRENORM: "tiny.schedule.peak_rate=0.01",
        "configs/rnnsearch.yaml": "tiny.dropout=0.2",
        "corpora/wmt14_en_de.yaml": "decode.beam_size=12",
    }.items():
        before = Path(file).read_text(encoding="utf-8").splitlines()
        apply_overrides(file, [override])
        after = Path(file).read_text(encoding="utf-8").splitlines()
        assert len(before) == len(after)
        assert sum(old != new for old, new in zip(before, after, strict=True)) == 1, file
