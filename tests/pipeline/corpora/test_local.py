"""The user's own files: what is watched, what is noted, and what a queued experiment finds."""

import hashlib

import pytest

from pipeline.corpora import local
from pipeline.corpora.sources import Download
from pipeline.files import DataError

PHRASEBOOK = {"kind": "phrasebook", "part": "train", "num_pairs": 4}
TABLE = {"kind": "local", "table": "my/sets/test.tsv", "source_column": 1, "target_column": 2}


def download(source="my/train.fr", target="./my/train.en", **more):
    train = {"kind": "local", "source": source, "target": target}
    parts = {"train": train, "validation": PHRASEBOOK, "test": TABLE} | more
    return Download.model_validate({"source_language": "fr", "target_language": "en", "parts": parts})


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with the files of `download`, and a folder that DVC would run an experiment in."""
    root = tmp_path / "project"
    for name in ("my/train.fr", "my/train.en", "my/sets/test.tsv"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "my/.gitignore").write_text("*\n!.gitignore\n")
    (root / ".dvc/tmp/exps/tmp1234/my").mkdir(parents=True)
    (root / ".dvc/tmp/exps/tmp1234/my/.gitignore").write_text("*\n!.gitignore\n")
    monkeypatch.chdir(root)
    return root


def test_every_file_of_ones_own_is_noted_and_nothing_else(project):
    sums = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("my/train.fr", "my/train.en")}
    found = local.checksums(download())
    assert found == sums | {"my/sets/test.tsv": hashlib.sha256(b"my/sets/test.tsv").hexdigest()}
    assert local.checksums(download(train=PHRASEBOOK, test=PHRASEBOOK)) == {}


def test_only_files_that_dvc_watches_may_be_named():
    assert list(local.faults(download())) == []
    assert list(local.faults(download("/data/train.fr", "my/../train.en"))) == [
        "parts.train.source: must be in my/, which DVC watches, got '/data/train.fr'; expected my/train.fr, "
        "or a link there",
        "parts.train.target: must be in my/, which DVC watches, got 'my/../train.en'; expected my/train.en, "
        "or a link there",
    ]
    assert len(list(local.faults(download(".", "my.en")))) == 2


def test_a_missing_file_is_named(project):
    (project / "my/train.en").unlink()
    with pytest.raises(DataError) as error:
        local.checksums(download())
    assert str(error.value) == "my/train.en: no such file; expected the one that the corpus's file names"


def test_a_link_to_a_file_will_do_and_one_to_a_folder_will_not(project):
    (project / "my/sets").rename(project / "elsewhere")
    (project / "my/sets").mkdir()
    (project / "my/sets/test.tsv").symlink_to(project / "elsewhere/test.tsv")
    assert "my/sets/test.tsv" in local.checksums(download())
    (project / "my/sets/test.tsv").unlink()
    (project / "my/sets").rmdir()
    (project / "my/sets").symlink_to(project / "elsewhere")
    with pytest.raises(DataError) as error:
        local.checksums(download())
    assert str(error.value) == (
        "my/sets: DVC looks into no folder that is a link, got one for my/sets/test.tsv; "
        "expected a folder, with links to files"
    )


def test_an_experiment_elsewhere_finds_the_files_of_its_project(project, monkeypatch):
    expected = local.checksums(download())
    here = project / ".dvc/tmp/exps/tmp1234"
    monkeypatch.chdir(here)
    local.link_into_experiment()
    assert local.checksums(download()) == expected
    assert not (here / "my/.gitignore").is_symlink()
    local.link_into_experiment()  # a further corpus
    assert sorted(path.name for path in (here / "my").rglob("*")) == [
        ".gitignore",
        "sets",
        "test.tsv",
        "train.en",
        "train.fr",
    ]


def test_nothing_is_linked_in_the_project_itself(project):
    local.link_into_experiment()
    assert not any(path.is_symlink() for path in project.rglob("*"))


def test_origin_is_the_project_that_the_experiment_is_of(tmp_path):
    assert local.origin(tmp_path) == tmp_path
    assert local.origin(tmp_path / ".dvc/tmp/exps/tmp1/sub") == tmp_path
